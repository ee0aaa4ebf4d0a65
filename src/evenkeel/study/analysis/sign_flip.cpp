// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/sign_flip.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "evenkeel/base/philox.h"

namespace evenkeel::study {

namespace {

/// Sums that are added in different orders differ by less, relative to the sum of the sizes.
constexpr double kTieRounding = 1e-9;

/// A sum of values with signs, and the share of the assignments of signs that have it.
struct SignedSum {
  double sum = 0, share = 1;
};

/// Appends a sum. Equal sums become one.
/// \param rounding  far below that of ties, as the errors of all values add up
void append_sum(std::vector<SignedSum>& sums, const SignedSum& each, double rounding) {
  if (!sums.empty() && each.sum - sums.back().sum <= rounding) {
    sums.back().share += each.share;
  } else {
    sums.push_back(each);
  }
}

/// The sums of these values with every assignment of signs, ascending: at most 2^n of them.
/// Dynamic programming over the values.
/// \return nothing if there are more than 2^(kExactFlipPairs / 2)
std::vector<SignedSum> signed_sums(std::span<const double> values, double rounding) {
  constexpr std::size_t kMost = std::size_t{1} << (kExactFlipPairs / 2);
  std::vector<SignedSum> sums{SignedSum{}}, lower, merged;
  for (const double value : values) {
    const double size = std::abs(value);
    lower = sums;
    for (auto& each : lower) each = {each.sum - size, each.share / 2};
    for (auto& each : sums) each = {each.sum + size, each.share / 2};
    merged.clear();
    auto next = lower.begin();
    for (const auto& each : sums) {
      for (; next != lower.end() && next->sum <= each.sum; ++next)
        append_sum(merged, *next, rounding);
      append_sum(merged, each, rounding);
    }
    if (merged.size() > kMost) return {};
    std::swap(sums, merged);
  }
  return sums;
}

/// The share of the assignments whose sum is at least `least` in size. Meet in the middle: each sum
/// is one of the sums of the first half plus one of those of the second half.
/// \return nullopt if a half has too many sums
std::optional<double> exact_share(std::span<const double> differences, double least,
                                  double rounding) {
  if (least <= 0) return 1;
  const auto half = differences.size() / 2;
  const auto first = signed_sums(differences.first(half), rounding);
  if (first.empty()) return std::nullopt;
  const auto second = signed_sums(differences.subspan(half), rounding);
  if (second.empty()) return std::nullopt;
  double share = 0;    // of sums of at least `least`; as many are at most its negative
  double of_rest = 0;  // share of the sums of the second half that reach it with this first one
  auto from = second.end();
  for (const auto& each : first) {
    for (; from != second.begin() && each.sum + (from - 1)->sum >= least; --from)
      of_rest += (from - 1)->share;
    share += each.share * of_rest;
  }
  return 2 * share;
}

/// p of differences that have one sign if they are not 0; nullopt if all are 0, and for any others.
std::optional<double> share_of_one_sign(const std::vector<double>& differences, double sum,
                                        double size) {
  if (size == 0 || std::abs(sum) < size) return std::nullopt;
  const auto differing = std::count_if(differences.begin(), differences.end(), [&](double each) {
    return 2 * std::abs(each) > kTieRounding * size;
  });
  return smallest_sign_flip_p(differing);
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
  return sign_flip_test(differences).p;
}

SignFlipTest sign_flip_test(const std::vector<double>& differences) {
  if (differences.empty()) return {};
  double sum = 0, size = 0;
  for (const double value : differences) {
    sum += value;
    size += std::abs(value);
  }
  const double least = std::abs(sum) - kTieRounding * size;
  const double smallest = smallest_sign_flip_p(std::ssize(differences));
  if (differences.size() > kExactFlipPairs) {
    if (const auto p = share_of_one_sign(differences, sum, size))
      return {.p = *p, .smallest_p = smallest};
  }
  constexpr double kOfTies = 1e-3;
  if (const auto p = exact_share(differences, least, kOfTies * kTieRounding * size)) {
    return {.p = *p, .smallest_p = smallest};
  }
  return {.p = random_share(differences, least), .smallest_p = 1.0 / (kRandomFlips + 1)};
}

double smallest_sign_flip_p(std::int64_t pairs) {
  constexpr std::int64_t kMost = 1000;  // else p would be 0 in double
  return std::ldexp(1.0, 1 - static_cast<int>(std::min(pairs, kMost)));
}

}  // namespace evenkeel::study
