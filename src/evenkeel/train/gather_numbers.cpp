// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/gather_numbers.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace evenkeel::train {

std::vector<double> gather_numbers(comm::Group& group, const std::vector<double>& mine) {
  const auto row = at::empty({static_cast<std::int64_t>(mine.size())}, at::kDouble);
  std::copy(mine.begin(), mine.end(), row.mutable_data_ptr<double>());
  const auto all = group.all_gather_scalars(row);
  const auto* const begin = all.const_data_ptr<double>();
  return {begin, begin + all.numel()};
}

}  // namespace evenkeel::train
