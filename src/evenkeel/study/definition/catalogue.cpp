// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/definition/catalogue.h"

#include <string_view>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/base/nearest.h"

namespace evenkeel::study {

/// {name, file}, sorted by name: generated from studies/*.toml.
const std::vector<std::pair<std::string_view, std::string_view>>& embedded_studies();

std::vector<std::string> catalogue() {
  std::vector<std::string> names;
  for (const auto& [name, toml] : embedded_studies()) names.emplace_back(name);
  return names;
}

StudyFile find_study(const std::string& name_or_file) {
  if (name_or_file.ends_with(".toml")) return {name_or_file, read_file(name_or_file)};
  for (const auto& [name, toml] : embedded_studies()) {
    if (name == name_or_file) return {text("studies/", name, ".toml"), std::string(toml)};
  }
  throw Error(Exit::usage, text("no study is named \"", name_or_file, "\"",
                                did_you_mean(name_or_file, catalogue()),
                                "; one of your own is a path that ends with .toml"));
}

}  // namespace evenkeel::study
