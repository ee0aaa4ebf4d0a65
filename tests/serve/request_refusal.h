// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/serve/request_error.h"

namespace evenkeel::testing {

/// "STATUS MESSAGE" of the RequestError that the function throws; "accepted" without one.
template <typename Function>
std::string request_refusal(const Function& function) {
  try {
    function();
  } catch (const serve::RequestError& error) {
    return std::to_string(error.status()) + " " + error.what();
  }
  return "accepted";
}

}  // namespace evenkeel::testing
