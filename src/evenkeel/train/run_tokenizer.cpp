// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/run_tokenizer.h"

#include <cstdint>
#include <filesystem>

#include "evenkeel/base/file.h"

namespace evenkeel::train {

namespace {

constexpr const char* kStem = "tokenizer";
constexpr std::uint64_t kMaxTokenizerBytes = std::uint64_t{256} << 20;

}  // namespace

void copy_tokenizer(const data::TextEncoding& encoding, const store::Directory& run,
                    bool replaces) {
  if (encoding.is_bytes()) return;
  const std::filesystem::path path = encoding.tokenizer().path();
  const auto ending = path.extension().string();
  const auto name =
      ending == ".json" || ending == ".model" ? kStem + ending : path.filename().string();
  const bool has_copy = run.has(name);
  if (has_copy && !replaces) return;
  const auto content = read_file(path, kMaxTokenizerBytes);
  const bool is_equal = run.has_file(name) && run.read(name, kMaxTokenizerBytes) == content;
  if (!is_equal) run.write(name, content);
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
