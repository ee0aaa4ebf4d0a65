// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/follower.h"

#include <string>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/train/rank_checks.h"
#include "evenkeel/train/signals.h"

namespace evenkeel::train {

namespace {

/// The checkpoint in RUN/checkpoints, or in another folder.
/// \throws Error (no_checkpoint) if this rank does not see it
store::VerifiedCheckpoint checkpoint_in(const std::filesystem::path& folder) {
  auto search = store::find_checkpoint(folder);
  if (search.found) return std::move(*search.found);
  throw Error(Exit::no_checkpoint,
              text(folder.string(), ": has no usable checkpoint to start from"));
}

/// The configuration of the run. Only a run with a checkpoint has a copy of the tokenizer.
config::Config config_of(const RunStart& start) {
  const auto config = config::read_back(start.config, "rank 0");
  return start.step >= 0 ? config_of_run(config, start.folder) : config;
}

}  // namespace

RunStart start_of(const OpenRun& open) {
  return {.folder = open.folder,
          .config = config::to_toml(open.config),
          .step = open.newest.found ? open.newest.found->step : -1,
          .from = open.from ? open.from->folder.path() : std::filesystem::path()};
}

RunStart broadcast_start(comm::Group& group, const RunStart& start) {
  if (group.ranks() == 1) return start;
  // A path may have any bytes but 0.
  constexpr char kEnd = '\0';
  const auto all = group.broadcast_text(
      text(start.step, kEnd, start.folder.string(), kEnd, start.from.string(), kEnd, start.config),
      0);
  const auto folder = all.find(kEnd) + 1;
  const auto from = all.find(kEnd, folder) + 1;
  const auto config = all.find(kEnd, from) + 1;
  EK_ASSERT(folder > 0 && from > folder && config > from);
  return {.folder = all.substr(folder, from - folder - 1),
          .config = all.substr(config),
          .step = std::stoll(all),
          .from = all.substr(from, config - from - 1)};
}

Follower::Follower(const RunStart& start, comm::Group& group)
    : group_(group),
      config_(config_of(start)),
      setup_(set_up_run(config_, group)),
      commands_(group),
      saver_(group) {
  check_texts_on_ranks(setup_.text, group);
  const auto& shape = setup_.plan.scheme.shape;
  trainer_ = std::make_unique<Trainer>(setup_.config, shape, setup_.machine.precision, setup_.text,
                                       data_parallel_of(config_, group));
  evaluator_ = std::make_unique<Evaluator>(config_, setup_.text, shape.vocabulary, &group);
  check_evaluation_on_ranks(evaluator_->text_sources(), evaluator_->tasks(), group);
  load(start);
}

void Follower::load(const RunStart& start) {
  if (start.step >= 0) {
    trainer_->restore(checkpoint_in(start.folder / "checkpoints" / store::step_name(start.step)));
  } else if (!start.from.empty()) {
    const auto from = checkpoint_in(start.from);
    check_weights_on_ranks(from, group_);
    trainer_->load_weights(from);
  }
}

void Follower::follow() {
  for (;;) {
    switch (commands_.receive(saver_.is_written())) {
      case RankCommand::wait:
        break;
      case RankCommand::step:
        step();
        break;
      case RankCommand::evaluate:
        evaluator_->evaluate(trainer_->model(), trainer_->progress().step);
        break;
      case RankCommand::evaluate_tasks:
        evaluator_->evaluate_tasks(trainer_->model(), trainer_->progress().step,
                                   [](std::int64_t, std::int64_t) { return !stop_wanted(); });
        break;
      case RankCommand::save:
        saver_.begin_piece(trainer_->checkpoint_content(), CheckpointSaver::Writer::caller);
        if (saver_.is_pending()) saver_.finish();
        break;
      case RankCommand::save_background:
        saver_.begin_piece(trainer_->checkpoint_content(), CheckpointSaver::Writer::thread);
        break;
      case RankCommand::finish_save:
        saver_.finish();
        break;
      case RankCommand::end:
        return;
    }
  }
}

void Follower::step() {
  RankTimer timer(group_);
  group_.report({.step = trainer_->progress().step + 1, .checkpoint = commands_.checkpoint()});
  trainer_->step();
  timer.finish();
}

}  // namespace evenkeel::train
