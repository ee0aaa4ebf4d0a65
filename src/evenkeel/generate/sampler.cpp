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

/// Refuses NaN, which cannot be sorted, and +inf, whose softmax is NaN. A logit of -inf is allowed:
/// its token has the probability 0.
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

/// The `top_k` likeliest tokens, or all for 0, in descending order of logits; those of equal
/// logits by ascending token.
std::vector<std::size_t> likeliest(const std::vector<double>& logits, std::int64_t top_k) {
  struct Candidate {
    double logit;
    std::size_t token;
  };
  std::vector<Candidate> candidates(logits.size());
  for (std::size_t token = 0; token < logits.size(); ++token)
    candidates[token] = {logits[token], token};
  const auto is_likelier = [](const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
  };
  const auto is_cut = top_k > 0 && static_cast<std::size_t>(top_k) < candidates.size();
  const auto end = is_cut ? candidates.begin() + top_k : candidates.end();
  if (is_cut) std::nth_element(candidates.begin(), end, candidates.end(), is_likelier);
  std::sort(candidates.begin(), end, is_likelier);
  std::vector<std::size_t> tokens(static_cast<std::size_t>(end - candidates.begin()));
  std::transform(candidates.begin(), end, tokens.begin(),
                 [](const Candidate& each) { return each.token; });
  return tokens;
}

}  // namespace

std::int64_t sample_token(const std::vector<double>& logits, const Sampling& sampling,
                          std::uint64_t position, std::uint64_t sequence) {
  check(logits, position);
  if (sampling.temperature == 0) {
    return std::max_element(logits.begin(), logits.end()) - logits.begin();
  }
  const auto order = likeliest(logits, sampling.top_k);
  const double largest = logits[order.front()];
  std::vector<double> weights;
  weights.reserve(order.size());
  for (const auto token : order) {
    weights.push_back(std::exp((logits[token] - largest) / sampling.temperature));
  }
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double top_p_mass = 0;  // of the first `count` tokens; at least one token remains
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
