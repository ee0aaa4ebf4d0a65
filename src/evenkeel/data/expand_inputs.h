// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace evenkeel::data {

/// Replaces patterns (`wiki/*.jsonl`) by the paths that match, in the order of their names, and a
/// leading `~` by the home folder. Other inputs stay as they are.
/// \throws Error (data, exit code 65) for a pattern that matches nothing
std::vector<std::string> expand_inputs(const std::vector<std::string>& inputs);

}  // namespace evenkeel::data
