// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "evenkeel/base/error.h"
#include "evenkeel/base/philox.h"

namespace evenkeel::generate {

std::int64_t pick(const std::vector<double>& logits, const Sampling& sampling,
                  std::uint64_t position, std::uint64_t sequence) {
  EK_ASSERT(!logits.empty());
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  const double largest = logits[order.front()];
  if (!std::isfinite(largest)) {
    throw Error(Exit::diverged, text("generate: the logits at position ", position,
                                     " are not finite; the model has diverged"));
  }
  if (sampling.temperature == 0) return static_cast<std::int64_t>(order.front());
  if (sampling.top_k > 0 && static_cast<std::size_t>(sampling.top_k) < order.size()) {
    order.resize(static_cast<std::size_t>(sampling.top_k));
  }
  std::vector<double> weights;
  for (const auto token : order) {
    weights.push_back(std::exp((logits[token] - largest) / sampling.temperature));
  }
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double kept = 0;
  std::size_t count = 0;
  while (count < weights.size() && (count == 0 || kept < sampling.top_p * total)) {
    kept += weights[count++];
  }
  const double mark = Philox(sampling.seed, "sample").uniform(position, sequence) * kept;
  double passed = 0;
  for (std::size_t i = 0; i < count; ++i) {
    passed += weights[i];
    if (mark < passed) return static_cast<std::int64_t>(order[i]);
  }
  return static_cast<std::int64_t>(order[count - 1]);
}

}  // namespace evenkeel::generate
