// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace evenkeel::data {

/// True if the user wants the program to stop.
using StopWanted = std::function<bool()>;

}  // namespace evenkeel::data
