// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "evenkeel/verify/verify.h"

namespace evenkeel::verify {

/// The table of one file: all totals, all tensors, the number of parameters; the last line is
/// "held" or "refuted: ...".
std::string table_of(const Verification& verification);

/// One line per file: path, verdict, and the check with the largest error / tolerance.
std::string line_of(const Verification& verification);

/// All checks as JSON: {"file", "scheme", "precision", "held", "checks": [{"quantity", "error",
/// "tolerance", "held"}]}. An infinite error is null.
nlohmann::json json_of(const Verification& verification);

}  // namespace evenkeel::verify
