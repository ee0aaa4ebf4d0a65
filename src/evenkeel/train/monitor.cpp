// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/monitor.h"

#include <cmath>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"

namespace evenkeel::train {

namespace {

constexpr std::int64_t kCheckUpEvery = 50;
constexpr std::int64_t kFirstSteps = 20;  // as long as the spike detector is silent
/// A gradient may jump tenfold in a healthy run; clipping is there for it.
constexpr SpikeDetector::Limits kOfGradients = {.deviations = 20, .relative = 19};

constexpr const char* kFirstRemedy =
    "a lower schedule.peak, a longer schedule.warmup, and model.init = \"scheme\"";

std::string words(const char* what, double value, const SpikeDetector::Spike& spike) {
  return text(what, " ", with_digits(value, 4), " is ", with_digits(spike.deviations, 4),
              " deviations above the usual ", with_digits(spike.median, 4));
}

}  // namespace

Monitor::Monitor(const config::Health& options, const nn::Model& model,
                 const nn::Parameters& parameters, std::int64_t planned, double clip)
    : options_(options),
      model_(&model),
      parameters_(&parameters),
      gradient_(kOfGradients),
      check_up_(model, parameters, planned),
      clip_(clip) {}

/// Gradient spikes come in crowds: one is told for all of fifty steps.
bool Monitor::tells_gradient(const Moment& moment, const Outcome& outcome) {
  constexpr double kHarmless = 10;  // times the clip: below, a step is a tenth of its size or more
  if (clip_ > 0 && outcome.gradient_norm < kHarmless * clip_) return false;
  if (gradient_told_ > 0 && moment.step - gradient_told_ < kCheckUpEvery) return false;
  gradient_told_ = moment.step;
  return true;
}

bool Monitor::judge(const Moment& moment, const Outcome& outcome) {
  if (!std::isfinite(outcome.loss) || !std::isfinite(outcome.gradient_norm)) {
    report_nonfinite(moment, outcome);
    return false;
  }
  if (first_loss_ == 0) first_loss_ = outcome.loss;
  const auto loss = loss_.see(outcome.loss);
  const auto gradient = gradient_.see(outcome.gradient_norm);
  if (moment.step <= kFirstSteps && outcome.loss > 2 * first_loss_) {
    return report_jump(moment, "explosion",
                       text("loss ", with_digits(outcome.loss, 4),
                            " is more than twice the first one, ", with_digits(first_loss_, 4)));
  }
  if (loss) return report_jump(moment, "spike", words("loss", outcome.loss, *loss));
  if (gradient && tells_gradient(moment, outcome)) {
    return report_jump(moment, "gradient_spike",
                       words("gradient norm", outcome.gradient_norm, *gradient));
  }
  if (moment.step == 1 || moment.step % kCheckUpEvery == 0) check_up(moment);
  return true;
}

void Monitor::report_nonfinite(const Moment& moment, const Outcome& outcome) {
  auto trouble = origin_of_nonfinite(*model_, *parameters_, *moment.gradients, *moment.batch);
  trouble.event = "nonfinite";
  trouble.seen = text("loss ", with_digits(outcome.loss, 4), ", gradient norm ",
                      with_digits(outcome.gradient_norm, 4), ": the step was skipped");
  const bool is_early = moment.step <= kFirstSteps;
  if (is_early && trouble.remedy.starts_with("lower")) trouble.remedy = kFirstRemedy;
  report(std::move(trouble));
}

/// \return whether the update may be made
bool Monitor::report_jump(const Moment& moment, const std::string& event, std::string seen) {
  auto trouble = origin_of_spike(*model_, *parameters_, *moment.gradients, *moment.batch,
                                 moment.first_sequence, usual_);
  trouble.event = event;
  trouble.seen = std::move(seen);
  if (event == "explosion") trouble.remedy = kFirstRemedy;
  const bool applies = options_.on_spike == "warn" || event == "gradient_spike";
  if (!applies) trouble.seen += ": the step was skipped";
  report(std::move(trouble));
  return applies;
}

void Monitor::check_up(const Moment& moment) {
  usual_ = lengths_of(*parameters_, *moment.gradients);
  std::set<std::string> lasting;
  for (auto& trouble : check_up_(moment.step, *moment.batch, *moment.gradients)) {
    const auto key = text(trouble.event, " ", trouble.layer, " ", trouble.tensor);
    lasting.insert(key);
    if (!told_.contains(key)) report(std::move(trouble));
  }
  told_ = std::move(lasting);
}

std::vector<Trouble> Monitor::take() {
  return std::exchange(troubles_, {});
}

nlohmann::json Monitor::state() const {
  auto usual = nlohmann::json::object();
  for (const auto& [name, lengths] : usual_) usual[name] = {lengths.weight, lengths.gradient};
  return {{"losses", loss_.state()},
          {"gradient_told", gradient_told_},
          {"gradients", gradient_.state()},
          {"first_loss", first_loss_},
          {"first_scores", check_up_.first_scores()},
          {"told", told_},
          {"usual", usual}};
}

void Monitor::restore(const nlohmann::json& state) {
  loss_.restore(state.at("losses"));
  gradient_.restore(state.at("gradients"));
  gradient_told_ = state.at("gradient_told").get<std::int64_t>();
  first_loss_ = state.at("first_loss").get<double>();
  check_up_.set_first_scores(state.at("first_scores").get<std::vector<double>>());
  told_ = state.at("told").get<std::set<std::string>>();
  usual_.clear();
  for (const auto& [name, lengths] : state.at("usual").items()) {
    usual_[name] = {lengths.at(0).get<double>(), lengths.at(1).get<double>()};
  }
}

}  // namespace evenkeel::train
