// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/study/study.h"

namespace evenkeel::cli {

/// Prints number and cost of the runs that run_study() would train. Times a matrix product, which
/// takes some seconds, unless finished runs say the speed.
void print_dry_run(const study::StudyRequest& request, const study::Resources& resources,
                   bool json);

}  // namespace evenkeel::cli
