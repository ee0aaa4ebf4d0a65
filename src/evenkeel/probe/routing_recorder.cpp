// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/routing_recorder.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <numeric>

#include "evenkeel/ops/common/serial_libraries.h"
#include "evenkeel/probe/activation_stats.h"

namespace evenkeel::probe {

namespace {

/// Of a router in RoutingRecorder::values(): block, experts, entropy, tokens, largest logit; then
/// the tokens of each expert.
constexpr std::size_t kFields = 5;

}  // namespace

double RoutingStats::max_load(std::size_t i) const {
  const auto& counts = tokens.at(i);
  const auto all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const auto most = *std::max_element(counts.begin(), counts.end());
  return static_cast<double>(most) * static_cast<double>(counts.size()) / static_cast<double>(all);
}

double RoutingStats::dead_share(std::size_t i) const {
  const auto& counts = tokens.at(i);
  return static_cast<double>(std::count(counts.begin(), counts.end(), 0)) /
         static_cast<double>(counts.size());
}

void RoutingRecorder::record(std::int64_t l, const nn::Routing& routing) {
  const at::NoGradGuard no_grad;
  auto found = std::find_if(routers_.begin(), routers_.end(),
                            [&](const Router& router) { return router.l == l; });
  if (found == routers_.end()) {
    routers_.push_back({.counts = {}, .entropy = {}, .largest = {}, .l = l});
    found = routers_.end() - 1;
  }
  const auto counts = routing.assignment.tokens_per_expert();
  found->counts = found->counts.defined() ? found->counts + counts : counts;
  const auto& p = routing.probabilities;
  const ops::SerialLibraries one_thread;
  // xlogy: 0 ln 0 is 0
  const auto entropy = at::xlogy(p, p).sum(-1).to(at::kDouble).sum().neg();
  const auto largest = routing.logits.abs().max().to(at::kDouble);
  const bool is_first = !found->entropy.defined();
  found->entropy = is_first ? entropy : found->entropy + entropy;
  found->largest = is_first ? largest : at::maximum(found->largest, largest);  // NaN stays NaN
  found->tokens += static_cast<double>(p.size(0));
}

void RoutingRecorder::add(const std::vector<double>& values) {
  for (std::size_t at = 0; at < values.size();) {
    const auto l = static_cast<std::int64_t>(values[at]);
    const auto experts = static_cast<std::size_t>(values[at + 1]);
    const auto* const counts = values.data() + at + kFields;
    const auto tokens = at::tensor(std::vector<std::int64_t>(counts, counts + experts), at::kLong);
    auto found = std::find_if(routers_.begin(), routers_.end(),
                              [&](const Router& router) { return router.l == l; });
    if (found == routers_.end()) {
      const auto zero = at::zeros({}, at::kDouble);
      routers_.push_back(
          {.counts = at::zeros_like(tokens), .entropy = zero, .largest = zero.clone(), .l = l});
      found = routers_.end() - 1;
    }
    found->counts = found->counts + tokens;
    found->entropy = found->entropy + values[at + 2];
    found->tokens += values[at + 3];
    found->largest = at::maximum(found->largest, at::scalar_tensor(values[at + 4], at::kDouble));
    at += kFields + experts;
  }
}

std::vector<double> RoutingRecorder::sums_of(const Router& router) {
  const auto numbers =
      at::cat({at::stack({router.entropy, router.largest}), router.counts.to(at::kDouble)}).cpu();
  const auto* const read = numbers.const_data_ptr<double>();
  std::vector<double> sums = {static_cast<double>(router.l),
                              static_cast<double>(router.counts.numel()), read[0], router.tokens,
                              read[1]};
  sums.insert(sums.end(), read + 2, read + numbers.numel());
  return sums;
}

std::vector<double> RoutingRecorder::values() const {
  std::vector<double> values;
  for (const auto& router : routers_) {
    const auto sums = sums_of(router);
    values.insert(values.end(), sums.begin(), sums.end());
  }
  return values;
}

RoutingStats RoutingRecorder::stats() const {
  RoutingStats stats;
  for (const auto& router : routers_) {
    const auto sums = sums_of(router);
    stats.blocks.push_back(router.l);
    stats.tokens.emplace_back(sums.begin() + kFields, sums.end());
    stats.entropy.push_back(sums[2] / router.tokens);
    stats.largest_logit.push_back(sums[4]);
  }
  return stats;
}

}  // namespace evenkeel::probe
