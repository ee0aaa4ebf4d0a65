// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/probe/claims.h"

namespace evenkeel::cli {

/// Claims as an aligned table, a line each: subject, statement, measured, expected, verdict. Ends
/// with the number that held, and of those that did not.
std::string claims_table(const probe::Claims& claims);

/// [{"subject", "statement", "measured", "expected", "limit", "held"}, ...]; null for a number
/// that is not finite.
nlohmann::ordered_json claims_json(const probe::Claims& claims);

/// "<= 1", ">= 0.001", "1 +- 0.05"
std::string expectation_text(const probe::Claim& claim);

/// 1 if any claim is refuted.
Exit claims_exit(const probe::Claims& claims);

}  // namespace evenkeel::cli
