// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/checkpoint_step.h"

#include <charconv>

#include "evenkeel/base/error.h"
#include "evenkeel/store/checkpoint.h"

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

std::vector<std::optional<std::int64_t>> checkpoint_steps(const std::string& word,
                                                          const std::filesystem::path& run) {
  if (word.empty()) return {std::nullopt};
  if (word == "all") {
    std::vector<std::optional<std::int64_t>> steps;
    for (const auto step : store::checkpoint_steps(run)) steps.emplace_back(step);
    if (steps.empty()) steps.emplace_back();  // load_run() says what is missing
    return steps;
  }
  if (const auto step = checkpoint_step(word)) return {step};
  throw Error(Exit::usage, text("--checkpoint must be \"all\" or a step, as 200 or step-00000200, "
                                "but is \"",
                                word, "\""));
}

}  // namespace evenkeel::cli
