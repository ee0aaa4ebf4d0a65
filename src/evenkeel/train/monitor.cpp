// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/monitor.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "evenkeel/base/error.h"

namespace evenkeel::train {

namespace {

constexpr std::int64_t kCheckUpEvery = 50;
constexpr std::int64_t kFirstSteps = 20;  // as long as the spike detector is silent
/// A gradient may jump tenfold in a healthy run; clipping is there for it.
constexpr SpikeDetector::Limits kOfGradients = {.deviations = 20, .relative = 19};

std::string short_text(double value) {
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), "%.4g", value);
  return out.data();
}

constexpr const char* kFirstRemedy =
    "a lower schedule.peak, a longer schedule.warmup, and model.init = \"scheme\"";

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
  const auto& [step, batch, first_sequence, gradients] = moment;
  if (!std::isfinite(outcome.loss) || !std::isfinite(outcome.gradient_norm)) {
    auto trouble = origin_of_nonfinite(*model_, *parameters_, *gradients, *batch);
    trouble.event = "nonfinite";
    trouble.seen = text("loss ", short_text(outcome.loss), ", gradient norm ",
                        short_text(outcome.gradient_norm), ": the step was skipped");
    if (step <= kFirstSteps && trouble.remedy.starts_with("lower")) trouble.remedy = kFirstRemedy;
    report(std::move(trouble));
    return false;
  }
  bool apply = true;
  if (first_loss_ == 0) first_loss_ = outcome.loss;
  const auto loss = loss_.see(outcome.loss);
  auto gradient = gradient_.see(outcome.gradient_norm);
  if (gradient && !loss && !tells_gradient(moment, outcome)) gradient.reset();
  const bool explodes = step <= kFirstSteps && outcome.loss > 2 * first_loss_;
  if (loss || gradient || explodes) {
    auto trouble =
        origin_of_spike(*model_, *parameters_, *gradients, *batch, first_sequence, usual_);
    trouble.event = explodes ? "explosion" : loss ? "spike" : "gradient_spike";
    if (explodes) trouble.remedy = kFirstRemedy;
    const auto& spike = loss ? loss : gradient;
    trouble.seen = explodes ? text("loss ", short_text(outcome.loss),
                                   " is more than twice the first one, ", short_text(first_loss_))
                            : text(loss ? "loss " : "gradient norm ",
                                   short_text(loss ? outcome.loss : outcome.gradient_norm), " is ",
                                   short_text(spike->deviations), " deviations above the usual ",
                                   short_text(spike->median));
    apply = options_.on_spike == "warn" || trouble.event == "gradient_spike";
    if (!apply) trouble.seen += ": the step was skipped";
    report(std::move(trouble));
  } else if (step == 1 || step % kCheckUpEvery == 0) {
    check_up(moment);
  }
  return apply;
}

void Monitor::check_up(const Moment& moment) {
  usual_ = lengths_of(*parameters_, *moment.gradients);
  std::set<std::string> lasting;
  for (auto& trouble : check_up_(*moment.batch, *moment.gradients)) {
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
