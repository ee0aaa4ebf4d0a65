// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/end_loss.h"

#include <algorithm>
#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/report/page_parts.h"

namespace evenkeel::report {

namespace {

/// The x of the first of the values at the end that are not finite; nullopt if the last one is
/// finite, or there is none.
std::optional<double> start_of_last_gap(const Series& series) {
  auto at = series.size();
  while (at > 0 && !std::isfinite(series.y[at - 1])) --at;
  return at == series.size() ? std::nullopt : std::optional(series.x[at]);
}

/// The failure that begins at a step; at the last step of a run that diverged with finite losses.
Failure failure_at(const Run& run, std::optional<double> since) {
  if (since) return {"not finite", text("since step ", with_commas(std::llround(*since)))};
  return {"diverged", text("at step ", with_commas(std::llround(run.step)))};
}

}  // namespace

EndLoss end_validation(const Run& run) {
  const auto& own = run.validation_loss;
  const auto of_training = start_of_last_gap(run.loss);
  auto since = start_of_last_gap(own);
  const bool is_newer = of_training && (own.size() == 0 || own.x.back() < run.loss.x.back());
  if (!since && !is_newer && run.state != "diverged") return {.value = last_finite(own.y)};
  if (of_training) since = std::min(*of_training, since.value_or(*of_training));
  return {.failure = failure_at(run, since)};
}

EndLoss end_training(const Run& run) {
  const auto since = start_of_last_gap(run.loss);
  if (since || run.state == "diverged") return {.failure = failure_at(run, since)};
  return {.value = mean_of_last(run.loss.y, end_training_count(run))};
}

std::size_t end_training_count(const Run& run) {
  constexpr std::size_t kPart = 20, kMost = 20;  // a twentieth: 5 %
  return std::clamp<std::size_t>(run.loss.size() / kPart, 1, kMost);
}

std::string failure_text(const Failure& failure) {
  return text(failure.what, ' ', failure.when);
}

std::string end_loss_text(const EndLoss& loss) {
  return loss.failure ? failure_text(*loss.failure) : loss_text(loss.value);
}

}  // namespace evenkeel::report
