// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/measure.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "evenkeel/base/error.h"
#include "evenkeel/base/nearest.h"
#include "evenkeel/base/number.h"
#include "evenkeel/config/measures.h"
#include "evenkeel/study/analysis/multiple_testing.h"
#include "evenkeel/tasks/labels.h"

namespace evenkeel::study {

namespace {

double reduced(const report::Series& profile, Measure::Reduction reduction) {
  const auto values = report::finite_values(profile.y);
  if (values.empty()) return std::nan("");
  switch (reduction) {
    case Measure::Reduction::slope:
      return report::depth_trend(profile).slope;
    case Measure::Reduction::steepness:
      return std::abs(report::depth_trend(profile).slope);
    case Measure::Reduction::spread:
      return report::depth_trend(profile).spread;
    case Measure::Reduction::mean:
      return report::mean_of_last(values, values.size());
    case Measure::Reduction::largest:
      return *std::max_element(values.begin(), values.end());
    case Measure::Reduction::first:
      return values.front();
    case Measure::Reduction::last:
      return values.back();
    case Measure::Reduction::drift:
    case Measure::Reduction::change:
      break;  // of several profiles
  }
  return std::nan("");
}

/// The mean over layers at each probed step, where it is finite.
std::vector<double> means_of_steps(const report::LayerMap& map) {
  std::vector<double> means;
  for (const auto& [step, profile] : map.values) {
    const double mean = reduced(map.at(step), Measure::Reduction::mean);
    if (std::isfinite(mean)) means.push_back(mean);
  }
  return means;
}

/// NaN with fewer than two probed steps.
double reduced_over_steps(const report::LayerMap& map, Measure::Reduction reduction) {
  const auto means = means_of_steps(map);
  if (means.size() < 2) return std::nan("");
  return reduction == Measure::Reduction::change ? std::log(means.back() / means.front())
                                                 : mean_estimate(means).standard_deviation;
}

double probe_value(const report::Run& run, const Measure& measure) {
  const auto* const map = report::find(run.layer_maps, measure.probe, measure.part);
  if (map == nullptr || map->values.empty()) return std::nan("");
  if (measure.is_over_steps()) return reduced_over_steps(*map, measure.reduction);
  const auto step =
      measure.step > 0 ? static_cast<double>(measure.step) : map->values.rbegin()->first;
  return reduced(map->at(step), measure.reduction);
}

/// The validation losses after whole multiples of `evaluate.every` steps and after the last step. A
/// run that was stopped and resumed has a further one, which an uninterrupted run has not.
report::Series planned_evaluations(const report::Run& run) {
  const double every =
      std::strtod(report::value_of(run.settings, "evaluate.every").c_str(), nullptr);
  report::Series planned;
  for (std::size_t i = 0; i < run.validation_loss.size(); ++i) {
    const double step = run.validation_loss.x[i];
    if (every > 0 && std::fmod(step, every) != 0 && step != run.steps) continue;
    planned.add(step, run.validation_loss.y[i]);
  }
  return planned;
}

/// The validation loss of the evaluation nearest to a share of the planned steps.
double loss_at(const report::Run& run, double share) {
  const auto losses = planned_evaluations(run);
  double nearest = std::nan(""), distance = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const double away = std::abs(losses.x[i] - share * run.steps);
    if (std::isnan(nearest) || away < distance) {
      nearest = losses.y[i];
      distance = away;
    }
  }
  return nearest;
}

/// The share of the planned steps after which the validation loss is at most `target`, linear
/// between evaluations; 1 if it never is.
double steps_to_loss(const report::Run& run, double target) {
  const auto [steps, losses] = planned_evaluations(run);
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (!(losses[i] <= target)) continue;
    if (i == 0 || !std::isfinite(losses[i - 1])) return steps[i] / run.steps;
    const double part = (losses[i - 1] - target) / (losses[i - 1] - losses[i]);
    return (steps[i - 1] + part * (steps[i] - steps[i - 1])) / run.steps;
  }
  return losses.empty() ? std::nan("") : 1;
}

/// A loss of the task's gold choices, or 1 - accuracy.
double task_value(const report::Run& run, const Measure& measure) {
  const auto* const task = report::find_of_training(run.tasks, measure.task);
  if (task == nullptr) return std::nan("");
  const auto& metric = measure.metric.empty() ? task->headline : measure.metric;
  const double value = task->last(metric);
  if (metric == "ce_loss" || metric == "bpb" || metric == "brier") return value;
  return metric == "soft_log" ? -value : 1 - value;
}

/// The first file of the out-of-distribution text or of the validation text.
const std::string& evaluated_text(const config::Data& data, bool is_ood) {
  if (is_ood) return data.ood.front();
  return data.validation.front() == "auto" ? data.train.front() : data.validation.front();
}

}  // namespace

const std::vector<MeasureRow>& measure_rows() {
  using report::last_finite;
  using report::Run;
  using Kind = Measure::Kind;
  static const std::vector<MeasureRow> rows = {
      {Kind::val_loss, "val_loss", "validation loss", "nats per token",
       [](const Run& run) { return last_finite(run.validation_loss.y); }},
      {Kind::val_gap, "val_gap", "validation loss above the entropy", "nats per byte",
       [](const Run& run) { return last_finite(run.gap.y); }},
      {Kind::loss, "loss", "training loss", "nats per token",
       [](const Run& run) { return report::final_loss(run); }},
      {Kind::generalization_gap, "generalization_gap", "validation loss less training loss",
       "nats per token",
       [](const Run& run) { return last_finite(run.validation_loss.y) - report::final_loss(run); }},
      {Kind::val_wrong, "val_wrong", "share of wrong answers", "",
       [](const Run& run) { return 1 - last_finite(run.exact_match.y); }},
      {Kind::ood_loss, "ood_loss", "loss out of distribution", "nats per token",
       [](const Run& run) { return last_finite(run.ood_loss.y); }},
      {Kind::ood_wrong, "ood_wrong", "share of wrong answers out of distribution", "",
       [](const Run& run) { return 1 - last_finite(run.ood_exact_match.y); }},
      {Kind::step_time, "step_time", "time of a step", "ms",
       [](const Run& run) { return std::log(median_step_milliseconds(run)); }}};
  return rows;
}

const MeasureRow* measure_row(Measure::Kind kind) {
  for (const auto& row : measure_rows()) {
    if (row.kind == kind) return &row;
  }
  return nullptr;
}

double measured_value(const report::Run& run, const Measure& measure) {
  if (measure.kind == Measure::Kind::task) return task_value(run, measure);
  if (measure.kind == Measure::Kind::loss_at) return loss_at(run, measure.share);
  if (measure.kind == Measure::Kind::steps_to_loss) return steps_to_loss(run, measure.target);
  const auto* const row = measure_row(measure.kind);
  return row == nullptr ? probe_value(run, measure) : row->value(run);
}

bool outlives_failure(const Measure& measure) {
  return measure.kind == Measure::Kind::probe && measure.step > 0;
}

bool is_of_predictions(const Measure& measure) {
  return measure.kind != Measure::Kind::probe && measure.kind != Measure::Kind::step_time;
}

double seed_run_value(const SeedRun& seed_run, const Measure& measure) {
  const bool counts = seed_run.state == SeedRun::State::finished ||
                      (seed_run.state == SeedRun::State::failed && outlives_failure(measure));
  if (!counts) return std::nan("");
  if (seed_run.recorded.empty()) return measured_value(seed_run.run, measure);
  const auto found = seed_run.recorded.find(measure.name());
  return found == seed_run.recorded.end() ? std::nan("") : found->second;
}

Measure loss_after(double share) {
  return {.kind = Measure::Kind::loss_at, .share = share};
}

std::vector<Measure> measures_of(const Study& study) {
  std::vector<Measure> measures = {study.measure};
  const auto add = [&](const Measure& measure) {
    if (std::find(measures.begin(), measures.end(), measure) == measures.end())
      measures.push_back(measure);
  };
  for (const auto& claim : study.claims) {
    if (!uses_sign_test(claim) && claim.measure.kind != Measure::Kind::sweep) add(claim.measure);
  }
  for (const double share : study.loss_shares) add(loss_after(share));
  return measures;
}

double median_step_milliseconds(const report::Run& run) {
  constexpr double kMilliseconds = 1000;
  return kMilliseconds * report::median(report::finite_values(run.step_seconds.y));
}

namespace {

bool has_word(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// \throws Error (usage) if the runs do not score the task, or its rule lacks the metric
void check_task_measure(const Measure& measure, const config::Evaluate& evaluate) {
  const auto labels = tasks::expand_labels(evaluate.tasks);
  if (!has_word(labels, measure.task)) {
    throw Error(Exit::usage, text("measure: evaluate.tasks must name \"", measure.task, "\"",
                                  did_you_mean(measure.task, labels)));
  }
  static const std::vector<std::string> of_lm_eval = {"acc", "acc_norm", "acc_bytes", "brier",
                                                      "bpb"};
  static const std::vector<std::string> of_olmo = {"acc",  "len_norm", "ce_loss", "bpb",
                                                   "soft", "soft_log", "f1"};
  const auto& metrics = evaluate.rule == "lm_eval" ? of_lm_eval : of_olmo;
  if (measure.metric.empty() || has_word(metrics, measure.metric)) return;
  throw Error(Exit::usage, text("measure: the rule \"", evaluate.rule, "\" has no metric \"",
                                measure.metric, "\""));
}

/// \throws Error (usage) if the runs do not take the probe at that step
void check_probe_measure(const Measure& measure, const config::Probe& probe) {
  const auto must = [](bool good, const auto&... parts) {
    if (!good) throw Error(Exit::usage, text("measure: ", parts...));
  };
  const auto known = config::measure_names();
  must(!measure.is_over_steps() || measure.step == 0, measure.name(),
       " is of all probed steps; leave out step");
  must(has_word(known, measure.probe) && measure.probe != "all", "no probe is named \"",
       measure.probe, "\"", did_you_mean(measure.probe, known));
  const bool is_in_all = config::measure_named(measure.probe)->by_default;
  if (!(is_in_all && has_word(probe.what, "all")) && !has_word(probe.what, measure.probe)) {
    throw Error(Exit::usage, text("measure: probe.what must name ", measure.probe));
  }
  const bool by_list = measure.step > 0 ? std::find(probe.steps.begin(), probe.steps.end(),
                                                    measure.step) != probe.steps.end()
                                        : !probe.steps.empty();
  const bool by_interval = probe.every > 0 && measure.step % probe.every == 0;
  if (by_list || by_interval) return;
  throw Error(Exit::usage, text("measure: ", measure.name(),
                                " is never probed; name the step in "
                                "probe.steps, or set probe.every"));
}

}  // namespace

void check_measure(const Measure& measure, const config::Config& config, bool exclusive) {
  using Kind = Measure::Kind;
  const auto must = [](bool good, const auto&... parts) {
    if (!good) throw Error(Exit::usage, text("measure: ", parts...));
  };
  const bool is_ood = measure.kind == Kind::ood_loss || measure.kind == Kind::ood_wrong;
  must(!is_ood || !config.data.ood.empty(),
       "what is out of distribution needs a text: set data.ood, for instance to "
       "\"builtin:addition_longer\"");
  const auto& asked = evaluated_text(config.data, is_ood);
  must(measure.kind != Kind::val_gap || asked.starts_with("builtin:"),
       "\"val_gap\" is for built-in text, whose entropy is known, but the validation text is ",
       asked, "; take \"val_loss\"");
  must((measure.kind != Kind::val_wrong && measure.kind != Kind::ood_wrong) ||
           asked.starts_with("builtin:addition"),
       "answers are counted in builtin:addition and builtin:addition_longer, but the text is ",
       asked);
  must(measure.kind != Kind::step_time || exclusive,
       "\"step_time\" can be compared only between runs that had the machine for themselves; set "
       "alone = true");
  const bool is_of_curve = measure.kind == Kind::loss_at || measure.kind == Kind::steps_to_loss;
  must(!is_of_curve || config.evaluate.every > 0, measure.name(),
       " needs evaluations while the runs train; set evaluate.every");
  if (measure.kind == Kind::task) check_task_measure(measure, config.evaluate);
  if (measure.kind == Kind::probe) check_probe_measure(measure, config.probe);
}

namespace {

constexpr std::string_view kLossAbove =
    "validation loss ";  // begin of a reason: "... 3.41 above 3"

}  // namespace

std::string failure_reason(const report::Run& run, double fails_above) {
  constexpr int kDigits = 4;
  if (run.state == "diverged")
    return text("diverged at step ", with_commas(std::llround(run.step)));
  const auto& losses = run.validation_loss.y;
  if (losses.empty() || !std::isfinite(losses.back())) return "no finite validation loss";
  if (fails_above > 0 && losses.back() > fails_above) {
    return text(kLossAbove, with_digits(losses.back(), kDigits), " above ", shortest(fails_above));
  }
  return "";
}

bool is_of_threshold(const std::string& failure_reason) {
  return failure_reason.starts_with(kLossAbove);
}

}  // namespace evenkeel::study
