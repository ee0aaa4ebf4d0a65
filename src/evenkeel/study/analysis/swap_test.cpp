// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/swap_test.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "evenkeel/base/error.h"
#include "evenkeel/base/philox.h"
#include "evenkeel/study/analysis/sign_flip.h"

namespace evenkeel::study {

namespace {

using Losses = std::vector<std::vector<double>>;
/// For each seed, whether its losses of both arms are swapped.
using Subset = std::vector<bool>;

/// All subsets, or `most` random ones; the empty one is first.
/// The first seed is never swapped, since a swap of all seeds only turns the sign.
std::vector<Subset> subsets(std::size_t seeds, bool is_exact, std::size_t most) {
  constexpr std::uint64_t kSeed = 1;
  const Philox random(kSeed, "study/swap_test");
  const auto count = is_exact ? std::size_t{1} << (seeds - 1) : most + 1;
  std::vector<Subset> out(count, Subset(seeds));
  for (std::size_t i = 1; i < count; ++i) {
    for (std::size_t seed = 1; seed < seeds; ++seed) {
      out[i][seed] = is_exact ? (i >> (seed - 1) & 1) != 0 : (random.words(seed, i)[0] & 1) != 0;
    }
  }
  return out;
}

/// Two arms with the losses of some seeds swapped. Seeds at even and at odd places are two halves.
class SwappedArms {
 public:
  /// \param shift  subtracted from the losses of the arm
  SwappedArms(const Losses& arm, const Losses& reference, double shift)
      : seeds_(arm.size()), values_(arm.front().size()) {
    for (std::size_t seed = 0; seed < seeds_; ++seed) {
      for (std::size_t i = 0; i < values_; ++i) {
        arm_.push_back(arm[seed][i] - shift);
        reference_.push_back(reference[seed][i]);
      }
    }
    for (auto& sums : sums_) sums.resize(2 * values_);
  }

  /// The difference of each seed at the best values of the other half.
  const std::vector<double>& differences(const Subset& swapped) {
    add_up(swapped);
    differences_.resize(seeds_);
    std::array<std::array<std::size_t, 2>, 2> best{};  // [half][arm or reference]
    for (std::size_t half = 0; half < 2; ++half) {
      for (std::size_t one = 0; one < 2; ++one) {
        const auto first = sums_[one].begin() + static_cast<std::ptrdiff_t>(half * values_);
        const auto last = first + static_cast<std::ptrdiff_t>(values_);
        best[half][one] = static_cast<std::size_t>(std::min_element(first, last) - first);
      }
    }
    for (std::size_t seed = 0; seed < seeds_; ++seed) {
      const auto& chosen = best[1 - seed % 2];
      const auto* const arm = (swapped[seed] ? reference_ : arm_).data() + seed * values_;
      const auto* const reference = (swapped[seed] ? arm_ : reference_).data() + seed * values_;
      differences_[seed] = arm[chosen[0]] - reference[chosen[1]];
    }
    return differences_;
  }

  /// The size of the mean difference.
  double size(const Subset& swapped) {
    double sum = 0;
    for (const auto each : differences(swapped)) sum += each;
    return std::abs(sum) / static_cast<double>(seeds_);
  }

 private:
  /// Sets the sums over the seeds at even and at odd places.
  void add_up(const Subset& swapped) {
    for (auto& sums : sums_) std::ranges::fill(sums, 0);
    for (std::size_t seed = 0; seed < seeds_; ++seed) {
      const auto* const arm = (swapped[seed] ? reference_ : arm_).data() + seed * values_;
      const auto* const reference = (swapped[seed] ? arm_ : reference_).data() + seed * values_;
      const auto half = seed % 2 * values_;
      for (std::size_t i = 0; i < values_; ++i) {
        sums_[0][half + i] += arm[i];
        sums_[1][half + i] += reference[i];
      }
    }
  }

  std::size_t seeds_, values_;
  std::vector<double> arm_, reference_;        // [seeds, values]
  std::array<std::vector<double>, 2> sums_{};  // [2 halves, values] of the arm and the reference
  std::vector<double> differences_;
};

/// The p-value of "the losses of the arm are those of the reference plus `shift`": the share of the
/// subsets whose swap gives as large a difference.
double swap_p(const Losses& arm, const Losses& reference, double shift,
              const std::vector<Subset>& all) {
  constexpr double kRounding = 1e-12;
  SwappedArms arms(arm, reference, shift);
  const double least = arms.size(all.front()) - kRounding;
  const auto reached = std::ranges::count_if(
      all, [&](const Subset& swapped) { return arms.size(swapped) >= least; });
  return static_cast<double>(reached) / static_cast<double>(all.size());
}

/// The end of the interval of shifts that swap_p() does not reject, on the side of `step`.
double interval_end(const Losses& arm, const Losses& reference, double mean, double step,
                    const std::vector<Subset>& all) {
  constexpr int kDoublings = 60, kHalvings = 14;
  const auto is_rejected = [&](double shift) {
    return swap_p(arm, reference, shift, all) < kSignificanceLevel;
  };
  double inside = mean, outside = mean + step;
  for (int i = 0; i < kDoublings && !is_rejected(outside); ++i) {
    inside = outside;
    outside = mean + 2 * (outside - mean);
  }
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (inside + outside) / 2;
    (is_rejected(middle) ? outside : inside) = middle;
  }
  return inside;
}

}  // namespace

PairedDifference swap_test(const Losses& arm, const Losses& reference) {
  constexpr std::size_t kExactSeeds = 12;
  EK_ASSERT(arm.size() == reference.size() && arm.size() >= 2);
  const auto seeds = arm.size();
  const auto all = subsets(seeds, seeds <= kExactSeeds, kRandomFlips);
  const auto moments = mean_estimate(SwappedArms(arm, reference, 0).differences(all.front()));
  const double p = swap_p(arm, reference, 0, all);
  auto interval = moments.interval;
  const double step = (interval.high - interval.low) / 2;
  if (seeds >= kSwapIntervalSeeds && step > 0) {
    interval = {.low = interval_end(arm, reference, moments.mean, -step, all),
                .high = interval_end(arm, reference, moments.mean, step, all)};
  }
  return {.pairs = static_cast<std::int64_t>(seeds),
          .mean = moments.mean,
          .standard_deviation = moments.standard_deviation,
          .interval = interval,
          .p = p,
          .sign_flip_p = p,
          .effect_size = moments.mean == 0 ? 0 : moments.mean / moments.standard_deviation};
}

}  // namespace evenkeel::study
