// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/step_ranges.h"

#include <cstddef>
#include <utility>

#include "evenkeel/base/error.h"

namespace evenkeel::store {

namespace {

constexpr std::size_t kMaxProgressions = 1000;
constexpr std::int64_t kMaxSteps = 10'000'000;

/// "40 to 60, 80 and 3 more ranges"
std::string ranges_text(const std::vector<std::pair<std::int64_t, std::int64_t>>& ranges) {
  constexpr std::size_t kShown = 4;
  std::string out;
  for (std::size_t i = 0; i < ranges.size() && i < kShown; ++i) {
    const auto& [first, last] = ranges[i];
    out += text(i == 0 ? "" : ", ", first);
    if (last != first) out += text(" to ", last);
  }
  if (ranges.size() > kShown) out += text(" and ", ranges.size() - kShown, " more ranges");
  return out;
}

}  // namespace

void StepRanges::add(std::int64_t step) {
  if (all_.empty()) {
    all_.push_back({step, step, 1});
    return;
  }
  auto& newest = all_.back();
  if (step <= newest.last) return;
  const bool has_one = newest.first == newest.last;
  if (has_one || step - newest.last == newest.stride) {
    newest = {newest.first, step, has_one ? step - newest.first : newest.stride};
    return;
  }
  all_.push_back({step, step, 1});
  if (all_.size() > kMaxProgressions) all_.erase(all_.begin());
}

nlohmann::json StepRanges::json() const {
  auto out = nlohmann::json::array();
  for (const auto& each : all_) out.push_back({each.first, each.last, each.stride});
  return out;
}

std::optional<StepRanges> StepRanges::from_json(const nlohmann::json& value) {
  if (!value.is_array() || value.size() > kMaxProgressions) return std::nullopt;
  StepRanges out;
  std::int64_t count = 0, before = -1;
  for (const auto& each : value) {
    const auto is_step = [](const nlohmann::json& number) {
      return number.is_number_integer() && number.get<std::int64_t>() >= 0;
    };
    if (!each.is_array() || each.size() != 3) return std::nullopt;
    if (!is_step(each[0]) || !is_step(each[1]) || !is_step(each[2])) return std::nullopt;
    const Progression steps = {each[0].get<std::int64_t>(), each[1].get<std::int64_t>(),
                               each[2].get<std::int64_t>()};
    if (steps.first <= before || steps.last < steps.first || steps.stride < 1) return std::nullopt;
    const auto more = (steps.last - steps.first) / steps.stride;
    if (more >= kMaxSteps - count) return std::nullopt;
    count += more + 1;
    before = steps.last;
    out.all_.push_back(steps);
  }
  return out;
}

std::string StepRanges::missing_from(const std::set<std::int64_t>& found) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  bool follows = false;  // the step before this one is missing
  for (const auto& each : all_) {
    for (auto step = each.first;; step += each.stride) {
      const bool is_missing = !found.contains(step);
      if (is_missing && follows) ranges.back().second = step;
      if (is_missing && !follows) ranges.emplace_back(step, step);
      follows = is_missing;
      if (each.last - step < each.stride) break;
    }
  }
  if (ranges.empty()) return "";
  const bool is_one = ranges.size() == 1 && ranges.front().first == ranges.front().second;
  return text(is_one ? "step " : "steps ", ranges_text(ranges));
}

}  // namespace evenkeel::store
