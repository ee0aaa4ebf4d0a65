// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "evenkeel/study/analysis/results.h"

/// Measures of all runs of a seed along an axis x of numbers, Measure::Kind::sweep. Of a run the
/// loss l counts, at most Measure::cap, which is also the loss of a failed run.
namespace evenkeel::study {

/// One number for each seed: `losses` has a row for each seed, with a loss for each x.
/// best           the lowest mean of l over the seeds, of all x. The mean of these numbers is that
///                lowest mean, and their deviations from it are those of the jackknife's
///                pseudo-values, so that a t-test includes the noise of the choice. Where each
///                subset without one seed chooses the same x, they are the losses at that x.
/// sensitivity    mean of l over log x (trapezoids) minus the lowest l
/// max_trainable  log2 of the largest x up to which every run finishes; where the first fails, one
///                step below it
/// NaN for a seed with a missing run; `best`, which leaves such seeds out, also with one other
/// seed.
/// \param x       rising, positive; two or more
/// \param losses  [seeds][x]; infinity: failed, NaN: missing
/// \source Wortsman et al. 2023, arXiv 2309.14322, section 2 (sensitivity); Tukey 1958 (jackknife)
std::vector<double> sweep_values(Measure::Sweep sweep, const std::vector<double>& x,
                                 std::vector<std::vector<double>> losses, double cap);

/// The arms of a claim whose measure is a sweep, `best` with the values of Study::refine: one for
/// all arms that differ on its axis only. Their labels on that axis are kAllLabels;
/// SeedRun::recorded holds the value. A seed has crashed or is missing where one of its runs has.
std::vector<Arm> swept_arms(const Results& results, const Measure& measure);
inline constexpr const char* kAllLabels = "all";

/// The arms along the axis that an arm of swept_arms() takes together, from the lowest value.
std::vector<const Arm*> members_of(const Results& results, const Arm& swept,
                                   const Measure& measure);

}  // namespace evenkeel::study
