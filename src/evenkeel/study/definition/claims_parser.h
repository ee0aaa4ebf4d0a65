// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/config/table_reader.h"
#include "evenkeel/study/definition/definition.h"

namespace evenkeel::study {

/// The axis of this name. \throws Error (usage) with the nearest name
/// \param where  start of the message: file and line
const Axis& axis_named(const Study& study, const std::string& name, const std::string& where);

/// Parses `measure`, `baseline` and `claims` of a study file. Study::axes must be set.
/// \throws Error (usage) for an unknown axis, value, measure or kind
void parse_claims(Study& study, config::TableReader& top, const std::string& where);

}  // namespace evenkeel::study
