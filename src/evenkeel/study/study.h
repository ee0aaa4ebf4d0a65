// SPDX-License-Identifier: Apache-2.0
#pragma once

// The public headers of study/, for the command line.
#include "evenkeel/study/analysis/multiple_testing.h"  // IWYU pragma: export
#include "evenkeel/study/definition/catalogue.h"       // IWYU pragma: export
#include "evenkeel/study/definition/definition.h"      // IWYU pragma: export
#include "evenkeel/study/report/outcome.h"             // IWYU pragma: export
#include "evenkeel/study/report/verdict_text.h"        // IWYU pragma: export
#include "evenkeel/study/runs/dry_run.h"               // IWYU pragma: export
#include "evenkeel/study/runs/recorded_results.h"      // IWYU pragma: export
#include "evenkeel/study/runs/study_runner.h"          // IWYU pragma: export
