// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
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
                       token, " has ", with_digits(logits[token], 6),
                       "; the model has diverged: train with a lower schedule.peak"));
    }
    any = any || std::isfinite(logits[token]);
  }
  if (any) return;
  throw Error(Exit::diverged,
              text("generate: wanted finite logits at position ", position,
                   ", but all are -inf; the model has diverged: train with a lower schedule.peak"));
}

struct Candidate {
  double logit;
  std::size_t token;
};

// A lambda, because sorting would call a function by its address.
constexpr auto kIsLikelier = [](const Candidate& a, const Candidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
};

/// The `top_k` likeliest tokens, or all for 0, in any order.
std::vector<Candidate> likeliest(const std::vector<double>& logits, std::int64_t top_k) {
  std::vector<Candidate> candidates(logits.size());
  for (std::size_t token = 0; token < logits.size(); ++token)
    candidates[token] = {logits[token], token};
  if (top_k > 0 && static_cast<std::size_t>(top_k) < candidates.size()) {
    std::nth_element(candidates.begin(), candidates.begin() + top_k, candidates.end(), kIsLikelier);
    candidates.resize(static_cast<std::size_t>(top_k));
  }
  return candidates;
}

/// Candidates of which the first ones are sorted. A weight is proportional to a probability.
class SortedPrefix {
 public:
  SortedPrefix(std::vector<Candidate> candidates, double temperature)
      : candidates_(std::move(candidates)), temperature_(temperature) {
    largest_ = std::min_element(candidates_.begin(), candidates_.end(), kIsLikelier)->logit;
    if (is_all(first_size())) return;  // grow() computes the total
    for (const auto& each : candidates_) total_ += weight_of(each);
  }

  /// Sorts some candidates, then eight times as many at each call.
  void grow() {
    constexpr std::size_t kFactor = 8;
    const auto done = weights_.size();
    const auto size = done == 0 ? first_size() : std::min(kFactor * done, count());
    const auto begin = candidates_.begin() + static_cast<std::ptrdiff_t>(done);
    const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(size);
    if (!is_all(size)) std::nth_element(begin, end, candidates_.end(), kIsLikelier);
    std::sort(begin, end, kIsLikelier);
    weights_.reserve(size);
    for (auto i = done; i < size; ++i) weights_.push_back(weight_of(candidates_[i]));
    if (is_all(size)) total_ = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  }

  /// The candidate that `uniform` draws from those whose total probability reaches top_p, in
  /// descending order. nullopt: it is not in the prefix, or rounding could change it. The sum of n
  /// weights depends on their order by a factor of 1 +- 2 n epsilon at most.
  std::optional<std::size_t> draw(double uniform, double top_p) const {
    const bool has_all = is_all(weights_.size());
    const double rounding =
        has_all ? 0 : 2 * static_cast<double>(count()) * std::numeric_limits<double>::epsilon();
    double low = total_ * (1 - rounding), high = total_ * (1 + rounding);  // the mass to draw from
    std::size_t nucleus = weights_.size();
    if (has_all || top_p < 1) {
      double mass = 0;
      for (nucleus = 0; nucleus < weights_.size() && (nucleus == 0 || mass < top_p * low);)
        mass += weights_[nucleus++];
      if (!has_all && mass < top_p * high) return std::nullopt;
      low = high = mass;
    }
    double before = 0;
    for (std::size_t i = 0; i < nucleus; ++i) {
      const double cumulative = before + weights_[i];
      if (uniform * high < cumulative) {
        if (uniform * low < before) return std::nullopt;
        return candidates_[i].token;
      }
      before = cumulative;
    }
    if (low != high) return std::nullopt;
    return candidates_[nucleus - 1].token;
  }

 private:
  std::size_t count() const { return candidates_.size(); }
  bool is_all(std::size_t size) const { return size == candidates_.size(); }
  /// All of a few candidates, whose selection would take as long as sorting them.
  std::size_t first_size() const {
    constexpr std::size_t kFew = 2048, kFirst = 256;
    return count() <= kFew ? count() : kFirst;
  }
  double weight_of(const Candidate& each) const {
    return std::exp((each.logit - largest_) / temperature_);
  }

  std::vector<Candidate> candidates_;
  double temperature_, largest_ = 0;
  double total_ = 0;             // of all weights; summed in descending order once all are sorted
  std::vector<double> weights_;  // of the sorted candidates
};

}  // namespace

std::int64_t sample_token(const std::vector<double>& logits, const Sampling& sampling,
                          std::uint64_t position, std::uint64_t sequence) {
  check(logits, position);
  if (sampling.temperature == 0) {
    return std::max_element(logits.begin(), logits.end()) - logits.begin();
  }
  const double uniform = Philox(sampling.seed, "sample").uniform(position, sequence);
  SortedPrefix prefix(likeliest(logits, sampling.top_k), sampling.temperature);
  for (;;) {
    prefix.grow();
    if (const auto token = prefix.draw(uniform, sampling.top_p))
      return static_cast<std::int64_t>(*token);
  }
}

}  // namespace evenkeel::generate
