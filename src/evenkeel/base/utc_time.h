// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace evenkeel {

/// The time now in UTC, as ISO 8601: "2025-03-01T12:00:00Z".
std::string utc_now();

}  // namespace evenkeel
