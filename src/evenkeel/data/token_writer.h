// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
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
  bool skips_invalid = false;                          // TextFile::skips_invalid_lines
};

/// Writes the tokens of documents as shards NAME-00000, NAME-00001, ... and manifest.json. The same
/// documents give the same bytes. A document is never split: the next shard begins before a
/// document that does not fit, and a document longer than a shard is a shard alone. Files appear
/// when they are complete and durable; the manifest is the last. Memory: 1 MiB, and 8 bytes per
/// document of a shard.
class TokenWriter {
 public:
  /// Removes the files NAME-00000.npy.part, ... that a killed writer has left in the folder.
  /// \throws Error (usage, exit code 64) for a vocabulary or a shard that the format cannot hold;
  ///         Error (data, exit code 65) if the folder has shards; Error (io, exit code 74)
  explicit TokenWriter(TokenWriterOptions options);
  TokenWriter(const TokenWriter&) = delete;
  TokenWriter& operator=(const TokenWriter&) = delete;
  TokenWriter(TokenWriter&&) = delete;
  TokenWriter& operator=(TokenWriter&&) = delete;
  /// Without finish(): the complete shards stay, the manifest is not written.
  ~TokenWriter();

  /// Appends the ids of a document and end_of_text. Leaves out a document without ids, which the
  /// manifest counts.
  /// \param ids         below the vocabulary
  /// \param text_bytes  of the text of these ids, for the manifest; nullopt: unknown
  /// \throws Error (io, exit code 74); Error (data, exit code 65) for a document of 2^31 - 1 ids or
  ///         more in the formats of llm.c and Megatron
  void append(std::span<const std::uint32_t> ids,
              const std::optional<TextBytes>& text_bytes = std::nullopt);

  /// Appends the first ids of a document that is too large for the memory. The next append() or
  /// append_part() goes on with the document.
  /// \throws as append()
  void append_part(std::span<const std::uint32_t> ids,
                   const std::optional<TextBytes>& text_bytes = std::nullopt);

  /// Completes the last shard and writes the manifest. Called once.
  /// \param left_out  of the texts, for the manifest
  /// \throws Error (data, exit code 65) if no document was appended; Error (io, exit code 74)
  ShardManifest finish(const JsonCounts& left_out = {});

  /// The shards that would stay without finish().
  std::size_t complete_shards() const { return manifest_.shards.size(); }

 private:
  class OpenShard;

  TokenWriterOptions options_;
  void make_room(std::int64_t tokens);

  ShardManifest manifest_;
  std::unique_ptr<OpenShard> shard_;
  bool is_in_document_ = false;                            // after append_part()
  std::optional<TextBytes> document_bytes_ = TextBytes();  // of append_part()
};

}  // namespace evenkeel::data
