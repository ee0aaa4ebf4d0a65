// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "evenkeel/data/corpus.h"
#include "evenkeel/data/file_digest.h"
#include "evenkeel/data/json_text.h"
#include "evenkeel/data/token_layout.h"

namespace evenkeel::data {

/// The formats of shards of tokens.
///
///   | format   | files of a shard                                | type of the ids | | -------- |
///   ----------------------------------------------- | ------------------------------- | | olmo |
///   .npy without header, .csv.gz: document bounds   | smallest_type(vocabulary)       | | llm_c |
///   .bin with a header of 1,024 bytes               | uint16 up to 65,536 ids, uint32 | | megatron
///   | .bin, .idx                                      | uint16 below 65,500 ids, int32  | |
///   nanogpt  | .bin without header                             | uint16                          |
///
/// \source OLMo-core (data/numpy_dataset), llm.c (dev/data), Megatron-LM
///         (core/datasets/indexed_dataset.py, optimal_dtype), nanoGPT (data/openwebtext)
enum class ShardFormat { olmo, llm_c, megatron, nanogpt };

const char* name_of(ShardFormat format);

/// \throws Error (usage, exit code 64) for an unknown name
ShardFormat shard_format(const std::string& name);

/// The type of the ids of a format.
/// \throws Error (usage, exit code 64) for a vocabulary that the format cannot hold
TokenType shard_type(ShardFormat format, std::int64_t vocabulary);

/// A file of a shard.
struct ShardFile {
  std::string name;  // in the folder of the shards
  FileDigest digest;
};

struct Shard {
  ShardFile tokens_file;
  std::optional<ShardFile> sidecar;  // olmo: document bounds; megatron: index
  std::int64_t documents = 0, tokens = 0;
  std::optional<TextBytes> text_bytes;  // without end-of-text tokens; nullopt: unknown
};

/// The file manifest.json of a folder of shards.
struct ShardManifest {
  ShardFormat format = ShardFormat::olmo;
  TokenType type = TokenType::uint16;
  std::string tokenizer;           // Tokenizer::digest()
  std::string tokenizer_encoding;  // Tokenizer::encoding_digest(); "": none, or not known
  std::int64_t vocabulary = 0;
  std::uint32_t end_of_text = 0;
  std::optional<bool> special_in_text;  // data.special_in_text; nullopt: unknown
  std::vector<Shard> shards;
  // Left out of the texts: JSON's null, empty texts of JSON and parquet, documents without an id.
  std::int64_t null_texts = 0, empty_texts = 0, documents_without_tokens = 0;
  std::optional<std::int64_t> invalid_lines;     // left out; nullopt: without --skip-invalid
  std::vector<InvalidLine> first_invalid_lines;  // the first JsonCounts::kMostListed of them

  std::int64_t documents() const;
  std::int64_t tokens() const;
  std::int64_t bytes() const;  // of all files
  /// Shard::text_bytes of all shards; nullopt: unknown.
  std::optional<TextBytes> text_bytes() const;
};

/// "2 documents without tokens left out"; "" for 0.
std::string without_tokens_text(std::int64_t documents);

/// JsonCounts::description(), then without_tokens_text(); "" for none.
std::string left_out_description(const JsonCounts& counts, std::int64_t documents_without_tokens);

/// The fields null_texts, empty_texts and documents_without_tokens of the manifest that are not 0.
std::vector<std::pair<const char*, std::int64_t>> left_out_counts(const ShardManifest& manifest);

inline constexpr const char* kShardManifest = "manifest.json";

/// Writes the manifest durably.
/// \throws Error (io, exit code 74)
void write_shard_manifest(const std::string& folder, const ShardManifest& manifest);

/// \throws Error (data, exit code 65) if the manifest is missing, or not as Evenkeel writes it
ShardManifest read_shard_manifest(const std::string& folder);

}  // namespace evenkeel::data
