// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/sign_flip.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "evenkeel/base/philox.h"

namespace evenkeel::study {

namespace {

/// The share of the assignments whose sum is at least `least` in size. Consecutive assignments
/// differ in one sign (Gray code). The first sign is fixed: the other half has the negative sums.
double exact_share(std::vector<double> signed_values, double least) {
  double sum = 0;
  for (const double value : signed_values) sum += value;
  const auto all = std::uint64_t{1} << (signed_values.size() - 1);
  std::uint64_t reached = 0;
  for (std::uint64_t i = 1; i <= all; ++i) {
    if (std::abs(sum) >= least) ++reached;
    if (i == all) break;
    auto& flipped = signed_values[1 + static_cast<std::size_t>(std::countr_zero(i))];
    sum -= 2 * flipped;
    flipped = -flipped;
  }
  return static_cast<double>(reached) / static_cast<double>(all);
}

double random_share(const std::vector<double>& differences, double least) {
  constexpr std::uint64_t kSeed = 1;
  constexpr std::size_t kWordBits = 32, kWords = 4;  // of one call of Philox
  const Philox random(kSeed, "study/sign_flip");
  std::int64_t reached = 1;  // the observed assignment
  for (std::uint64_t i = 0; i < kRandomFlips; ++i) {
    double sum = 0;
    for (std::size_t first = 0; first < differences.size(); first += kWordBits * kWords) {
      const auto words = random.words(first, i);
      for (auto j = first; j < std::min(differences.size(), first + kWordBits * kWords); ++j) {
        const auto bit = j - first;
        const bool is_negative = ((words.at(bit / kWordBits) >> (bit % kWordBits)) & 1U) != 0;
        sum += is_negative ? -differences[j] : differences[j];
      }
    }
    if (std::abs(sum) >= least) ++reached;
  }
  return static_cast<double>(reached) / (kRandomFlips + 1);
}

}  // namespace

double sign_flip_p(const std::vector<double>& differences) {
  if (differences.empty()) return 1;
  double sum = 0, size = 0;
  for (const double value : differences) {
    sum += value;
    size += std::abs(value);
  }
  constexpr double kRounding = 1e-9;  // of the sums along the Gray code
  const double least = std::abs(sum) - kRounding * size;
  return differences.size() <= kExactFlipPairs ? exact_share(differences, least)
                                               : random_share(differences, least);
}

}  // namespace evenkeel::study
