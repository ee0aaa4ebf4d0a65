// SPDX-License-Identifier: Apache-2.0
#include "config_targets.h"

#include <fstream>
#include <stdexcept>

#include "evenkeel/config/config.h"
#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/config/scheme/scheme_check.h"
#include "evenkeel/convert/olmo_yaml.h"
#include "evenkeel/study/definition/definition.h"

namespace evenkeel::campaign {

namespace fs = std::filesystem;

fs::path put(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  return path;
}

void fuzz_config(const std::string& input, const fs::path& folder) {
  const auto file = put(folder / "config.toml", input);
  const auto config = config::resolve({.preset = {}, .files = {file}, .scheme = {}, .sets = {}});
  const auto written = config::to_toml(config);
  if (config::to_toml(config::read_back(written, "written")) != written) {
    throw std::logic_error("a configuration differs after it was written and read");
  }
}

void fuzz_setting(const std::string& input, const fs::path&) {
  config::to_toml(config::resolve({.preset = {}, .files = {}, .scheme = {}, .sets = {input}}));
}

void fuzz_scheme(const std::string& input, const fs::path& folder) {
  const auto source = config::find_scheme(put(folder / "scheme.toml", input).string());
  for (const auto layers : {1, 12}) config::bind(source, config::default_shape(layers));
}

void fuzz_study(const std::string& input, const fs::path&) {
  auto sizes = study::sizes_of(input, "study.toml");
  if (sizes.empty()) sizes.emplace_back();
  for (const auto& size : sizes) study::parse_study(input, "study.toml", size);
}

void fuzz_yaml(const std::string& input, const fs::path& folder) {
  const auto imported = convert::import_yaml({put(folder / "olmo.yaml", input), {}});
  const auto file = put(folder / "run.toml", imported.toml);
  config::resolve({.preset = {}, .files = {file}, .scheme = {}, .sets = {}});
}

}  // namespace evenkeel::campaign
