// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/recorder.h"

#include <sys/resource.h>

#include <algorithm>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/ops/common/compute_device.h"
#include "evenkeel/ops/common/gpu.h"
#include "evenkeel/probe/probe.h"
#include "evenkeel/store/json_lines.h"
#include "evenkeel/store/run_folder.h"
#include "evenkeel/train/evaluator.h"
#include "evenkeel/train/rank_commands.h"
#include "evenkeel/train/trainer.h"

namespace evenkeel::train {

namespace {

constexpr const char* kMetricsName = "metrics.jsonl";
constexpr const char* kHealthName = "health.jsonl";
constexpr const char* kProbesName = "probes.jsonl";
constexpr const char* kEvaluationsName = "evaluations.jsonl";

struct rusage usage() {
  struct rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return used;
}

std::int64_t minor_faults() {
  return usage().ru_minflt;
}

/// The peak memory of this process in bytes: of tensors on its GPU, else the resident set size.
std::int64_t peak_bytes() {
  const auto device = ops::compute_device();
  if (device.is_cuda()) return ops::gpu_peak_bytes(device.index());
  constexpr std::int64_t kKibibyte = 1024;
  return usage().ru_maxrss * kKibibyte;
}

std::string four_digits(double value) {
  return with_decimals(value, 4);
}

std::string message_of(const RunEvaluation& evaluation) {
  const auto& [step, validation, sources, ood, texts] = evaluation;
  auto message = text("step ", step, ": validation loss ", four_digits(validation.nats_per_token),
                      " nats per token");
  if (validation.bits_per_byte) {
    message += text(", ", four_digits(*validation.bits_per_byte), " bits per byte");
  }
  for (const auto& [name, of_source] : sources) {
    message += text(sources.front().name == name ? "; " : ", ", name, " ",
                    four_digits(of_source.nats_per_token));
  }
  if (validation.floor) {
    message += text(", ", four_digits(*validation.gap), " nats per byte above the floor of ",
                    four_digits(*validation.floor));
  }
  if (validation.exact_match)
    message += text(", ", percent(*validation.exact_match), " of the answers right");
  if (ood) {
    message += text("; out of distribution ", four_digits(ood->nats_per_token), " nats per token");
    if (ood->exact_match) message += text(", ", percent(*ood->exact_match), " right");
  }
  for (const auto& [name, of_text] : texts) {
    message += text("; ", name, " ", four_digits(of_text.nats_per_token));
  }
  return message;
}

/// The headline metric of each task.
std::string message_of(const RunTaskScores& scores) {
  auto message = text("step ", scores.step, ":");
  for (const auto& result : scores.results) {
    const auto& metric = result.score.metrics.front();
    message += text(&result == &scores.results.front() ? " " : "; ", result.task->task.label, " ",
                    metric.name, " ",
                    result.score.chance ? percent(metric.value) : four_digits(metric.value));
  }
  return message;
}

}  // namespace

StepTimer::StepTimer() : started_(std::chrono::steady_clock::now()), faults_(minor_faults()) {}

StepCost StepTimer::cost() const {
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - started_;
  return {.seconds = taken.count(), .faults = minor_faults() - faults_};
}

Recorder::Recorder(const store::Directory& run, const config::Config& config, Console& console)
    : run_(run),
      config_(config),
      console_(console),
      metrics_(run, kMetricsName),
      health_(run, kHealthName),
      probes_(run, kProbesName),
      evaluations_(run, kEvaluationsName),
      tracker_(run, config, [this](const std::string& error) { record_failed_log(error); }) {}

void Recorder::resume_status() {
  if (const auto status = store::read_status(run_)) cpu_contention_ = status->cpu_contention;
}

void Recorder::resume(std::int64_t step, const nlohmann::json& records) {
  std::vector<std::string> losses;
  const auto each = [&](store::RecordsFile& file, const char* name) {
    const auto saved = records.is_object() ? records.value(name, nlohmann::json()) : records;
    losses.push_back(file.resume(step, saved));
  };
  each(health_, kHealthName);
  each(metrics_, kMetricsName);
  each(probes_, kProbesName);
  each(evaluations_, kEvaluationsName);
  const auto known = store::read_records(run_, kHealthName).records;
  for (const auto& loss : losses) {
    if (loss.empty()) continue;
    console_.warn(loss);
    const nlohmann::ordered_json event = {
        {"step", step}, {"event", "records_missing"}, {"detail", loss}};
    const auto is_known = [&](const nlohmann::json& other) {
      return other == nlohmann::json(event);
    };
    if (std::none_of(known.begin(), known.end(), is_known)) append(health_, event);
  }
}

void Recorder::start_tracking(std::int64_t step, const std::vector<std::string>& sources) {
  step_ = step;
  tracker_.start(step, sources);
}

void Recorder::finish_tracking(std::int64_t step) {
  tracker_.finish(step);
}

nlohmann::json Recorder::flush() {
  tracker_.flush();
  nlohmann::json summaries;
  const auto each = [&](store::RecordsFile& file, const char* name) {
    summaries[name] = file.summary();
    try {
      file.flush();
    } catch (const store::FullDisk&) {
      throw;
    } catch (const Error& error) {  // the next resume names the records that are missing
      console_.warn(text("records may be lost: ", error.what()));
    }
  };
  each(metrics_, kMetricsName);
  each(probes_, kProbesName);
  each(health_, kHealthName);
  each(evaluations_, kEvaluationsName);
  return summaries;
}

StepTimer Recorder::start_step() {
  if (!contention_) contention_.emplace();
  return {};
}

void Recorder::record(const StepRecord& step, const Progress& progress, const StepCost& cost,
                      const LastEvaluation& last, const RankTimes& ranks) {
  constexpr double kSmoothing = 0.9;  // weight of the past in the moving average of the step time
  seconds_per_step_ = seconds_per_step_ == 0
                          ? cost.seconds
                          : kSmoothing * seconds_per_step_ + (1 - kSmoothing) * cost.seconds;
  step_ = progress.step;
  record_metrics(step, progress, cost, last, ranks);
  for (const auto& profile : step.profiles) {
    const auto line = probe::record(progress.step, "training", profile);
    append(probes_, line);
    tracker_.add_probe(line);
  }
  tracker_.flush_if_due();
  for (const auto& event : step.events) record_event(event, progress.step);
}

void Recorder::record_metrics(const StepRecord& step, const Progress& progress,
                              const StepCost& cost, const LastEvaluation& last,
                              const RankTimes& ranks) {
  const auto now = progress.step, steps = progress.steps;
  const double tokens_per_second =
      static_cast<double>(config_.train.batch * config_.model.context) / cost.seconds;
  const bool permanent = is_due(now, config_.log.every) || now == steps;
  if (permanent) {
    nlohmann::ordered_json line = {{"step", now},
                                   {"tokens", progress.tokens},
                                   {"loss", step.result.loss},
                                   {"lr", step.rate},
                                   {"grad_norm", step.result.gradient_norm},
                                   {"clipped", step.result.clipped},
                                   {"tokens_per_s", tokens_per_second},
                                   {"step_s", cost.seconds},
                                   {"memory_bytes", peak_bytes()},
                                   {"faults", cost.faults}};
    if (!ranks.computed.empty()) {
      line.update({{"exchange_s", ranks.exchange},
                   {"slowest_rank", ranks.slowest},
                   {"waited_s", ranks.waited}});
    }
    for (const auto& [name, tokens] : step.source_tokens) line["source_tokens"][name] = tokens;
    if (step.result.z_loss) line["z_loss"] = *step.result.z_loss;
    if (!step.result.routing.empty()) line.update(routing_record(step.result));
    append(metrics_, line);
    tracker_.add_metrics(line);
  }
  console_.show_progress({.step = now,
                          .steps = steps,
                          .loss = step.result.loss,
                          .loss_z = loss_z_.observe(step.result.loss),
                          .val_loss = last.loss,
                          .gap = last.gap,
                          .rate = step.rate,
                          .gradient_norm = step.result.gradient_norm,
                          .gradient_z = gradient_z_.observe(step.result.gradient_norm),
                          .tokens_per_second = tokens_per_second,
                          .seconds_left = seconds_per_step_ * static_cast<double>(steps - now)},
                         permanent);
}

void Recorder::record_event(const HealthEvent& event, std::int64_t step) {
  const auto line = line_of(event);
  if (!event.is_repeated) console_.warn(text("step ", step, ": ", event.kind, ": ", line));
  append(health_, {{"step", step},
                   {"event", event.kind},
                   {"layer", event.layer},
                   {"tensor", event.tensor},
                   {"detail", line}});
}

void Recorder::record(const RunEvaluation& evaluation) {
  nlohmann::ordered_json line = {{"step", evaluation.step}};
  line.update(evaluate::record(evaluation.validation, "val"));
  for (const auto& [name, of_source] : evaluation.sources) {
    line["val_loss_by_source"][name] = of_source.nats_per_token;
  }
  if (evaluation.ood) line.update(evaluate::record(*evaluation.ood, "ood"));
  for (const auto& [name, of_text] : evaluation.texts) {
    line["texts"][name] = evaluate::record(of_text, "text");
  }
  append(metrics_, line);
  tracker_.add_metrics(line);
  tracker_.flush();
  console_.info(message_of(evaluation));
}

void Recorder::record(const RunTaskScores& scores) {
  for (const auto& line : scores.records) {
    append(evaluations_, line);
    tracker_.add_task(line);
  }
  tracker_.flush();
  console_.info(message_of(scores));
}

void Recorder::record_failed_save(std::int64_t step, const std::string& error) {
  append(health_, {{"step", step}, {"event", "save_failed"}, {"detail", error}});
}

void Recorder::record_straggler(std::int64_t step, const std::string& detail) {
  append(health_, {{"step", step}, {"event", "straggler"}, {"detail", detail}});
}

void Recorder::record_failed_log(const std::string& error) {
  console_.warn(text("step ", step_, ": this file ends here, training goes on: ", error));
  append(health_, {{"step", step_}, {"event", "log_failed"}, {"detail", error}});
}

void Recorder::note_contention() {
  if (contention_) cpu_contention_ = std::max(cpu_contention_, contention_->share());
  constexpr double kMany = 0.25;
  if (!console_.is_terminal() || cpu_contention_.value_or(0) <= kMany) return;
  console_.info(text("note: other processes took ", percent(*cpu_contention_),
                     " of the processors' time; train.threads=1, or OMP_WAIT_POLICY=passive in the "
                     "environment, is faster then"));
}

void Recorder::write_status(const std::string& state, const Progress& progress) const {
  store::write_status(run_, {.state = state,
                             .step = progress.step,
                             .steps = progress.steps,
                             .scheme = config_.scheme.name,
                             .preset = config_.preset,
                             .cpu_contention = cpu_contention_});
}

/// Appends a record. Only the first of several consecutive failures prints a warning.
void Recorder::append(store::RecordsFile& records, const nlohmann::ordered_json& line) {
  try {
    records.append(line);
    records_failed_ = false;
  } catch (const Error& error) {
    if (!records_failed_) {
      console_.warn(text("records wait in memory and are written later: ", error.what()));
    }
    records_failed_ = true;
  }
}

}  // namespace evenkeel::train
