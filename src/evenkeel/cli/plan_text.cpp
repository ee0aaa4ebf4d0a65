// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/plan_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/store/json_lines.h"

namespace evenkeel::cli {

namespace {

constexpr double kManyEpochs = 1000;

std::string size_text(const data::TextSize& source) {
  auto out = text(source.is_estimate ? "about " : "", with_unit(source.tokens), " tokens");
  if (source.documents > 0)
    out += text(", ", with_commas(source.documents),
                source.documents == 1 ? " document" : " documents");
  if (source.bytes_per_token) {
    out += text(", ", with_decimals(*source.bytes_per_token, 2), " bytes per token");
  }
  return out;
}

}  // namespace

std::string run_time_text(double seconds) {
  constexpr double kMinute = 60, kHour = 3600, kDay = 86400;
  const auto in = [&](double unit, const char* name) {
    return text(with_decimals(seconds / unit, 1), " ", name);
  };
  if (seconds < kMinute) return in(1, "seconds");
  if (seconds < kHour) return in(kMinute, "minutes");
  return seconds < 2 * kDay ? in(kHour, "hours") : in(kDay, "days");
}

nlohmann::ordered_json whole_number(double value) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  return value < kLimit ? nlohmann::ordered_json(static_cast<std::int64_t>(value))
                        : nlohmann::ordered_json(value);
}

double TextPlan::epochs(const data::TextSize& source) const {
  return source.tokens > 0 ? run_tokens * source.share / source.tokens : 0;
}

std::optional<double> TextPlan::seconds() const {
  if (!tokens_per_second || *tokens_per_second <= 0) return std::nullopt;
  return run_tokens / *tokens_per_second;
}

std::optional<double> measured_speed(const std::filesystem::path& run) {
  constexpr std::size_t kLast = 20;  // records
  std::vector<double> speeds;
  const auto folder = store::Directory::find(run);
  if (!folder) return std::nullopt;
  const auto records = store::read_records(*folder, "metrics.jsonl").records;
  for (auto each = records.rbegin(); each != records.rend() && speeds.size() < kLast; ++each) {
    const auto speed = each->value("tokens_per_s", nlohmann::json());
    if (speed.is_number()) speeds.push_back(speed.get<double>());
  }
  if (speeds.empty()) return std::nullopt;
  std::nth_element(speeds.begin(), speeds.begin() + static_cast<std::ptrdiff_t>(speeds.size() / 2),
                   speeds.end());
  return speeds[speeds.size() / 2];
}

void print_text_plan(const TextPlan& plan) {
  print("\ntext\n");
  for (const auto& source : plan.sources) {
    const auto share = plan.sources.size() > 1 ? percent(source.share) + " of the windows, " : "";
    print("  %s: %s%s, %s epochs\n", source.name.c_str(), share.c_str(), size_text(source).c_str(),
          with_decimals(plan.epochs(source), 2).c_str());
  }
  if (const auto seconds = plan.seconds()) {
    print("  time: %s at %s tokens per second\n", run_time_text(*seconds).c_str(),
          with_unit(*plan.tokens_per_second).c_str());
  }
  for (const auto& source : plan.sources) {
    if (plan.epochs(source) < kManyEpochs) continue;
    print_message(text("warning: the run reads ", source.name, " ",
                       with_commas(std::llround(plan.epochs(source))),
                       " times; a larger text or a shorter run (train.tokens) learns more"));
  }
}

void add_text_plan(const TextPlan& plan, nlohmann::ordered_json& out) {
  for (const auto& source : plan.sources) {
    nlohmann::ordered_json each = {{"name", source.name},
                                   {"share", source.share},
                                   {"tokens", source.tokens},
                                   {"epochs", plan.epochs(source)},
                                   {"estimated", source.is_estimate}};
    if (source.documents > 0) each["documents"] = source.documents;
    if (source.bytes_per_token) each["bytes_per_token"] = *source.bytes_per_token;
    out["text"].push_back(each);
  }
  if (plan.tokens_per_second) out["tokens_per_second"] = *plan.tokens_per_second;
  if (const auto seconds = plan.seconds()) out["seconds"] = *seconds;
}

}  // namespace evenkeel::cli
