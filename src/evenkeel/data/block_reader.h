// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "evenkeel/data/text_block.h"
#include "evenkeel/tokenizer/line_cut.h"

namespace evenkeel::data {

/// Reads text files, one after another, as blocks that threads can parse. It decompresses, but does
/// not look into text and lines, so that it takes little of the time. Arrays of JSON and parquet
/// are parsed here.
class BlockReader {
 public:
  /// \param files        outlive the reader and its blocks
  /// \param text_key     JSON key or parquet column of the text
  /// \param cut          where files of kind text may be cut. Known: their pieces have about 2 MiB;
  ///                     unknown: `large_piece`, because a cut may change tokens
  /// \param large_piece  bytes; at least 4,096
  BlockReader(std::span<const TextFile> files, std::string text_key, tokenizer::LineCut cut,
              std::size_t large_piece = std::size_t{32} << 20);
  BlockReader(const BlockReader&) = delete;
  BlockReader& operator=(const BlockReader&) = delete;
  BlockReader(BlockReader&&) = delete;
  BlockReader& operator=(BlockReader&&) = delete;
  ~BlockReader();

  /// Appends parts to a block until it has about 2 MiB, or the files end. Parts that are complete
  /// before an error stay in the block.
  /// \return false if no part is left
  /// \throws Error (data, exit code 65) for a file that cannot be read or unpacked, and as the
  ///         readers of .json and .parquet
  bool read(TextBlock& block);

 private:
  class RawFile;
  class ParsedFile;

  void open_next();

  std::span<const TextFile> files_;  // that are not open yet
  std::string text_key_;
  tokenizer::LineCut cut_;
  std::size_t large_piece_;
  const TextFile* file_ = nullptr;  // that is open: as one of these
  std::unique_ptr<RawFile> raw_;
  std::unique_ptr<ParsedFile> parsed_;
};

}  // namespace evenkeel::data
