// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "evenkeel/verify/verify.h"

namespace evenkeel::verify {

/// All totals, all tensors, a count of them, and last "held" or "refuted: ...".
std::string table_of(const Verification& verification);

/// One line for one of many files: verdict, file, the check that used most of its tolerance.
std::string line_of(const Verification& verification);

/// Every check: {"file", "scheme", "precision", "held", "checks": [{"quantity", "error",
/// "tolerance", "held"}]}; an infinite error is null.
nlohmann::json json_of(const Verification& verification);

}  // namespace evenkeel::verify
