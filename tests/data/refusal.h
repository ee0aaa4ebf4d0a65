// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/base/error.h"

namespace evenkeel::data {

/// The message that `act` is refused with as bad data; what came instead, if it is not.
template <typename Act>
std::string refusal(const Act& act) {
  try {
    act();
  } catch (const Error& error) {
    if (error.exit() == Exit::data) return error.what();
    return text("exit code ", static_cast<int>(error.exit()), ": ", error.what());
  }
  return "no refusal";
}

}  // namespace evenkeel::data
