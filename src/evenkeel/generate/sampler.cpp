// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "evenkeel/base/error.h"
#include "evenkeel/base/philox.h"

namespace evenkeel::generate {

namespace {

/// Refuses NaN, which cannot be sorted, and +inf, whose softmax is NaN. A token with -inf is never
/// sampled.
void check(const std::vector<double>& logits, std::uint64_t position) {
  EK_ASSERT(!logits.empty());
  bool any = false;
  for (std::size_t token = 0; token < logits.size(); ++token) {
    if (!(logits[token] < std::numeric_limits<double>::infinity())) {
      throw Error(Exit::diverged,
                  text("generate: wanted finite logits at position ", position, ", but token ",
                       token, " has ", logits[token],
                       "; the model has diverged: train with a lower schedule.peak"));
    }
    any = any || std::isfinite(logits[token]);
  }
  if (any) return;
  throw Error(Exit::diverged,
              text("generate: wanted finite logits at position ", position,
                   ", but all are -inf; the model has diverged: train with a lower schedule.peak"));
}

}  // namespace

std::int64_t sample_token(const std::vector<double>& logits, const Sampling& sampling,
                          std::uint64_t position, std::uint64_t sequence) {
  check(logits, position);
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  const double largest = logits[order.front()];
  if (sampling.temperature == 0) return static_cast<std::int64_t>(order.front());
  if (sampling.top_k > 0 && static_cast<std::size_t>(sampling.top_k) < order.size()) {
    order.resize(static_cast<std::size_t>(sampling.top_k));
  }
  std::vector<double> weights;
  for (const auto token : order) {
    weights.push_back(std::exp((logits[token] - largest) / sampling.temperature));
  }
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double top_p_mass = 0;
  std::size_t count = 0;
  while (count < weights.size() && (count == 0 || top_p_mass < sampling.top_p * total)) {
    top_p_mass += weights[count++];
  }
  const double threshold = Philox(sampling.seed, "sample").uniform(position, sequence) * top_p_mass;
  double cumulative = 0;
  for (std::size_t i = 0; i < count; ++i) {
    cumulative += weights[i];
    if (threshold < cumulative) return static_cast<std::int64_t>(order[i]);
  }
  return static_cast<std::int64_t>(order[count - 1]);
}

}  // namespace evenkeel::generate
