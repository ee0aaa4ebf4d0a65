// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/probe/probe.h"

namespace evenkeel::probe {

namespace {

/// A column of a table: one part of a measure.
struct Column {
  const char* heading;
  const char* measure;
  const char* part;
};

/// The columns of the first table: the main measures.
constexpr std::array kOverview = {
    Column{"grad norm", "grad_norm", "block"},
    Column{"rms", "stream_rms", ""},
    Column{"max", "stream_max", ""},
    Column{"attn/stream", "branch_ratio", "attention"},
    Column{"ffn/stream", "branch_ratio", "feed_forward"},
    Column{"kurtosis", "kurtosis", ""},
    Column{"outliers", "outlier_share", ""},
    Column{"mean/rms", "token_mean", ""},
    Column{"entropy", "attention_entropy", ""},
    Column{"logit max", "attention_logit_max", ""},
    Column{"cosine", "token_cosine", ""},
    Column{"eff. rank", "effective_rank", ""},
    Column{"angle/pi", "block_angle", ""},
    Column{"weight norm", "weight_norm", "block"},
    Column{"jacobian", "stream_jacobian", ""},
    Column{"sparse", "sparse_attention", ""},
    Column{"collapse .1", "circuit_collapse", "noise 0.1"},
    Column{"skip loss", "skip_loss", ""},
    Column{"router ent.", "router_entropy", ""},
    Column{"router max", "router_logit_max", ""},
    Column{"load max", "expert_load", ""},
    Column{"dead", "dead_experts", ""},
};

/// The columns of a table of norms by part of a block. \param first  the first heading
constexpr std::array<Column, 9> columns_by_part(const char* measure, const char* first) {
  return {{{first, measure, "q"},
           {"k", measure, "k"},
           {"v", measure, "v"},
           {"output", measure, "output"},
           {"up", measure, "up"},
           {"gate", measure, "gate"},
           {"down", measure, "down"},
           {"router", measure, "router"},
           {"gains", measure, "gains"}}};
}

constexpr auto kGradients = columns_by_part("grad_norm", "grad: q");
constexpr auto kWeights = columns_by_part("weight_norm", "weight: q");

/// The value of a profile at a layer; "-" if it is missing.
std::string cell(const LayerProfile* profile, std::int64_t layer) {
  const auto at = profile == nullptr ? -1 : layer - profile->first;
  if (at < 0 || at >= static_cast<std::int64_t>(profile->values.size())) return "-";
  const double value = profile->values[static_cast<std::size_t>(at)];
  return std::isnan(value) ? "-" : with_digits(value, 4);
}

void add_cell(std::string& line, const std::string& content, std::size_t width) {
  line += std::string(width > content.size() ? width - content.size() : 1, ' ') + content;
}

/// A table with one row per layer; "" if none of the columns was measured.
std::string table_of(const ProbeResult& result, std::span<const Column> columns) {
  std::vector<std::pair<const Column*, const LayerProfile*>> shown;
  std::int64_t first = 1, last = 0;
  for (const auto& column : columns) {
    const auto* const profile = result.find(column.measure, column.part);
    if (profile == nullptr) continue;
    shown.emplace_back(&column, profile);
    first = std::min(first, profile->first);
    last = profile->first + static_cast<std::int64_t>(profile->values.size()) - 1;
  }
  if (shown.empty()) return "";
  constexpr std::size_t kLayer = 5, kWidth = 12;
  std::string out = "layer";
  for (const auto& [column, profile] : shown) add_cell(out, column->heading, kWidth);
  out += '\n';
  for (auto l = first; l <= last; ++l) {
    std::string line;
    add_cell(line, l == 0 ? "embed" : std::to_string(l), kLayer);
    for (const auto& [column, profile] : shown) add_cell(line, cell(profile, l), kWidth);
    out += line + "\n";
  }
  return out;
}

/// One line per norm with a changed gain: the largest drift in each block.
std::string gain_drift_lines(const ProbeResult& result) {
  constexpr double kMoved = 1e-12;
  std::string out;
  for (const auto& profile : result.profiles) {
    if (profile.measure != "gain_drift" || !profile.part.ends_with(" max")) continue;
    const bool moved = std::any_of(profile.values.begin(), profile.values.end(),
                                   [](double drift) { return drift > kMoved; });
    if (!moved) continue;
    constexpr std::size_t kName = 40;
    auto line = profile.part;
    if (line.size() < kName) line.append(kName - line.size(), ' ');
    for (std::size_t i = 0; i < profile.values.size(); ++i) {
      line += text(" ", cell(&profile, profile.first + static_cast<std::int64_t>(i)));
    }
    out += line + "\n";
  }
  return out.empty() ? out : text("largest drift of gains, by block\n", out);
}

}  // namespace

std::string probe_table(const ProbeResult& result) {
  std::string out;
  for (const auto& part : {table_of(result, kOverview), table_of(result, kGradients),
                           table_of(result, kWeights), gain_drift_lines(result)}) {
    if (!part.empty()) out += (out.empty() ? "" : "\n") + part;
  }
  return out;
}

}  // namespace evenkeel::probe
