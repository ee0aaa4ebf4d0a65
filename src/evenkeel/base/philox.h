// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace evenkeel {

/// The Philox4x32-10 generator: four random words from a counter of four words and a key of two.
/// \source Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", section 3.3
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

/// A named stream of random numbers. Each number is a pure function of (seed, name, counter),
/// without state between calls. Resumed runs, other thread counts and other orders of calls
/// therefore get the same numbers.
class Philox {
 public:
  /// \param name  purpose of the stream: "init/embedding.weight", "data", "sample"
  Philox(std::uint64_t seed, std::string_view name);

  /// Four independent 32-bit words for a 128-bit counter.
  std::array<std::uint32_t, 4> words(std::uint64_t low, std::uint64_t high = 0) const;

  /// Uniform in [0, 1), 53 bits.
  double uniform(std::uint64_t low, std::uint64_t high = 0) const;

  /// Standard normal (Box-Muller, cosine branch).
  double normal(std::uint64_t low, std::uint64_t high = 0) const;

  /// Uniform in 0 .. bound - 1, by multiplication of a 64-bit word; bound > 0. The relative bias is
  /// below bound / 2^64.
  std::uint64_t below(std::uint64_t bound, std::uint64_t low, std::uint64_t high = 0) const;

 private:
  std::array<std::uint32_t, 2> key_;
};

/// The image of `index` under a pseudorandom permutation of 0 .. size - 1, computed without a
/// table: a Feistel network of 6 rounds over the next power of four, with cycle walking.
std::uint64_t permuted(std::uint64_t index, std::uint64_t size, const Philox& random,
                       std::uint64_t epoch);

}  // namespace evenkeel
