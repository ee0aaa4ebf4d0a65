// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace evenkeel::data {

using Documents = std::vector<std::string>;

/// Splits off the last `fraction` of the bytes. The second part consists of whole documents, which
/// may exceed its size by 10 %. The document at the cut is split at the end of a line, or of a
/// character if no line ends within as many bytes before the cut as are split off. Either part may
/// be empty for a short text.
/// \param fraction  share of the second part, 0 to 1
/// \return the first and the second part
std::pair<Documents, Documents> split(Documents documents, double fraction);

}  // namespace evenkeel::data
