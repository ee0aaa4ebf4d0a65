// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/study/analysis/results.h"
#include "evenkeel/study/report/report_table.h"

namespace evenkeel::study {

/// The cost of norms, in FLOPs and in measured step time; no rows if steps are not timed.
ReportTable overhead_table(const Results& results);

}  // namespace evenkeel::study
