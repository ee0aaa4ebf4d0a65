// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/run_tokenizer.h"

#include <filesystem>

#include "evenkeel/base/file.h"

namespace evenkeel::train {

namespace {

constexpr const char* kStem = "tokenizer";

}  // namespace

void copy_tokenizer(const data::TextEncoding& encoding, const store::Directory& run) {
  if (encoding.is_bytes()) return;
  const std::filesystem::path path = encoding.tokenizer().path();
  const auto ending = path.extension().string();
  const auto name =
      ending == ".json" || ending == ".model" ? kStem + ending : path.filename().string();
  if (!run.has(name)) run.write(name, read_file(path));
}

std::string tokenizer_of_run(const store::Directory& run, const std::string& configured) {
  if (configured == "bytes") return configured;
  for (const auto& name : {std::string("tokenizer.json"), std::string("tokenizer.model"),
                           std::filesystem::path(configured).filename().string()}) {
    if (!run.has_file(name)) continue;
    run.check_file(name);
    return (run.path() / name).string();
  }
  return configured;
}

}  // namespace evenkeel::train
