// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace evenkeel::tokenizer {

/// The general category of every code point of Unicode 16, as runs: a letter for the category, then
/// the length of the run where it is more than 1. Letters are 'A' to 'Z', then 'a' to 'd', in the
/// order of categories in code_set.cpp. tools/unicode_tables.py writes the table.
extern const char* const kCategoryRuns;

}  // namespace evenkeel::tokenizer
