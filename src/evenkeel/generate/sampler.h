// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace evenkeel::generate {

/// The method that samples the next token from logits.
struct Sampling {
  double temperature = 1;  // divides the logits; 0: greedy decoding
  std::int64_t top_k = 0;  // number of most probable tokens to sample from; 0: all
  double top_p = 1;        // nucleus: the fewest most probable tokens of this total probability
  std::uint64_t seed = 1;  // of the random stream "sample"
};

/// Samples the token at `position` of text number `sequence`: first top-k, then top-p. The result
/// is a pure function of the arguments. Tokens with equal logits are ordered by their ids.
/// \param logits  [V]
/// \return a token id, 0 to V - 1
/// \source Holtzman et al. 2020, arXiv:1904.09751, section 3 (nucleus sampling)
/// \throws Error (diverged) for a logit that is NaN or +inf, or if all are -inf
std::int64_t sample_token(const std::vector<double>& logits, const Sampling& sampling,
                          std::uint64_t position, std::uint64_t sequence = 0);

}  // namespace evenkeel::generate
