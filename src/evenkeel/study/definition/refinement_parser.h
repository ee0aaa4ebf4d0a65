// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/config/table_reader.h"
#include "evenkeel/study/definition/definition.h"

namespace evenkeel::study {

/// Parses the key `refine`, after the axes and the measure of the study.
/// \param where  start of messages: the name of the file
/// \throws Error (usage)
void parse_refinement(Study& study, config::TableReader& top, const std::string& where);

}  // namespace evenkeel::study
