// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "evenkeel/data/json_text.h"
#include "evenkeel/data/shard_manifest.h"

namespace evenkeel::data {

struct TokenWriterOptions {
  std::string folder;  // is made if it does not exist
  std::string name = "tokens";
  ShardFormat format = ShardFormat::olmo;
  std::int64_t shard_tokens = 100'000'000;             // most tokens of a shard
  std::int64_t vocabulary = 0;                         // number of ids
  std::uint32_t end_of_text = 0;                       // id
  std::string tokenizer;                               // for the manifest, as the next two
  std::string tokenizer_encoding = {};                 // ShardManifest::tokenizer_encoding
  std::optional<bool> special_in_text = std::nullopt;  // data.special_in_text
};

/// Writes the tokens of documents as shards NAME-00000, NAME-00001, ... and manifest.json. The same
/// documents give the same bytes. A document is never split: the next shard begins before a
/// document that does not fit, and a document longer than a shard is a shard alone. Files appear
/// when they are complete and durable; the manifest is the last. Memory: 1 MiB, and 8 bytes per
/// document of a shard.
class TokenWriter {
 public:
  /// \throws Error (usage, exit code 64) for a vocabulary or a shard that the format cannot hold;
  ///         Error (data, exit code 65) if the folder has shards; Error (io, exit code 74)
  explicit TokenWriter(TokenWriterOptions options);
  TokenWriter(const TokenWriter&) = delete;
  TokenWriter& operator=(const TokenWriter&) = delete;
  TokenWriter(TokenWriter&&) = delete;
  TokenWriter& operator=(TokenWriter&&) = delete;
  /// Without finish(): the complete shards stay, the manifest is not written.
  ~TokenWriter();

  /// Appends the ids of a document and end_of_text. Does nothing for a document without ids.
  /// \param ids  below the vocabulary
  /// \throws Error (io, exit code 74); Error (data, exit code 65) for a document of 2^31 - 1 ids or
  ///         more in the formats of llm.c and Megatron
  void append(std::span<const std::uint32_t> ids);

  /// Appends the first ids of a document that is too large for the memory. The next append() or
  /// append_part() goes on with the document.
  /// \throws as append()
  void append_part(std::span<const std::uint32_t> ids);

  /// Completes the last shard and writes the manifest. Called once.
  /// \param left_out  invalid lines of the texts, for the manifest; nullopt: an invalid line was an
  ///                  error
  /// \throws Error (data, exit code 65) if no document was appended; Error (io, exit code 74)
  ShardManifest finish(const std::optional<JsonCounts>& left_out = std::nullopt);

 private:
  class OpenShard;

  TokenWriterOptions options_;
  void make_room(std::int64_t tokens);

  ShardManifest manifest_;
  std::unique_ptr<OpenShard> shard_;
  bool is_in_document_ = false;  // after append_part()
};

}  // namespace evenkeel::data
