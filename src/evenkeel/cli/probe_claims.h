// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/probe/claims.h"

namespace evenkeel::cli {

/// Claims as an aligned table, one line each: subject, statement, measured, expected, verdict. The
/// last line counts the claims that held and those that are refuted.
std::string claims_table(const probe::Claims& claims);

/// [{"subject", "statement", "measured", "expected", "limit", "held"}, ...]; null for a number
/// that is not finite.
nlohmann::ordered_json claims_json(const probe::Claims& claims);

/// "<= 1", ">= 0.001", "1 +- 0.05"
std::string expectation_text(const probe::Claim& claim);

/// Exit code 1 (refuted) if any claim is refuted, else 0.
Exit claims_exit(const probe::Claims& claims);

}  // namespace evenkeel::cli
