// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/study/report_table.h"
#include "evenkeel/study/results.h"

namespace evenkeel::study {

/// What norms cost, counted and measured, where steps are timed; else no rows.
ReportTable overhead_table(const Results& results);

}  // namespace evenkeel::study
