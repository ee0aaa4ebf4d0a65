// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/shard_tokenizers.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/data/builtins.h"
#include "evenkeel/data/corpus_checks.h"
#include "evenkeel/data/token_corpus.h"
#include "evenkeel/data/tokenizer_digests.h"

namespace evenkeel::data {

namespace {

namespace fs = std::filesystem;

/// The manifest of shards, and the input or the folder that has them.
struct NamedManifest {
  std::string name;
  ShardManifest manifest;
};

/// As manifest_of(); nullopt also for an input that cannot be read, which its reader refuses.
std::optional<ShardManifest> manifest_if_readable(const std::string& input) {
  try {
    return manifest_of(input);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// The manifest of an input; of a folder or a pattern without one, those next to its files.
std::vector<NamedManifest> manifests_of(const std::string& input) {
  if (auto own = manifest_if_readable(input)) return {{input, std::move(*own)}};
  if (!is_search(input)) return {};
  std::vector<std::string> files;
  try {
    files = token_files_in(input);
  } catch (const Error&) {
    return {};  // its reader refuses it
  }
  std::vector<NamedManifest> found;
  std::set<fs::path> folders;
  for (const auto& file : files) {
    const auto folder = fs::path(file).parent_path();
    if (folders.contains(folder)) continue;
    auto manifest = manifest_if_readable(file);
    if (!manifest) continue;
    folders.insert(folder);
    found.push_back({folder.string(), std::move(*manifest)});
  }
  return found;
}

TokenizerDigests digests_in(const ShardManifest& manifest) {
  return {.file = manifest.tokenizer, .encoding = manifest.tokenizer_encoding};
}

/// Shards, and the digests of their tokenizer.
struct NamedTokenizer {
  std::string name;
  TokenizerDigests digests;
};

/// The tokenizers of all shards that the inputs name and `evenkeel tokenize` has made.
std::vector<NamedTokenizer> tokenizers_of(const std::vector<std::string>& inputs) {
  std::vector<NamedTokenizer> found;
  for (const auto& input : inputs) {
    for (const auto& [name, manifest] : manifests_of(input)) {
      if (!manifest.tokenizer.empty()) found.push_back({name, digests_in(manifest)});
    }
  }
  return found;
}

}  // namespace

bool is_tokenizer_of(const ShardManifest& manifest, const tokenizer::Tokenizer& tokenizer) {
  return digests_in(manifest).gives_equal_ids(tokenizer_digests(tokenizer));
}

std::vector<std::string> token_files_of(const config::Data& data, bool with_training_text) {
  std::vector<std::string> all;
  const auto add = [&](const std::vector<std::string>& inputs) {
    const bool names_no_file = std::any_of(inputs.begin(), inputs.end(), [](const auto& each) {
      return each == "auto" || each.starts_with(kBuiltin);
    });
    if (names_no_file || !are_token_files(inputs, data)) return;
    all.insert(all.end(), inputs.begin(), inputs.end());
  };
  if (with_training_text && data.weights.empty()) add(data.train);
  if (with_training_text && !data.weights.empty()) {
    for (const auto& each : data.train) add({each});
  }
  add(data.validation);
  add(data.ood);
  return all;
}

void check_one_tokenizer(const std::vector<std::string>& inputs,
                         const tokenizer::Tokenizer& tokenizer) {
  auto others = tokenizers_of(inputs);
  if (others.empty()) return;
  const auto first = others.front().name;
  std::vector<TokenizerDigests> known = {others.front().digests};
  others.push_back({"", tokenizer_digests(tokenizer)});  // no shards
  for (std::size_t i = 0; i < known.size(); ++i) {
    const auto agree = std::stable_partition(
        others.begin(), others.end(),
        [digests = known[i]](const auto& each) { return !each.digests.gives_equal_ids(digests); });
    for (auto at = agree; at != others.end(); ++at) known.push_back(at->digests);
    others.erase(agree, others.end());
  }
  if (others.empty() || others.front().name.empty()) return;
  throw Error(Exit::data, text(others.front().name, ": the tokens must be of the tokenizer of ",
                               first, ", but ", kShardManifest,
                               " names another tokenizer; tokenize both texts with one"));
}

std::optional<TokenId> end_of_text_of_shards(const std::vector<TokenInput>& inputs) {
  const TokenInput* first = nullptr;
  for (const auto& input : inputs) {
    if (!input.manifest) continue;
    if (first == nullptr) first = &input;
    const auto wanted = first->manifest->end_of_text, found = input.manifest->end_of_text;
    if (wanted == found) continue;
    throw Error(Exit::data,
                text(input.name, ": its documents must end with token ", wanted, " as those of ",
                     first->name, ", but end with ", found, "; set data.end_of_text"));
  }
  return first == nullptr ? std::nullopt : std::optional<TokenId>(first->manifest->end_of_text);
}

void warn_of_other_end(const std::vector<TokenInput>& inputs, TokenId named) {
  for (const auto& input : inputs) {
    if (!input.manifest || input.manifest->end_of_text == named) continue;
    print_warnings_once(
        {text(input.name, ": data.end_of_text is ", named, ", but ", kShardManifest,
              " says that its documents end with token ", input.manifest->end_of_text)});
  }
}

}  // namespace evenkeel::data
