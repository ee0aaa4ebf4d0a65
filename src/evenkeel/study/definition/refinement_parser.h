// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "evenkeel/config/table_reader.h"
#include "evenkeel/study/definition/definition.h"

namespace evenkeel::study {

/// SearchConfig::extend and Refinement::extend: default and largest.
inline constexpr std::int64_t kFurtherValues = 4, kMostFurtherValues = 100;

/// Parses the table `refine`, after the axes and the claims of the study.
/// \param where  start of messages: the name of the file
/// \throws Error (usage)
void parse_refinement(Study& study, config::TableReader& top, const std::string& where);

}  // namespace evenkeel::study
