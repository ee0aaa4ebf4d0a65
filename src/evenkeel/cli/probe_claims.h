// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/probe/claims.h"

namespace evenkeel::cli {

/// An aligned table with one line per claim: subject, statement, measured, expected, verdict. The
/// last line counts the claims that held and the refuted ones.
std::string claims_table(const probe::Claims& claims);

/// [{"subject", "statement", "measured", "expected", "limit", "held"}, ...]; null for a number
/// that is not finite.
nlohmann::ordered_json claims_json(const probe::Claims& claims);

/// The values that a claim allows: "<= 1", ">= 0.001", "1 +- 0.05"
std::string expectation_text(const probe::Claim& claim);

/// Exit::check_failed (1) if any claim is refuted, else Exit::success.
Exit claims_exit(const probe::Claims& claims);

}  // namespace evenkeel::cli
