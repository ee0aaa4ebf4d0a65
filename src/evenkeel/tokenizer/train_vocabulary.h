// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evenkeel/tokenizer/bpe.h"
#include "evenkeel/tokenizer/word_pattern.h"

namespace evenkeel::tokenizer {

/// The pattern that divides the text of a new vocabulary.
enum class TrainingPattern { gpt2, gpt4 };

/// How often each word occurs. One thread uses it; threads merge theirs.
class WordCounts {
 public:
  explicit WordCounts(TrainingPattern pattern);

  /// Counts the words of a document.
  /// \throws Error (data, exit code 65) if it is not UTF-8
  void add(std::string_view document);
  void merge(const WordCounts& other);

  TrainingPattern pattern() const { return pattern_; }
  const std::unordered_map<std::string, std::uint64_t, TextHash, std::equal_to<>>& counts() const {
    return counts_;
  }

 private:
  TrainingPattern pattern_;
  WordPattern words_;
  std::unordered_map<std::string, std::uint64_t, TextHash, std::equal_to<>> counts_;
};

/// A byte-level BPE. Token 0 is `<|endoftext|>`, 1 to 256 are the bytes in the order of their
/// characters (byte_characters.h), then the merged tokens follow.
struct Vocabulary {
  TrainingPattern pattern = TrainingPattern::gpt2;
  std::vector<std::string> tokens;  // their bytes, by id
  std::vector<std::pair<Id, Id>> merges;

  /// The content of a tokenizer.json.
  std::string tokenizer_json() const;
};

inline constexpr std::int64_t kMinTrainedVocabulary = 257;

/// Trains a BPE: merges the most frequent pair of neighbors in the words, again and again. Of
/// equally frequent pairs the one with the smaller ids is first. Merges and ids equal those of
/// Hugging Face's BpeTrainer with the alphabet of ByteLevel.
/// \param size  of the vocabulary; fewer tokens result if no pair is left
/// \throws Error (usage, exit code 64) for a size below 257
Vocabulary train_vocabulary(const WordCounts& words, std::int64_t size);

}  // namespace evenkeel::tokenizer
