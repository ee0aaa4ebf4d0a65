// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/norm/parameter_specs.h"

/// The names and shapes of norm/parameter_specs.h, under the names of this floor.
namespace evenkeel::nn {

using norm::active_parameters;
using norm::is_moved_in_forward;
using norm::parameter_counts;
using norm::parameter_specs;
using norm::ParameterCounts;
using norm::ParameterRole;
using norm::ParameterSpec;

}  // namespace evenkeel::nn
