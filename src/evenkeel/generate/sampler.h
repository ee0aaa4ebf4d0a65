// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace evenkeel::generate {

/// How the next token is sampled from the logits.
struct Sampling {
  double temperature = 1;  // 0: always the likeliest
  std::int64_t top_k = 0;  // only so many likeliest tokens; 0: all
  double top_p = 1;        // only the likeliest tokens that together have this probability
  std::uint64_t seed = 1;
};

/// The token sampled at `position` of sequence `sequence`: a pure function of the logits, the
/// seed and the position. Equal logits are taken in the order of their tokens.
/// \throws Error (diverged) for a logit that is NaN or +inf, or if all are -inf
std::int64_t sample_token(const std::vector<double>& logits, const Sampling& sampling,
                          std::uint64_t position, std::uint64_t sequence = 0);

}  // namespace evenkeel::generate
