// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/report/run.h"

/// Tables and figures of the page of several runs.
namespace evenkeel::report {

/// Runs that differ in their seed only: indices into the runs of the page.
using SeedGroup = std::vector<std::size_t>;

/// The groups of the runs, in the order of their first runs.
std::vector<SeedGroup> seed_groups(const std::vector<Run>& runs);

/// Preset, parameters, parameters of norms, tokens, FLOPs, seed, time, CPU contention, and the
/// validation loss relative to that of a baseline, a row per run.
std::string sizes_table(const std::vector<Run>& runs);

/// Mean and standard deviation of the last validation loss of each group with several seeds, and
/// their validation losses over steps as mean and range, without the runs that failed, which are
/// named; "" without such a group. Runs of one seed count once, with the run that began first; the
/// runs that repeat a seed are named.
std::string seeds_section(const std::vector<Run>& runs);

/// A sentence of caution about a best run; "" if every scheme has several seeds with a validation
/// loss at the end.
std::string caution_text(const std::vector<Run>& runs);

}  // namespace evenkeel::report
