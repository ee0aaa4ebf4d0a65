// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/config/table_reader.h"
#include "evenkeel/study/definition/definition.h"

namespace evenkeel::study {

/// `measure`, `baseline` and `claims` of a study file, whose axes `study` has.
/// \throws Error (usage) for what names no axis, value, measure or kind
void parse_claims(Study& study, config::TableReader& top, const std::string& where);

}  // namespace evenkeel::study
