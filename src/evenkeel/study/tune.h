// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "evenkeel/study/arms.h"
#include "evenkeel/study/campaign.h"
#include "evenkeel/study/results.h"

namespace evenkeel::study {

/// Makes a job of a configuration: its key, memory and work.
using JobMaker = std::function<Job(const std::string& name, config::Config config)>;

/// One run of a search: the whole recipe in a share of its steps, warm-up and all; evaluated at its
/// end only.
config::Config shortened(config::Config config, double share);

/// Successive halving: every arm tries all values at the first share of the steps, the better half
/// of them at the next, and so on; the best of the last share is its value. Failed runs come last.
/// The search has a seed of its own, so that no run of the study has chosen its own rate.
/// \param loss_of  a run of the pool -> its last validation loss; NaN if it failed
/// \return empty if it was stopped
/// \source Jamieson and Talwalkar 2016
std::vector<Tuning> tuned(const Study& study, const std::vector<Combination>& arms,
                          const JobMaker& job, Campaign& campaign,
                          const std::function<double(const std::string& key)>& loss_of);

}  // namespace evenkeel::study
