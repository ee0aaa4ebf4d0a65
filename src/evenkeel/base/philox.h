// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace evenkeel {

/// Philox4x32-10: four random words for a counter of four words and a key of two.
/// \source Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", section 3.3
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

/// Random numbers as a pure function of (seed, name of the stream, counter). There is no state from
/// draw to draw, so the numbers are equal in a resumed run, with any number of threads and in any
/// order of drawing.
class Philox {
 public:
  /// \param name  what the numbers are for: "init/embedding.weight", "data", "sample"
  Philox(std::uint64_t seed, std::string_view name);

  /// Four independent 32-bit words for a counter of 128 bits.
  std::array<std::uint32_t, 4> words(std::uint64_t low, std::uint64_t high = 0) const;

  /// Uniform in [0, 1), 53 bits.
  double uniform(std::uint64_t low, std::uint64_t high = 0) const;

  /// Standard normal (Box and Muller, cosine branch).
  double normal(std::uint64_t low, std::uint64_t high = 0) const;

  /// Uniform in 0 .. bound - 1; bound > 0, bias below 2^-32 of bound / 2^32.
  std::uint64_t below(std::uint64_t bound, std::uint64_t low, std::uint64_t high = 0) const;

 private:
  std::array<std::uint32_t, 2> key_;
};

/// A permutation of 0 .. size - 1 that is computed, not stored: the place of `index` in it.
/// A Feistel network of 6 rounds over the next power of four, walked until it lands inside.
std::uint64_t permuted(std::uint64_t index, std::uint64_t size, const Philox& random,
                       std::uint64_t epoch);

}  // namespace evenkeel
