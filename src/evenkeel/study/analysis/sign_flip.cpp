// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/sign_flip.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

#include "evenkeel/base/philox.h"

namespace evenkeel::study {

namespace {

/// The sums of these values with every assignment of signs, ascending: 2^n of them.
std::vector<double> signed_sums(std::span<const double> values) {
  std::vector<double> sums{0}, lower, merged;
  for (const double value : values) {
    const double size = std::abs(value);
    lower = sums;
    for (double& each : lower) each -= size;
    for (double& each : sums) each += size;
    merged.resize(2 * sums.size());
    std::merge(lower.begin(), lower.end(), sums.begin(), sums.end(), merged.begin());
    std::swap(sums, merged);
  }
  return sums;
}

/// The share of the assignments whose sum is at least `least` in size. Meet in the middle: each sum
/// is one of the 2^(n/2) sums of the first half plus one of those of the second half.
double exact_share(std::span<const double> differences, double least) {
  if (least <= 0) return 1;
  const auto half = differences.size() / 2;
  const auto first = signed_sums(differences.first(half));
  const auto second = signed_sums(differences.subspan(half));
  double reached = 0;  // sums of at least `least`; as many are at most its negative
  auto from = second.end();
  for (const double each : first) {
    while (from != second.begin() && each + *(from - 1) >= least) --from;
    reached += static_cast<double>(second.end() - from);
  }
  return std::ldexp(reached, 1 - static_cast<int>(differences.size()));
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
  constexpr double kRounding = 1e-9;  // of sums that are added in different orders
  const double least = std::abs(sum) - kRounding * size;
  return differences.size() <= kExactFlipPairs ? exact_share(differences, least)
                                               : random_share(differences, least);
}

}  // namespace evenkeel::study
