// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "evenkeel/tokenizer/model.h"

namespace evenkeel::tokenizer {

/// The tokenizer of a file of tiktoken: a line `BASE64 RANK` for each token. A pair of tokens has
/// the rank of their concatenation.
/// \param pattern  a name of tiktoken_names(), or a regular expression in Perl's syntax; empty: by
///                 the name of the file, which must then have as many ranks as tiktoken's file
/// \throws Error (data, exit code 65), with the line, also if a rank below the last one is missing
Model tiktoken_file(const std::string& path, std::string_view content, const std::string& pattern);

/// The names of known patterns.
std::vector<std::string> tiktoken_names();

}  // namespace evenkeel::tokenizer
