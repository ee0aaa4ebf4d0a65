// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/stragglers.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "evenkeel/base/error.h"

namespace evenkeel::comm {

namespace {

constexpr int kStragglerSteps = 50;
constexpr double kStragglerFactor = 1.25;

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

std::string straggler_text(const Straggler& straggler, const std::string& host) {
  std::ostringstream factor;
  factor << std::fixed << std::setprecision(1) << straggler.factor;
  return text("rank ", straggler.rank, " (", host, ") took ", factor.str(),
              " times the median of the others in ", straggler.steps, " steps");
}

std::optional<Straggler> Stragglers::add(const std::vector<double>& seconds) {
  if (sums_.size() < 2) return std::nullopt;
  for (std::size_t rank = 0; rank < sums_.size(); ++rank) sums_[rank] += seconds[rank];
  if (++steps_ < kStragglerSteps) return std::nullopt;
  const auto slowest = std::max_element(sums_.begin(), sums_.end());
  const Straggler found = {.rank = static_cast<int>(slowest - sums_.begin()), .steps = steps_};
  const double time = *slowest;
  sums_.erase(slowest);
  const double factor = time / median_of(sums_);
  sums_.assign(seconds.size(), 0);
  steps_ = 0;
  if (!(factor >= kStragglerFactor)) return std::nullopt;
  return Straggler{found.rank, factor, found.steps};
}

}  // namespace evenkeel::comm
