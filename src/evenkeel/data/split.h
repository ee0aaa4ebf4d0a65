// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace evenkeel::data {

using Documents = std::vector<std::string>;

/// Cuts off the last `fraction` of the bytes: whole documents while they fit, with a tenth of it to
/// spare; the one that does not, as a single document, at the end of a line, or of a character if
/// no line ends before the cut. Either part may be empty if there is too little text.
std::pair<Documents, Documents> split(Documents documents, double fraction);

}  // namespace evenkeel::data
