// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/tokenizer_copy.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "evenkeel/base/digest.h"
#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"

namespace evenkeel::store {

namespace {

constexpr const char* kJsonCopy = "tokenizer.json";
constexpr const char* kModelCopy = "tokenizer.model";
constexpr const char* kRanksEnding = ".tiktoken";
constexpr const char* kEarlier = "earlier-tokenizer-";
constexpr std::size_t kDigestDigits = 8;  // of the name of a replaced copy
constexpr std::uint64_t kMaxTokenizerBytes = std::uint64_t{256} << 20;

/// The name of the copy of a file.
std::string copy_name_of(const std::filesystem::path& file) {
  const auto ending = file.extension();
  if (ending == ".json") return kJsonCopy;
  if (ending == ".model") return kModelCopy;
  return file.filename().string();
}

/// The names of all copies in a run folder.
std::vector<std::string> tokenizer_copies(const Directory& run) {
  std::vector<std::string> names;
  for (const auto& name : run.entries()) {
    const bool is_copy = name == kJsonCopy || name == kModelCopy || name.ends_with(kRanksEnding);
    if (is_copy && run.has_file(name)) names.push_back(name);
  }
  return names;
}

/// The part of the name of a replaced copy that its digest determines.
std::string earlier_mark(const std::string& digest) {
  return kEarlier + digest.substr(0, kDigestDigits);
}

std::string content_digest(const std::string& content) {
  return evenkeel::digest(content.data(), content.size());
}

/// The name of a replaced copy, which no copy has. That of ranks begins as before, because the name
/// of their file up to the first dot selects the pattern: "gpt2.earlier-tokenizer-0123abcd".
std::string earlier_name(const std::string& name, const std::string& content) {
  const auto mark = earlier_mark(content_digest(content));
  const std::filesystem::path before = name;
  const auto ending = before.extension();
  if (ending == ".json" || ending == ".model") return mark + ending.string();
  return text(before.stem().string(), ".", mark);
}

/// False for a folder and for a file whose name does not say its kind.
bool has_known_ending(const std::filesystem::path& file) {
  const auto ending = file.extension();
  return ending == ".json" || ending == ".model" || ending == kRanksEnding;
}

}  // namespace

TokenizerCopy read_tokenizer(const std::filesystem::path& file) {
  return {copy_name_of(file), read_file(file, kMaxTokenizerBytes)};
}

void add_tokenizer(const Directory& run, const TokenizerCopy& copy) {
  if (!tokenizer_copies(run).empty() || run.has(copy.name)) return;
  run.write(copy.name, copy.content);
}

void write_tokenizer(const Directory& run, const TokenizerCopy& copy) {
  if (run.has_file(copy.name)) {
    const auto content = run.read(copy.name, kMaxTokenizerBytes);
    if (content == copy.content) return;
    run.write(earlier_name(copy.name, content), content);
  }
  run.write(copy.name, copy.content);
}

void replace_tokenizer(const Directory& run, const TokenizerCopy& copy,
                       const std::string& earlier_digest) {
  write_tokenizer(run, copy);
  for (const auto& name : tokenizer_copies(run)) {
    if (name == copy.name) continue;
    const auto content = run.read(name, kMaxTokenizerBytes);
    if (content_digest(content) == earlier_digest) run.rename(name, earlier_name(name, content));
  }
}

std::string earlier_tokenizer(const Directory& run, const std::string& digest) {
  if (digest.size() < kDigestDigits) return "";
  for (const auto& name : run.entries()) {
    const bool is_of_digest = name.find(earlier_mark(digest)) != std::string::npos;
    if (is_of_digest && run.has_file(name)) return (run.path() / name).string();
  }
  return "";
}

std::string tokenizer_of_run(const Directory& run, const std::string& configured) {
  if (configured == "bytes") return configured;
  const std::filesystem::path file = configured;
  for (const auto& name : {copy_name_of(file), std::string(kJsonCopy), std::string(kModelCopy)}) {
    if (name.empty() || !run.has_file(name)) continue;
    run.check_file(name);
    return (run.path() / name).string();
  }
  return configured;
}

std::string tokenizer_copy_path(const Directory& run, const std::string& configured) {
  if (has_known_ending(configured)) return (run.path() / copy_name_of(configured)).string();
  const auto found = tokenizer_of_run(run, configured);
  return found == configured ? (run.path() / kJsonCopy).string() : found;
}

}  // namespace evenkeel::store
