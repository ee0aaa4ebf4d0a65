// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/run.h"

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/plan/run_length.h"
#include "evenkeel/report/report.h"
#include "evenkeel/store/imported_files.h"
#include "evenkeel/store/json_lines.h"
#include "evenkeel/store/run_folder.h"
#include "evenkeel/train/change_refusal.h"
#include "evenkeel/train/evaluator.h"
#include "evenkeel/train/health/skip_budget.h"
#include "evenkeel/train/rank_checks.h"
#include "evenkeel/train/run_checks.h"
#include "evenkeel/train/sample.h"
#include "evenkeel/train/trainer.h"

namespace evenkeel::train {

namespace {

/// The names of the sources of a mixture; empty for a single text.
std::vector<std::string> source_names(const data::Corpora& text) {
  std::vector<std::string> out;
  if (text.validation.size() < 2) return out;
  for (const auto& source : text.validation) out.push_back(source.name);
  return out;
}

}  // namespace

Run::Run(const Request& request, OpenRun open, Console& console, comm::Group& group)
    : request_(request),
      open_(std::move(open)),
      console_(console),
      group_(group),
      setup_(set_up_run(config_of_run(open_.config, open_.folder), group)),
      provenance_(open_.config, setup_),
      recorder_(open_.lock->directory(), open_.config, console),
      commands_(group),
      saver_(group),
      stragglers_(group.ranks()) {
  const auto& config = open_.config;
  check_texts_on_ranks(setup_.text, group);
  const auto& shape = setup_.plan.scheme.shape;
  check_memory(setup_.plan.memory, std::max(1, group.placement().ranks_on_device), console);
  const auto steps = plan::steps_of(config, open_.done);
  warn_of_unreached_probes(config, steps, console);
  trainer_ = std::make_unique<Trainer>(setup_.config, shape, setup_.machine.precision, setup_.text,
                                       data_parallel_of(config, group));
  evaluator_ = std::make_unique<Evaluator>(config, setup_.text, shape.vocabulary, &group);
  check_evaluation_on_ranks(evaluator_->text_sources(), evaluator_->tasks(), group);
  if (group.ranks() > 1) console.info(ranks_text(config, group, setup_.machine.threads));
  print_summary(config, setup_, open_.folder, console);
  note_unreached_peak(steps, trainer_->schedule(), console);
}

Run::~Run() = default;

bool Run::finished() const {
  return progress().step >= progress().steps;
}

const Progress& Run::progress() const {
  return trainer_->progress();
}

void Run::start() {
  const auto& newest = open_.newest;
  for (const auto& line : newest.skipped) console_.warn(line);
  if (open_.is_restored) {
    console_.warn(text(open_.folder.string(), ": run.toml was missing; it is written anew, as the ",
                       "checkpoint of step ", newest.found->step, " has it"));
  }
  recorder_.resume_status();
  if (newest.found) {
    resume(*newest.found);
  } else {
    // The initial weights are saved before the first record. Records without a checkpoint mean data
    // loss.
    const auto metrics = store::read_records(open_.lock->directory(), "metrics.jsonl");
    if (!newest.skipped.empty() || !metrics.records.empty() || !metrics.damaged.empty()) {
      throw Error(Exit::no_checkpoint, text(open_.folder.string(),
                                            ": none of its checkpoints is usable; start another "
                                            "run, or restore the folder from a copy"));
    }
    if (open_.from) load_initial_weights();
  }
  const auto& folder = open_.lock->directory();
  open_.lock->check_path();
  write_provenance();
  if (open_.from) {
    const auto checkpoint = std::filesystem::absolute(open_.from->folder.path());
    store::copy_imported_files(checkpoint.parent_path().parent_path(), folder);
  }
  tokenizer_.start(*setup_.text.encoding, newest, folder);
  console_.log_to(folder, "log.txt");
  recorder_.start_tracking(progress().step, source_names(setup_.text));
  if (request_.checkpoint) saved_at_ = -1;  // saved again, which deletes the later ones
  if (!newest.found || request_.checkpoint) save(/*required=*/true);
  recorder_.write_status("training", progress());
  const auto step = progress().step;
  const bool lacks_scores = newest.found && step > 0 && !finished() &&
                            evaluator_->last_task_step() < step &&
                            is_due(step, open_.config.evaluate.task_every);
  if (lacks_scores) evaluate_tasks();  // a signal ended them
}

void Run::resume(const store::VerifiedCheckpoint& checkpoint) {
  provenance_.resume(checkpoint, open_, request_.overrides, evaluator_->provenance());
  restore_with_advice(open_.changes, [&] { trainer_->restore(checkpoint); });
  const auto steps = progress().steps;
  if (const auto planned = plan::planned_steps(open_.config); steps > planned && planned > 0) {
    console_.info(text("the schedule stays that of ", planned,
                       " steps; --override schedule fits it to the new number of steps"));
  }
  recorder_.resume(checkpoint.step, checkpoint.manifest.value("records", nlohmann::json()));
  saved_at_ = checkpoint.step;
  commands_.set_checkpoint(saved_at_);
  const auto& folder = open_.lock->directory();
  evaluator_->resume(store::read_records(folder, "metrics.jsonl").records,
                     store::read_records(folder, "evaluations.jsonl").records);
  console_.info(text("resumes from step ", checkpoint.step, " of ", steps, " (",
                     checkpoint.folder.path().filename().string(), ")"));
}

/// Writes run.toml, provenance.json and scheme.txt. Those of a finished run stay: they say what its
/// weights were trained with, and --override of data or numerics trains nothing.
void Run::write_provenance() {
  const auto& folder = open_.lock->directory();
  const bool has_all = !store::read_provenance(folder).empty() && folder.has_file("scheme.txt");
  const bool changes = !open_.changes.empty() || request_.checkpoint.has_value();
  if (finished() && !changes && has_all && is_saved_configuration(open_)) return;
  auto more = provenance_of_ranks(open_.config, group_);
  if (auto data = evaluator_->provenance(); !data.empty()) more["data"] = std::move(data);
  provenance_.write(folder, more);
}

/// Loads the weights of the checkpoint in train.from.
void Run::load_initial_weights() {
  const auto& from = *open_.from;
  check_weights_on_ranks(from, group_);
  trainer_->load_weights(from);
}

/// \throws Error (io) as step() does
void Run::stop_if_moved() {
  try {
    open_.lock->check_path();
  } catch (const Error&) {
    if (open_.lock->is_held()) save(/*required=*/false);  // the folder was moved
    throw;
  }
}

void Run::step() {
  stop_if_moved();
  commands_.send(RankCommand::step, saver_.is_written());
  const auto timer = recorder_.start_step();
  RankTimer ranks(group_);
  group_.report({.step = progress().step + 1, .checkpoint = saved_at_});
  const auto step = trainer_->step();
  const auto times = ranks.finish();
  if (!step.graph_failure.empty()) {
    console_.warn(text("step ", progress().step,
                       ": no CUDA graphs from now on, with equal results: ", step.graph_failure));
  }
  is_finite_ = std::isfinite(step.result.loss) && std::isfinite(step.result.gradient_norm);
  recorder_.record(step, progress(), timer.cost(), evaluator_->last(), times);
  if (const auto straggler = stragglers_.add(times.computed)) {
    const auto& host = group_.placement().hosts.at(static_cast<std::size_t>(straggler->rank));
    recorder_.record_straggler(progress().step, comm::straggler_text(*straggler, host));
  }
  if (saver_.is_pending() && commands_.are_written()) finish_save();
  stop_if_diverged(step.result);

  const auto& config = open_.config;
  const auto now = progress().step;
  if (is_due(now, config.evaluate.every)) evaluate();
  if (is_due(now, config.evaluate.task_every)) evaluate_tasks();
  const std::chrono::duration<double> unsaved = Clock::now() - saved_time_;
  const bool by_time =
      config.checkpoint.seconds > 0 && unsaved.count() >= config.checkpoint.seconds;
  if (finished()) return;  // finish() evaluates and saves after the last step
  const bool by_signal = commands_.save_wanted();  // always read: else the next step saves again
  if (!is_due(now, config.checkpoint.every) && !by_time && !by_signal) return;
  config.checkpoint.background ? begin_save() : save(/*required=*/false);
}

void Run::stop_if_diverged(const StepResult& result) {
  const auto skipped = progress().skipped;
  const auto reason = reason_to_stop(open_.config.health, result, skipped);
  if (!reason) return;
  save(/*required=*/false);
  finish("diverged");
  throw Error(Exit::diverged,
              text(open_.folder.string(), ": diverged at step ", progress().step, ": ", skipped,
                   skipped == 1 ? " skipped step " : " skipped steps ", *reason,
                   "; health.jsonl has the events; try a lower schedule.peak "
                   "or a longer schedule.warmup"));
}

store::CheckpointContent Run::checkpoint_content() {
  auto content = trainer_->checkpoint_content();
  content.manifest = provenance_.manifest(progress().sequences);
  saved_time_ = Clock::now();  // of the attempt: no retry of a full disk at every step
  content.manifest["records"] = recorder_.flush();
  if (!is_finite_) content.manifest["is_finite"] = false;  // it displaces no finite checkpoint
  return content;
}

void Run::report_failed_save(std::int64_t step, const Error& error) {
  console_.warn(text("step ", step, ": checkpoint not saved, training goes on: ", error.what()));
  recorder_.record_failed_save(step, error.what());
}

/// Saves a checkpoint unless the current step already has one.
/// \param required  false: a failure is a warning
void Run::save(bool required) {
  finish_save();
  const auto step = progress().step;
  if (saved_at_ == step) return;
  try {
    const auto content = checkpoint_content();
    commands_.send(RankCommand::save);
    const auto left = saver_.save(*open_.lock, content, open_.config.checkpoint.keep);
    set_saved(step, left);
  } catch (const Error& error) {
    if (required) throw;
    report_failed_save(step, error);
  }
}

/// Begins a checkpoint that a thread writes. It counts when finish_save() has completed it.
void Run::begin_save() {
  finish_save();
  const auto step = progress().step;
  try {
    const auto content = checkpoint_content();
    commands_.send(RankCommand::save_background);
    saver_.begin(*open_.lock, content, open_.config.checkpoint.keep,
                 CheckpointSaver::Writer::thread);
    saving_ = step;
  } catch (const Error& error) {
    report_failed_save(step, error);
  }
}

/// Completes the checkpoint that a thread writes. A failure is a warning.
void Run::finish_save() {
  if (!saver_.is_pending()) return;
  try {
    commands_.send(RankCommand::finish_save);
    const auto left = saver_.finish();
    set_saved(saving_, left);
  } catch (const Error& error) {
    report_failed_save(saving_, error);
  }
}

/// \param left  older checkpoints that could not be removed; "": none
void Run::set_saved(std::int64_t step, const std::string& left) {
  saved_at_ = step;
  commands_.set_checkpoint(step);
  console_.info(text("step ", step, ": saved"));
  tokenizer_.replace_after_save(open_.lock->directory(), console_);
  if (!left.empty() && left != reported_left_) {
    console_.warn(text("step ", step, ": saved, but an older checkpoint stays: ", left));
  }
  reported_left_ = left;
  group_.report({.step = progress().step, .checkpoint = step});
}

void Run::save_last() {
  stop_if_moved();
  wait_for_space([&] { save(/*required=*/true); });
}

/// Repeats `write` while the disk is full.
/// \throws FullDisk if a signal asked to stop
void Run::wait_for_space(const std::function<void()>& write) {
  constexpr auto kPause = std::chrono::milliseconds(500);
  for (bool is_first = true;; is_first = false) {
    try {
      return write();
    } catch (const store::FullDisk& error) {
      if (stop_wanted()) throw;
      commands_.keep_waiting();
      if (is_first) {
        console_.warn(text("step ", progress().step, ": ", error.what(), "; ",
                           store::kWaitsForSpace, "; Ctrl-C ends it, and the checkpoint of step ",
                           saved_at_, " remains"));
      }
    }
    std::this_thread::sleep_for(kPause);
  }
}

void Run::evaluate() {
  commands_.send(RankCommand::evaluate);
  recorder_.record(evaluator_->evaluate(trainer_->model(), progress().step));
}

void Run::evaluate_tasks() {
  if (!evaluator_->has_tasks()) return;
  commands_.send(RankCommand::evaluate_tasks);
  const auto step = progress().step;
  const auto on_rows = [&](std::int64_t done, std::int64_t all) {
    console_.show_activity(text("step ", step, ": ", done, " of ", all, " rows of tasks scored"));
    return !stop_wanted();
  };
  const auto scores = evaluator_->evaluate_tasks(trainer_->model(), step, on_rows);
  if (scores) {
    recorder_.record(*scores);
    return;
  }
  commands_.send(RankCommand::wait);  // which rank had the signal
  console_.info(text("step ", step, ": the tasks are not scored; the next start does it"));
}

void Run::finish(const std::string& state) {
  open_.lock->check_path();
  recorder_.note_contention();
  const bool diverged = state == "diverged";
  if (evaluator_->last_step() != progress().step && !diverged) evaluate();
  const bool needs_tasks = state == "finished" && evaluator_->last_task_step() != progress().step;
  if (needs_tasks) evaluate_tasks();
  const auto& folder = open_.lock->directory();
  bool has_sample = false;
  wait_for_space([&] {
    has_sample = !diverged && write_sample(trainer_->model(), *setup_.text.encoding, folder);
    recorder_.finish_tracking(progress().step);
    recorder_.flush();  // before status.json says that the run is complete
    recorder_.write_status(has_sample ? state : "diverged", progress());
    report::write_run_report(folder);
  });
  if (has_sample) commands_.send(RankCommand::end);  // an Error ends the other ranks, too
  if (has_sample || diverged) return;
  throw Error(Exit::diverged,
              text(open_.folder.string(), ": diverged: the weights of step ", progress().step,
                   " give no finite logits; health.jsonl has the events; try a lower ",
                   "schedule.peak or a longer schedule.warmup"));
}

}  // namespace evenkeel::train
