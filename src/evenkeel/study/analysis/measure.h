// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/config/config.h"
#include "evenkeel/report/run.h"
#include "evenkeel/study/definition/definition.h"

namespace evenkeel::study {

/// What a run came to; NaN if it did not measure that.
double measured_value(const report::Run& run, const Measure& measure);

/// That a step takes: the median of the logged ones; NaN without any.
double median_step_milliseconds(const report::Run& run);

/// \throws Error (usage) if runs of this configuration do not record it: a probe at that step, the
///         entropy of text that has none; a time, where runs are not `exclusive`
void check_measure(const Measure& measure, const config::Config& config, bool exclusive);

/// Why a run counts as failed: it diverged, or its last validation loss is not finite or above
/// `fails_above` (0: only the former); "" if it did not.
std::string failure_reason(const report::Run& run, double fails_above);

}  // namespace evenkeel::study
