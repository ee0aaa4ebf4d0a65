// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace evenkeel::cli {

/// All of standard input.
/// \param what    for messages: "a prompt"
/// \param remedy  for too much of it: "shorten it"
/// \throws Error (data, exit code 65) for more than 16 MiB, or bytes that are no UTF-8; (io, 74) if
///         it cannot be read
std::string standard_input(const char* what, const char* remedy = "shorten it");

}  // namespace evenkeel::cli
