// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace evenkeel::convert {

/// Why a key of OLMo's configuration has no effect on the results here; nullptr for a key that is
/// not in the table. A key in a table has the note of the table: "fsdp.precision" that of "fsdp".
const char* note_of_other_key(std::string_view key);

}  // namespace evenkeel::convert
