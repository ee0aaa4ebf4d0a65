// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/plan/hardware.h"

#include <toml++/toml.h>

#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/nearest.h"
#include "evenkeel/config/config.h"
#include "evenkeel/config/quote.h"
#include "evenkeel/config/table_reader.h"

namespace evenkeel::plan {

/// Generated from machines/*.toml by cmake/Embed.cmake: {name, text}, sorted by name.
const std::vector<std::pair<std::string_view, std::string_view>>& embedded_machines();

namespace {

constexpr config::NumberRange kShare = {"a number in (0, 1]",
                                        [](double x) { return 0 < x && x <= 1; }};

/// A key that the file must have.
void require(const toml::table& table, std::string_view key, const std::string& source) {
  if (table.contains(key)) return;
  throw Error(Exit::usage, text(source, ": a machine must have the key ", key,
                                ", but the file has none; docs/plan_ranks.md lists the keys"));
}

}  // namespace

double Hardware::mfu_alone(const std::string& preset) const {
  const auto at = mfu_of_preset.find(preset);
  return at == mfu_of_preset.end() ? mfu : at->second;
}

Hardware parse_hardware(std::string_view toml, const std::string& source) {
  const auto table = config::parse_toml(toml, source);
  for (const auto* key :
       {"title", "precision", "ranks_per_host", "peak_flops", "mfu", "memory_bytes",
        "memory_bandwidth", "within_host_bandwidth", "between_hosts_bandwidth"}) {
    require(table, key, source);
  }
  config::TableReader reader(table, "");
  Hardware out{.name = source};
  const auto positive = [&](std::string_view key, double fallback) {
    return reader.number(key, fallback, config::kPositive);
  };
  out.title = reader.string("title", "");
  out.precision = reader.word("precision", out.precision, {"float32", "bfloat16", "float64"});
  out.is_gpu = reader.flag("gpu", out.is_gpu);
  out.ranks_per_host = reader.integer("ranks_per_host", 1, {.least = 1});
  out.peak_flops = positive("peak_flops", 0);
  out.mfu = reader.number("mfu", 0, kShare);
  out.memory_bytes = positive("memory_bytes", 0);
  out.memory_share = reader.number("memory_share", out.memory_share, kShare);
  out.program_bytes = reader.number("program_bytes", out.program_bytes, config::kNotNegative);
  out.memory_bandwidth = positive("memory_bandwidth", 0);
  out.within_host_bandwidth = positive("within_host_bandwidth", 0);
  out.between_hosts_bandwidth = positive("between_hosts_bandwidth", 0);
  out.latency = reader.number("latency", out.latency, config::kNotNegative);
  out.bucket_bytes = positive("bucket_bytes", out.bucket_bytes);
  out.overlap = reader.number("overlap", out.overlap, config::kFromZeroToOne);
  auto presets = reader.section("mfu_of_preset");
  for (const auto& preset : config::presets()) {
    const double mfu = presets.number(preset, out.mfu, kShare);
    if (mfu != out.mfu) out.mfu_of_preset[preset] = mfu;
  }
  presets.refuse_unknown_keys();
  reader.refuse_unknown_keys();
  return out;
}

std::vector<std::string> hardware_names() {
  std::vector<std::string> names;
  for (const auto& [name, source] : embedded_machines()) names.emplace_back(name);
  return names;
}

Hardware built_in_hardware(const std::string& name) {
  for (const auto& [each, source] : embedded_machines()) {
    if (each != name) continue;
    auto hardware = parse_hardware(source, "machine " + name);
    hardware.name = name;
    return hardware;
  }
  throw Error(Exit::usage, text("--machine: no machine is named ", config::in_quotes(name),
                                did_you_mean(name, hardware_names()), "; or name a TOML file"));
}

}  // namespace evenkeel::plan
