// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/run.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/base/number.h"
#include "evenkeel/data/detokenize.h"
#include "evenkeel/generate/generate.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/probe/probe.h"
#include "evenkeel/report/report.h"
#include "evenkeel/train/signals.h"

namespace evenkeel::train {

namespace {

struct rusage usage() {
  struct rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return used;
}

std::int64_t minor_faults() {
  return usage().ru_minflt;
}

/// The most memory that this process has had resident.
std::int64_t peak_bytes() {
  constexpr std::int64_t kKibibyte = 1024;
  return usage().ru_maxrss * kKibibyte;
}

std::string four_digits(double value) {
  return with_decimals(value, 4);
}

bool due(std::int64_t step, std::int64_t every) {
  return every > 0 && step % every == 0;
}

}  // namespace

Run::Run(const Request& request, OpenRun open, Console& console)
    : request_(request),
      open_(std::move(open)),
      console_(console),
      machine_(configure_machine(open_.config.train)),
      text_(data::load_corpora(open_.config.data, open_.config.model.context)),
      shape_(config::shape_of(open_.config, data::kByteVocabulary)),
      metrics_(open_.folder / "metrics.jsonl"),
      health_(open_.folder / "health.jsonl"),
      probes_(open_.folder / "probes.jsonl") {
  const auto& config = open_.config;
  check_memory();
  check_probes();
  trainer_ = std::make_unique<Trainer>(config, shape_, machine_.precision, text_.train);
  validation_ = std::make_unique<data::ValidationWindows>(text_.validation, config.model.context,
                                                          config.evaluate.sequences);
  if (text_.ood) {
    ood_ = std::make_unique<data::ValidationWindows>(*text_.ood, config.model.context,
                                                     config.evaluate.sequences);
  }
  print_summary();
  check_schedule();
}

/// A warning where what is free does not suffice: that changes. More than the machine has is
/// refused before any allocation, since the kernel would end some process, and perhaps
/// another one.
void Run::check_memory() {
  constexpr double kBeyond = 1.25;  // of what the machine has: the prediction is not that wrong
  const auto& config = open_.config;
  const auto scheme = config::bind(config.scheme, shape_);
  const auto padded_vocabulary = padded_vocabulary_size(config.model, shape_.vocabulary);
  const auto needed = footprint_of(config, scheme, padded_vocabulary, machine_.precision).total();
  const auto free = available_bytes(), installed = total_bytes();
  if (installed > 0 && needed > kBeyond * installed) {
    throw Error(Exit::busy, text("this would take about ", bytes_text(needed),
                                 " of memory, but the machine has ", bytes_text(installed),
                                 "; `evenkeel plan` shows what for, and what to change"));
  }
  if (free == 0 || needed <= free) return;
  console_.warn(text("warning: this will take about ", bytes_text(needed), " of memory, but ",
                     bytes_text(free), " are free; `evenkeel plan` shows what for"));
}

/// A note only: a trial run of a few steps is no mistake.
void Run::check_schedule() {
  const auto last = steps_of(open_.config);
  const auto warmup = trainer_->schedule().warmup();
  if (warmup < static_cast<double>(last)) return;
  console_.info(text("note: schedule.warmup takes ", warmup, " steps, and the run has ", last,
                     ": the learning rate never gets to schedule.peak"));
}

/// A warning only: the same configuration may be meant for longer runs, too.
void Run::check_probes() {
  const auto last = steps_of(open_.config);
  for (const auto step : open_.config.probe.steps) {
    if (step <= last) continue;
    console_.warn(text("warning: probe.steps names step ", step, ", but the run ends with step ",
                       last, ": nothing is measured there"));
  }
}

void Run::start() {
  const auto& newest = open_.newest;
  for (const auto& line : newest.skipped) console_.warn(line);
  if (const auto status = store::read_status(open_.folder))
    cpu_contention_ = status->cpu_contention;
  if (newest.found) {
    resume(*newest.found);
  } else {
    // The initial weights are saved before the first record, so records without them are a loss.
    if (!newest.skipped.empty() ||
        !store::read_json_lines(open_.folder / "metrics.jsonl").empty()) {
      throw Error(Exit::no_checkpoint, text(open_.folder.string(),
                                            ": none of its checkpoints is usable; start another "
                                            "run, or restore the folder from a copy"));
    }
    if (!open_.config.train.from.empty()) start_from(open_.config.train.from);
  }
  write_provenance();
  console_.log_to(open_.folder / "log.txt");
  if (!newest.found) save(/*required=*/true);
  write_status("training");
}

void Run::start_from(const std::filesystem::path& from) {
  const auto other = store::find_checkpoint(from);
  for (const auto& line : other.skipped) console_.warn(text("train.from: ", line));
  if (!other.found) {
    throw Error(Exit::no_checkpoint,
                text("train.from: ", from.string(), " has no usable checkpoint to start from"));
  }
  trainer_->load_weights(*other.found);
}

void Run::step() {
  if (!contention_) contention_.emplace();
  const auto started = Clock::now();
  const auto faults = minor_faults();
  const auto step = trainer_->step();
  const std::chrono::duration<double> taken = Clock::now() - started;
  constexpr double kSmoothing = 0.9;  // weight of the past in the running mean of the step time
  seconds_per_step_ = seconds_per_step_ == 0
                          ? taken.count()
                          : kSmoothing * seconds_per_step_ + (1 - kSmoothing) * taken.count();
  record(step, taken.count(), minor_faults() - faults);
  for (const auto& profile : step.profiles) {
    append(probes_, probe::record(trainer_->progress().step, "training", profile));
  }
  handle_health_events(step);

  const auto& config = open_.config;
  const auto now = trainer_->progress().step;
  if (due(now, config.evaluate.every)) evaluate();
  const std::chrono::duration<double> unsaved = Clock::now() - saved_time_;
  const bool by_time =
      config.checkpoint.seconds > 0 && unsaved.count() >= config.checkpoint.seconds;
  if (finished()) return;  // finish() does what is due at the end
  if (due(now, config.checkpoint.every) || by_time || save_wanted()) save(/*required=*/false);
}

void Run::save(bool required) {
  const auto step = trainer_->progress().step;
  if (saved_at_ == step) return;
  auto content = trainer_->checkpoint_content();
  content.manifest = manifest();
  saved_time_ = Clock::now();  // of the attempt: a full disk is not retried at every step
  try {
    store::save_checkpoint(open_.folder, content, open_.config.checkpoint.keep);
    saved_at_ = step;
    console_.info(text("step ", step, ": saved"));
  } catch (const Error& error) {
    if (required) throw;
    console_.warn(text("step ", step, ": checkpoint not saved, training goes on: ", error.what()));
    append(health_, {{"step", step}, {"event", "save_failed"}, {"detail", error.what()}});
  }
}

void Run::finish(const std::string& state) {
  if (contention_) cpu_contention_ = std::max(cpu_contention_, contention_->share());
  constexpr double kMany = 0.25;
  if (console_.is_terminal() && cpu_contention_.value_or(0) > kMany) {
    console_.info(
        text("note: other processes took ", percent(*cpu_contention_),
             " of the processors' time; train.threads=1, or OMP_WAIT_POLICY=passive in the "
             "environment, loses less to them"));
  }
  if (evaluated_at_ != trainer_->progress().step && state != "diverged") evaluate();
  const bool has_sample = state != "diverged" && write_sample();
  write_status(has_sample ? state : "diverged");
  report::write_report({open_.folder}, open_.folder / "report.html");
  if (has_sample || state == "diverged") return;
  throw Error(Exit::diverged,
              text(open_.folder.string(), ": diverged: the weights of step ",
                   trainer_->progress().step, " give no finite logits; health.jsonl says what was ",
                   "seen; try a lower schedule.peak or a longer schedule.warmup"));
}

void Run::record(const StepRecord& step, double seconds, std::int64_t faults) {
  const auto now = trainer_->progress().step;
  const auto steps = trainer_->progress().steps;
  const auto& config = open_.config;
  const double tokens_per_second =
      static_cast<double>(config.train.batch * config.model.context) / seconds;
  const bool permanent = due(now, config.log.every) || now == steps;
  if (permanent) {
    nlohmann::ordered_json line = {{"step", now},
                                   {"tokens", trainer_->progress().tokens},
                                   {"loss", step.result.loss},
                                   {"lr", step.rate},
                                   {"grad_norm", step.result.gradient_norm},
                                   {"clipped", step.result.clipped},
                                   {"tokens_per_s", tokens_per_second},
                                   {"step_s", seconds},
                                   {"memory_bytes", peak_bytes()},
                                   {"faults", faults}};
    if (!step.result.routing.empty()) line.update(routing_record(step.result));
    append(metrics_, line);
  }
  ProgressLine progress_line{.step = now,
                             .steps = steps,
                             .loss = step.result.loss,
                             .gap = gap_,
                             .rate = step.rate,
                             .gradient_norm = step.result.gradient_norm,
                             .tokens_per_second = tokens_per_second,
                             .seconds_left = seconds_per_step_ * static_cast<double>(steps - now)};
  console_.show_progress(progress_line, permanent);
}

/// Prints and records the events of the step; too many skipped steps end the run.
void Run::handle_health_events(const StepRecord& step) {
  const auto& progress = trainer_->progress();
  for (const auto& event : step.events) {
    if (!event.is_repeated) {
      console_.warn(text("step ", progress.step, ": ", event.kind, ": ", line_of(event)));
    }
    append(health_, {{"step", progress.step},
                     {"event", event.kind},
                     {"layer", event.layer},
                     {"tensor", event.tensor},
                     {"detail", line_of(event)}});
  }
  if (step.result.applied) return;
  const auto& health = open_.config.health;
  const bool finite = std::isfinite(step.result.loss) && std::isfinite(step.result.gradient_norm);
  const auto* const key = finite ? "on_spike" : "on_nonfinite";
  const bool stops = (finite ? health.on_spike : health.on_nonfinite) == "stop";
  if (!stops && progress.skipped <= health.budget) return;
  save(/*required=*/false);
  finish("diverged");
  throw Error(Exit::diverged,
              text(open_.folder.string(), ": diverged at step ", progress.step, ": ",
                   progress.skipped, progress.skipped == 1 ? " skipped step " : " skipped steps ",
                   stops ? text("(health.", key, " is \"stop\")")
                         : text("(health.budget is ", health.budget, ")"),
                   "; health.jsonl says what was seen; try a lower schedule.peak or a longer "
                   "schedule.warmup"));
}

void Run::evaluate() {
  const auto step = trainer_->progress().step;
  const auto micro_batch_size = evaluation_batch_size(open_.config, shape_.vocabulary);
  const auto evaluation = evaluate::evaluate(trainer_->model(), *validation_, micro_batch_size);
  evaluated_at_ = step;
  gap_ = evaluation.gap;
  nlohmann::ordered_json line = {{"step", step}};
  line.update(evaluate::record(evaluation, "val"));
  auto message = text("step ", step, ": validation loss ", four_digits(evaluation.nats_per_token),
                      " nats a token, ", four_digits(evaluation.bits_per_byte), " bits a byte");
  if (evaluation.floor) {
    message += text(", ", four_digits(*evaluation.gap), " nats a byte above the floor of ",
                    four_digits(*evaluation.floor));
  }
  if (evaluation.exact_match)
    message += text(", ", percent(*evaluation.exact_match), " of the answers right");
  if (ood_) {
    const auto ood = evaluate::evaluate(trainer_->model(), *ood_, micro_batch_size);
    line.update(evaluate::record(ood, "ood"));
    message += text("; out of distribution ", four_digits(ood.nats_per_token), " nats a token");
    if (ood.exact_match) message += text(", ", percent(*ood.exact_match), " right");
  }
  append(metrics_, line);
  console_.info(message);
}

bool Run::write_sample() const {
  constexpr std::int64_t kTokens = 400;
  generate::GenerationOptions options;
  options.prompt = {data::kEndOfText};
  options.max_new_tokens = std::min(kTokens, 2 * open_.config.model.context);
  options.sampling = {.temperature = 0.8, .top_k = 0, .top_p = 1, .seed = 1};
  std::vector<std::int64_t> tokens;
  try {
    tokens = generate::generate(trainer_->model(), options);
  } catch (const Error& error) {
    if (error.exit() == Exit::diverged) return false;
    throw;
  }
  std::replace(tokens.begin(), tokens.end(), std::int64_t{data::kEndOfText}, std::int64_t{'\n'});
  write_file(open_.folder / "sample.txt", data::detokenize(tokens));
  return true;
}

void Run::write_status(const std::string& state) const {
  const auto& progress = trainer_->progress();
  store::write_status(open_.folder, {.state = state,
                                     .step = progress.step,
                                     .steps = progress.steps,
                                     .scheme = open_.config.scheme.name,
                                     .preset = open_.config.preset,
                                     .cpu_contention = cpu_contention_});
}

/// Warns once when records cannot be written; the run goes on.
void Run::append(store::JsonLinesFile& records, const nlohmann::ordered_json& line) {
  try {
    records.append(line);
    records_failed_ = false;
  } catch (const Error& error) {
    if (!records_failed_) console_.warn(text("records are lost: ", error.what()));
    records_failed_ = true;
  }
}

}  // namespace evenkeel::train
