// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/train_vocabulary.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "evenkeel/base/utf8.h"
#include "evenkeel/tokenizer/bpe_json.h"
#include "evenkeel/tokenizer/byte_characters.h"
#include "evenkeel/tokenizer/model.h"
#include "evenkeel/tokenizer/refuse.h"

namespace evenkeel::tokenizer {

namespace {

std::string_view pattern_text(TrainingPattern pattern) {
  return pattern == TrainingPattern::gpt2 ? kGpt2Pattern : kGpt4Pattern;
}

std::uint64_t joined(Id left, Id right) {
  return std::uint64_t{left} << 32 | right;
}

/// A pair of neighbors, and the words that had it when it was entered.
struct PairInWords {
  std::uint64_t pair = 0;
  std::int64_t count = 0;
  std::vector<std::uint32_t> words;

  /// The most frequent pair is first, of equally frequent ones that of the smaller ids.
  bool operator<(const PairInWords& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

/// The symbols of a word: a range of Trainer::symbols_.
struct Word {
  std::size_t begin = 0;
  std::uint32_t length = 0;
  std::int64_t count = 0;
};

/// The state of training.
class Trainer {
 public:
  Trainer(const WordCounts& words, std::int64_t size) : size_(static_cast<std::size_t>(size)) {
    out_.pattern = words.pattern();
    out_.tokens.reserve(size_);
    out_.tokens.emplace_back(kEndOfText);
    add_bytes();
    for (const auto& [word, count] : words.counts()) add_word(word, count);
  }

  Vocabulary trained() {
    for (std::uint32_t index = 0; index < words_.size(); ++index) {
      const auto& word = words_[index];
      for (std::uint32_t at = 0; at + 1 < word.length; ++at) {
        change(symbols_[word.begin + at], symbols_[word.begin + at + 1], word.count, index);
      }
    }
    enter_new_pairs();
    while (out_.tokens.size() < size_ && !heap_.empty()) {
      auto best = take();
      if (const auto now = counts_[best.pair]; now != best.count) {
        best.count = now;
        put(std::move(best));
        continue;
      }
      if (best.count < 1) break;
      merge(best);
      enter_new_pairs();
    }
    return std::move(out_);
  }

 private:
  void add_bytes() {
    std::array<unsigned, 256> order{};  // of bytes, by their characters
    for (unsigned byte = 0; byte < order.size(); ++byte) order[byte] = byte;
    const auto& characters = byte_characters();
    std::sort(order.begin(), order.end(),
              [&](unsigned a, unsigned b) { return characters[a] < characters[b]; });
    for (const auto byte : order) {
      byte_ids_[byte] = static_cast<Id>(out_.tokens.size());
      ids_.emplace(std::string(1, static_cast<char>(byte)), byte_ids_[byte]);
      out_.tokens.emplace_back(1, static_cast<char>(byte));
    }
  }

  void add_word(std::string_view word, std::uint64_t count) {
    words_.push_back({symbols_.size(), static_cast<std::uint32_t>(word.size()),
                      static_cast<std::int64_t>(count)});
    for (const char each : word) symbols_.push_back(byte_ids_[static_cast<unsigned char>(each)]);
  }

  PairInWords take() {
    std::pop_heap(heap_.begin(), heap_.end());
    auto out = std::move(heap_.back());
    heap_.pop_back();
    return out;
  }

  void put(PairInWords pair) {
    heap_.push_back(std::move(pair));
    std::push_heap(heap_.begin(), heap_.end());
  }

  /// Adds to the count of a pair. A pair that was added is entered again, with its words.
  void change(Id left, Id right, std::int64_t count, std::uint32_t word) {
    const auto pair = joined(left, right);
    counts_[pair] += count;
    if (count < 0) return;
    auto& words = new_pairs_[pair];
    if (words.empty() || words.back() != word) words.push_back(word);
  }

  void enter_new_pairs() {
    for (auto& [pair, words] : new_pairs_) {
      const auto count = counts_[pair];
      if (count > 0) put({pair, count, std::move(words)});
    }
    new_pairs_.clear();
  }

  void merge(const PairInWords& best) {
    const auto left = static_cast<Id>(best.pair >> 32), right = static_cast<Id>(best.pair);
    auto text = out_.tokens[left] + out_.tokens[right];
    const auto next = static_cast<Id>(out_.tokens.size());
    const auto [found, is_new] = ids_.emplace(text, next);
    if (is_new) out_.tokens.push_back(std::move(text));
    out_.merges.emplace_back(left, right);
    for (const auto index : best.words) merge_in_word(left, right, found->second, index);
  }

  /// Replaces the pair in a word, from left to right.
  void merge_in_word(Id left, Id right, Id merged, std::uint32_t index) {
    auto& word = words_[index];
    auto* const symbols = symbols_.data() + word.begin;
    std::uint32_t kept = 0;
    for (std::uint32_t at = 0; at < word.length;) {
      if (symbols[at] != left || at + 1 == word.length || symbols[at + 1] != right) {
        symbols[kept++] = symbols[at++];
        continue;
      }
      if (kept > 0) {
        change(symbols[kept - 1], left, -word.count, index);
        change(symbols[kept - 1], merged, word.count, index);
      }
      symbols[kept++] = merged;
      at += 2;
      if (at < word.length) {
        change(right, symbols[at], -word.count, index);
        change(merged, symbols[at], word.count, index);
      }
    }
    word.length = kept;
  }

  std::size_t size_;
  Vocabulary out_;
  IdByText ids_;
  std::array<Id, 256> byte_ids_{};
  std::vector<Id> symbols_;
  std::vector<Word> words_;
  std::unordered_map<std::uint64_t, std::int64_t> counts_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> new_pairs_;
  std::vector<PairInWords> heap_;
};

nlohmann::ordered_json byte_level(bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}

nlohmann::ordered_json pre_tokenizer_json(TrainingPattern pattern) {
  if (pattern == TrainingPattern::gpt2) return byte_level(true);
  const nlohmann::ordered_json split = {{"type", "Split"},
                                        {"pattern", {{"Regex", pattern_text(pattern)}}},
                                        {"behavior", "Isolated"},
                                        {"invert", false}};
  return {{"type", "Sequence"},
          {"pretokenizers", nlohmann::ordered_json::array({split, byte_level(false)})}};
}

}  // namespace

WordCounts::WordCounts(TrainingPattern pattern)
    : pattern_(pattern), words_(*WordPattern::of(pattern_text(pattern), Syntax::ruby)) {}

void WordCounts::add(std::string_view document) {
  if (const auto invalid = first_invalid_utf8(document)) {
    refuse("text", "must be UTF-8, but is not at byte ", *invalid);
  }
  for (std::size_t at = 0, end = 0; at < document.size(); at = end) {
    end = words_.end_of_match(document, at);
    const auto word = document.substr(at, end - at);
    const auto found = counts_.find(word);
    found == counts_.end() ? void(counts_.emplace(word, 1)) : void(++found->second);
  }
}

void WordCounts::merge(const WordCounts& other) {
  EK_ASSERT(pattern_ == other.pattern_);
  for (const auto& [word, count] : other.counts_) counts_[word] += count;
}

std::string Vocabulary::tokenizer_json() const {
  using Json = nlohmann::ordered_json;
  Json vocabulary = Json::object(), pairs = Json::array();
  vocabulary[kEndOfText] = 0;
  for (Id id = 1; id < tokens.size(); ++id) vocabulary[characters_of_bytes(tokens[id])] = id;
  for (const auto& [left, right] : merges) {
    pairs.push_back({characters_of_bytes(tokens[left]), characters_of_bytes(tokens[right])});
  }
  const auto end = special_token_json<Json>(0, kEndOfText);
  const auto model = bpe_model_json(vocabulary, pairs, /*ignore_merges=*/false);
  const Json json = {{"version", "1.0"},
                     {"truncation", nullptr},
                     {"padding", nullptr},
                     {"added_tokens", Json::array({end})},
                     {"normalizer", nullptr},
                     {"pre_tokenizer", pre_tokenizer_json(pattern)},
                     {"post_processor", nullptr},
                     {"decoder", byte_level(true)},
                     {"model", model}};
  return json.dump(1) + "\n";
}

Vocabulary train_vocabulary(const WordCounts& words, std::int64_t size) {
  if (size < kMinTrainedVocabulary || size >= kMaxVocabulary) {
    throw Error(Exit::usage, text("--train-vocabulary: must be ", kMinTrainedVocabulary, " to ",
                                  kMaxVocabulary - 1, ", but is ", size));
  }
  return Trainer(words, size).trained();
}

}  // namespace evenkeel::tokenizer
