// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace evenkeel::data {

using Documents = std::vector<std::string>;

/// Cuts off the last `fraction` of the bytes: several documents at the end of one, a single one at
/// the end of a line, or of a character if no line ends before the cut. Either part may be empty
/// if there is too little text.
std::pair<Documents, Documents> split(Documents documents, double fraction);

}  // namespace evenkeel::data
