// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/report/run.h"

/// The curves of one run over its steps.
namespace evenkeel::report {

/// Loss, gap, answers, gradient norm, learning rate, throughput, time of a step and memory.
std::string curve_figures(const Run& run);

/// What the updates do to the parameters, from probes.jsonl: update ratios and gain drift over
/// steps, and gradient norms of single layers; "" without such probes.
std::string update_figures(const Run& run);

}  // namespace evenkeel::report
