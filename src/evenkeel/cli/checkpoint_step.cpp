// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/checkpoint_step.h"

#include <charconv>

namespace evenkeel::cli {

std::optional<std::int64_t> checkpoint_step(std::string_view word) {
  constexpr std::string_view kName = "step-";
  if (word.starts_with(kName)) word.remove_prefix(kName.size());
  std::int64_t step = -1;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), step);
  const bool is_whole = read.ec == std::errc() && read.ptr == word.data() + word.size();
  if (!is_whole || step < 0) return std::nullopt;
  return step;
}

}  // namespace evenkeel::cli
