// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/data/text_size.h"

namespace evenkeel::cli {

/// What `plan` prints about the training text and the time of a run.
struct TextPlan {
  std::vector<data::TextSize> sources;
  double run_tokens = 0;                    // of the whole run
  std::optional<double> tokens_per_second;  // of --tokens-per-second, or measured in --run

  /// How often the run reads source `i`.
  double epochs(const data::TextSize& source) const;
  std::optional<double> seconds() const;
};

/// The last speeds in metrics.jsonl of a run, their median; nullopt without a record.
std::optional<double> measured_speed(const std::filesystem::path& run);

/// A duration of a run: "3.2 days".
std::string run_time_text(double seconds);

/// A number of bytes or tokens as a JSON integer; as a double from 2^63 on.
nlohmann::ordered_json whole_number(double value);

/// Prints one line per source, the time of the run, and a warning about 1,000 epochs and more.
void print_text_plan(const TextPlan& plan);

/// The fields "text", "tokens_per_second" and "seconds".
void add_text_plan(const TextPlan& plan, nlohmann::ordered_json& out);

}  // namespace evenkeel::cli
