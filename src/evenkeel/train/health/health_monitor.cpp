// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/health/health_monitor.h"

#include <cmath>
#include <map>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"

namespace evenkeel::train {

namespace {

constexpr std::int64_t kHealthCheckInterval = 50;
constexpr double kWorse = 1.1;  // in units of the first loss; above the noise between batches
constexpr std::int64_t kEarlySteps = 20;  // the spike detector has too few values then
/// Wide limits: the gradient norm of a healthy run may jump tenfold, and clipping handles that.
constexpr SpikeDetector::Limits kGradientLimits = {.deviations = 20, .relative = 19, .recent = 64};

constexpr const char* kEarlyRemedy =
    "a lower schedule.peak, a longer schedule.warmup, and the scheme's own model.init";

/// Marks all events of a kind but the first as repeated, and states their number in the first one.
/// A failure of one block is often a failure of all blocks.
void mark_repeated(std::vector<HealthEvent>& all) {
  std::map<std::string, std::int64_t> repeats;
  for (auto& event : all) {
    event.is_repeated = repeats.contains(event.kind);
    repeats[event.kind] += event.is_repeated ? 1 : 0;
  }
  for (auto& event : all) {
    const auto more = repeats[event.kind];
    if (event.is_repeated || more == 0) continue;
    event.observation += text(", and ", more, more == 1 ? " other like it" : " others like it");
  }
}

std::string spike_text(const char* what, double value, const SpikeDetector::Spike& spike) {
  return text(what, " ", with_digits(value, 4), " is ", with_digits(spike.deviations, 4),
              " deviations above the usual ", with_digits(spike.median, 4));
}

}  // namespace

HealthMonitor::HealthMonitor(const config::Health& options, const nn::Model& model,
                             const nn::Parameters& parameters, std::int64_t planned, double clip)
    : options_(options),
      model_(&model),
      parameters_(&parameters),
      gradient_(kGradientLimits),
      health_check_(model, parameters, planned),
      clip_(clip) {}

/// True if a gradient spike is to be reported. Spikes come in clusters, so at most one per 50 steps
/// is.
bool HealthMonitor::should_report_gradient_spike(const PendingUpdate& pending,
                                                 const StepResult& result) {
  constexpr double kReportRatio =
      10;  // in units of the clip: below it, clipping scales the gradient by at least 1/10
  if (clip_ > 0 && result.gradient_norm < kReportRatio * clip_) return false;
  if (last_gradient_spike_ > 0 && pending.step - last_gradient_spike_ < kHealthCheckInterval)
    return false;
  last_gradient_spike_ = pending.step;
  return true;
}

bool HealthMonitor::check_step(const PendingUpdate& pending, const StepResult& result) {
  if (!std::isfinite(result.loss) || !std::isfinite(result.gradient_norm)) {
    report_nonfinite(pending, result);
    return false;
  }
  if (first_loss_ == 0) first_loss_ = result.loss;
  const auto spike = check_spike(pending, result);
  if (pending.step == 1 || pending.step % kHealthCheckInterval == 0)
    run_health_check(pending, result, /*is_usual=*/!spike.found);
  return spike.applies;
}

/// Reports an explosion or a spike.
HealthMonitor::Spike HealthMonitor::check_spike(const PendingUpdate& pending,
                                                const StepResult& result) {
  const auto loss = loss_.observe(result.loss);
  const auto gradient = gradient_.observe(result.gradient_norm);
  const bool explodes = pending.step <= kEarlySteps && result.loss > 2 * first_loss_;
  if (explodes && explosion_reported_) return {true, options_.on_spike == "warn"};
  if (explodes) {
    explosion_reported_ = true;
    return {true,
            report_spike(pending, "explosion", first_loss_,
                         text("loss ", with_digits(result.loss, 4),
                              " is more than twice the first one, ", with_digits(first_loss_, 4)))};
  }
  if (loss) {
    return {true,
            report_spike(pending, "spike", loss->median, spike_text("loss", result.loss, *loss))};
  }
  if (gradient && should_report_gradient_spike(pending, result)) {
    return {true, report_spike(pending, "gradient_spike", result.loss,
                               spike_text("gradient norm", result.gradient_norm, *gradient))};
  }
  return {};
}

void HealthMonitor::report_nonfinite(const PendingUpdate& pending, const StepResult& result) {
  if (pending.gather_gradients) pending.gather_gradients();
  auto event = origin_of_nonfinite(*model_, *parameters_, *pending.gradients, *pending.batch);
  event.kind = "nonfinite";
  event.observation = text("loss ", with_digits(result.loss, 4), ", gradient norm ",
                           with_digits(result.gradient_norm, 4), ": the step was skipped");
  const bool is_early = pending.step <= kEarlySteps;
  if (is_early && event.remedy.starts_with("lower")) event.remedy = kEarlyRemedy;
  report(std::move(event));
}

/// \return true if the update may be applied
bool HealthMonitor::report_spike(const PendingUpdate& pending, const std::string& kind,
                                 double baseline_loss, std::string observation) {
  if (pending.gather_gradients) pending.gather_gradients();
  auto event = origin_of_spike(*model_, *parameters_, *pending.gradients,
                               {pending.batch, pending.first_sequence, pending.encoding},
                               {baseline_norms_, baseline_loss});
  event.kind = kind;
  event.observation = std::move(observation);
  if (kind == "explosion") event.remedy = kEarlyRemedy;
  const bool applies = options_.on_spike == "warn" || kind == "gradient_spike";
  if (!applies) event.observation += ": the step was skipped";
  report(std::move(event));
  return applies;
}

/// \param is_usual  false: the step has a spike, which was reported, and is no reference
void HealthMonitor::run_health_check(const PendingUpdate& pending, const StepResult& result,
                                     bool is_usual) {
  if (pending.gather_gradients) pending.gather_gradients();
  const double loss = result.loss;
  if (is_usual) baseline_norms_ = l2_norms(*parameters_, *pending.gradients);
  std::set<std::string> lasting;
  std::vector<HealthEvent> new_events;
  auto events = health_check_(pending.step, *pending.batch, *pending.gradients, result.routing);
  if (is_usual && loss > kWorse * first_loss_) {
    events.push_back({.kind = "divergence",
                      .observation = text("loss ", with_digits(loss, 4),
                                          " is above the first one, ", with_digits(first_loss_, 4)),
                      .explanation = "training makes the model worse than it began",
                      .remedy = "an earlier checkpoint with a lower schedule.peak"});
  }
  for (auto& event : events) {
    const auto key = text(event.kind, " ", event.layer, " ", event.tensor);
    lasting.insert(key);
    if (!reported_.contains(key)) new_events.push_back(std::move(event));
  }
  reported_ = std::move(lasting);
  mark_repeated(new_events);
  for (auto& event : new_events) report(std::move(event));
}

std::vector<HealthEvent> HealthMonitor::take() {
  return std::exchange(events_, {});
}

nlohmann::json HealthMonitor::state() const {
  auto baseline = nlohmann::json::object();
  for (const auto& [name, norms] : baseline_norms_) baseline[name] = {norms.weight, norms.gradient};
  return {{"losses", loss_.state()},
          {"gradient_told", last_gradient_spike_},
          {"gradients", gradient_.state()},
          {"first_loss", first_loss_},
          {"first_scores", health_check_.initial_scores()},
          {"were_alike", health_check_.was_collapsed()},
          {"explosion_told", explosion_reported_},
          {"told", reported_},
          {"usual", baseline}};
}

void HealthMonitor::restore(const nlohmann::json& state) {
  loss_.restore(state.at("losses"));
  gradient_.restore(state.at("gradients"));
  last_gradient_spike_ = state.at("gradient_told").get<std::int64_t>();
  first_loss_ = state.at("first_loss").get<double>();
  health_check_.set_was_collapsed(state.at("were_alike").get<bool>());
  explosion_reported_ = state.at("explosion_told").get<bool>();
  health_check_.set_initial_scores(state.at("first_scores").get<std::vector<double>>());
  reported_ = state.at("told").get<std::set<std::string>>();
  baseline_norms_.clear();
  for (const auto& [name, norms] : state.at("usual").items()) {
    baseline_norms_[name] = {norms.at(0).get<double>(), norms.at(1).get<double>()};
  }
}

}  // namespace evenkeel::train
