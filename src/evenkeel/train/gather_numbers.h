// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "evenkeel/comm/group.h"

namespace evenkeel::train {

/// The numbers of all ranks, one rank after another. All ranks call it.
/// \param mine  [n]; n is the same on all ranks
/// \return [ranks * n]
std::vector<double> gather_numbers(comm::Group& group, const std::vector<double>& mine);

}  // namespace evenkeel::train
