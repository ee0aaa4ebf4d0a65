// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/tokenizer/model.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace evenkeel::tokenizer {

/// A SentencePiece model that libsentencepiece encodes with, where read_sentencepiece_bpe() cannot
/// read it. Threads may share one.
class SentencePiece {
 public:
  explicit SentencePiece(std::unique_ptr<sentencepiece::SentencePieceProcessor> processor);
  SentencePiece(const SentencePiece&) = delete;
  SentencePiece& operator=(const SentencePiece&) = delete;
  ~SentencePiece();

  /// Appends the ids of a text. Control symbols in it are text.
  void encode(std::string_view text, std::vector<Id>& out) const;

 private:
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
};

/// The tokenizer of a SentencePiece .model. Its control symbols are special tokens: each part of a
/// text between them is encoded alone.
/// \throws Error (data, exit code 65) for a damaged file or a model that is no BPE
Model sentencepiece_file(const std::string& path, std::string_view content);

}  // namespace evenkeel::tokenizer
