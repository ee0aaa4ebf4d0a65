// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace evenkeel::generate {

/// The method that samples the next token from logits.
struct Sampling {
  double temperature = 1;  // 0: always the token with the largest logit
  std::int64_t top_k = 0;  // only the top_k most probable tokens; 0: all
  double top_p = 1;        // nucleus sampling: the most probable tokens with this total probability
  std::uint64_t seed = 1;
};

/// Samples a token: a pure function of logits, seed, sequence and position. Equal logits are
/// ordered by token.
/// \throws Error (diverged, exit code 76) if a logit is NaN or +inf, or if all logits are -inf
std::int64_t sample_token(const std::vector<double>& logits, const Sampling& sampling,
                          std::uint64_t position, std::uint64_t sequence = 0);

}  // namespace evenkeel::generate
