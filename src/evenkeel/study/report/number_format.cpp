// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/number_format.h"

#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/report/html.h"
#include "evenkeel/study/analysis/ranking.h"
#include "evenkeel/study/report/outcome.h"

namespace evenkeel::study {

namespace {

constexpr int kDecimals = 4;

bool is_time(const Measure& measure) {
  return measure.kind == Measure::Kind::step_time;
}

/// A value with the decimals of its measure.
std::string digits(double value, const Measure& measure) {
  if (!std::isfinite(value)) return kNoValue;
  const bool has_places = measure.kind != Measure::Kind::probe && !is_time(measure);
  return has_places ? report::fixed(value, kDecimals) : with_digits(value, kDecimals);
}

std::string signed_text(double difference, const Measure& measure) {
  const double value = display_difference(difference, measure);
  return (value > 0 ? "+" : "") + digits(value, measure);
}

std::string with_unit(const std::string& name, const std::string& unit) {
  return name + (unit.empty() ? "" : ", " + unit);
}

}  // namespace

double display_value(double value, const Measure& measure) {
  if (uses_sign_flips(measure)) return std::exp2(value);  // in doublings
  return is_time(measure) ? std::exp(value) : value;
}

double value_of_display(double displayed, const Measure& measure) {
  if (uses_sign_flips(measure)) return std::log2(displayed);
  return is_time(measure) ? std::log(displayed) : displayed;
}

double display_difference(double difference, const Measure& measure) {
  constexpr double kHundred = 100;
  return is_time(measure) ? kHundred * std::expm1(difference) : difference;
}

std::string number_text(double value, const Measure& measure) {
  return digits(display_value(value, measure), measure);
}

std::string mean_text(const std::vector<double>& values, const Measure& measure) {
  if (values.empty()) return kNoValue;
  if (values.size() == 1) return number_text(values.front(), measure) + " (one run)";
  const auto mean = mean_estimate(values);
  return text(number_text(mean.mean, measure), " [", number_text(mean.interval.low, measure), ", ",
              number_text(mean.interval.high, measure), "]");
}

std::string difference_text(const PairedDifference& difference, const Measure& measure) {
  const auto& interval = difference.interval;
  return text(signed_text(difference.mean, measure), " [", signed_text(interval.low, measure), ", ",
              signed_text(interval.high, measure), is_time(measure) ? "] %" : "]");
}

std::string p_text(double p) {
  constexpr double kSmallest = 0.001;
  constexpr int kPlaces = 3;
  return p < kSmallest ? "< 0.001" : report::fixed(p, kPlaces);
}

std::string effect_text(double effect_size) {
  if (std::isinf(effect_size)) return effect_size > 0 ? "∞" : "-∞";
  return report::fixed(effect_size, 2);
}

std::string plain_difference_text(double difference, const Measure& measure) {
  return signed_text(difference, measure) + (is_time(measure) ? " %" : "");
}

std::string unfinished_runs_text(const Arm& arm, std::int64_t less_failed) {
  using State = SeedRun::State;
  std::string out;
  for (const auto state : {State::failed, State::crashed, State::missing}) {
    const auto count = run_count(arm, state) - (state == State::failed ? less_failed : 0);
    if (count > 0) out += text(out.empty() ? "" : ", ", count, ' ', to_string(state));
  }
  return out;
}

std::string finished_runs_text(const Arm& arm) {
  const auto unfinished = unfinished_runs_text(arm);
  return text(run_count(arm, SeedRun::State::finished), " of ", arm.seed_runs.size(),
              unfinished.empty() ? "" : "; ", unfinished);
}

std::string measure_text(const Measure& measure) {
  return with_unit(measure.name(), measure.unit());
}

std::string difference_measure_text(const Measure& measure) {
  return with_unit(measure.name(), measure.difference_unit());
}

}  // namespace evenkeel::study
