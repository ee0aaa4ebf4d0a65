// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/shard_bytes.h"

#include <cstdint>
#include <filesystem>

#include "evenkeel/data/shard_tokenizers.h"

namespace evenkeel::data {

const Shard* shard_of(const TokenInput& input, const std::string& path) {
  if (!input.manifest) return nullptr;
  const auto file = std::filesystem::path(path).lexically_normal();
  for (const auto& shard : input.manifest->shards) {
    const auto& name = shard.tokens_file.name;
    if (!path.ends_with(name)) continue;  // most names; paths are slow to compare
    if (file.filename() == name && (input.folder / name).lexically_normal() == file) return &shard;
  }
  return nullptr;
}

std::optional<TextBytes> text_bytes_of(const TokenInput& input, const TextEncoding& encoding) {
  const auto& lengths = *encoding.token_lengths();
  const auto& manifest = input.manifest;
  if (!manifest || !is_tokenizer_of(*manifest, encoding.tokenizer())) return std::nullopt;
  if (manifest->end_of_text >= lengths.size()) return std::nullopt;
  const std::int64_t end_bytes = lengths[manifest->end_of_text];
  std::optional<TextBytes> sum = TextBytes();
  for (const auto& path : input.files) {
    const auto* const shard = shard_of(input, path);
    if (shard == nullptr) return std::nullopt;
    add_known(sum, shard->text_bytes);
    add_known(sum, TextBytes{.read = shard->documents, .counted = shard->documents * end_bytes});
  }
  return sum;
}

}  // namespace evenkeel::data
