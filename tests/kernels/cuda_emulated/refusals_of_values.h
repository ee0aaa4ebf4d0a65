// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ops/operator_case.h"

namespace evenkeel::testing {

/// Calls with values that an operator refuses on the CPU. On a card it would have to wait for the
/// device to know them: it need not refuse them, but must not access memory of anything else.
std::vector<Refusal>& refusals_of_values();

}  // namespace evenkeel::testing
