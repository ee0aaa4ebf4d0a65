// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/study/analysis/results.h"
#include "evenkeel/study/report/report_table.h"

namespace evenkeel::study {

/// What norms cost, counted and measured, where steps are timed; else no rows.
ReportTable overhead_table(const Results& results);

}  // namespace evenkeel::study
