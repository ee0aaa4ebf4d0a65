// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/tokenizer/regex.h"
#include "evenkeel/tokenizer/word_pattern.h"

namespace evenkeel::tokenizer {

/// What becomes of the matches of a Split: Hugging Face's SplitDelimiterBehavior.
enum class Behavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// Divides pieces of text at the matches of a pattern.
struct Split {
  Regex regex;
  std::optional<WordPattern> words;  // instead of `regex`: matches cover the text and are kept
  Behavior behavior = Behavior::isolated;
  bool invert = false;  // what is between the matches is the delimiter
};

/// Where a piece of text begins: with the text, inside of it, or where a text was cut into parts
/// that are encoded one after another. No prefix is put before the rest of a text.
enum class Begin { text, inside, rest };

/// Puts a text before a piece that does not begin with it.
struct Prefix {
  enum class Scheme { always, first };  // first: only before a piece at the start of the text
  std::string text;
  Scheme scheme = Scheme::always;
};

/// A step of a pre-tokenizer: replaces, then prefixes, then splits, as far as they are set.
struct PreTokenizerStep {
  std::string replace_spaces;  // what ' ' becomes; empty: no change
  std::optional<Prefix> prefix;
  std::optional<Split> split;
};

/// Divides text into words.
class PreTokenizer {
 public:
  struct Span {
    std::size_t begin, end;
    bool is_match;
  };
  /// Working memory of one thread.
  struct Scratch {
    Regex::Scratch regex;
  };

  void add(const PreTokenizerStep& step) { steps_.push_back(step); }

  /// That of the WordPattern, if this is the first step, and no step changes the text.
  LineCut line_cut() const;

  /// Calls word(text) for each word. No word is empty.
  /// \param text  well-formed UTF-8
  template <typename Word>
  void words(std::string_view text, Begin begin, Scratch& scratch, const Word& word) const {
    apply(0, text, begin, scratch, word);
  }

 private:
  template <typename Word>
  void apply(std::size_t index, std::string_view text, Begin place, Scratch& scratch,
             const Word& word) const {
    if (text.empty()) return;
    if (index == steps_.size()) return word(text);
    const auto& step = steps_[index];
    std::string changed;
    if (changes(step, text, place, changed)) text = changed;
    if (!step.split) return apply(index + 1, text, place, scratch, word);
    const auto piece = [&](std::size_t begin, std::size_t end) {
      const bool is_first = place == Begin::text && begin == 0;
      apply(index + 1, text.substr(begin, end - begin), is_first ? Begin::text : Begin::inside,
            scratch, word);
    };
    if (step.split->words) {
      const bool is_last = index + 1 == steps_.size();
      for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
        end = step.split->words->end_of_match(text, at);
        is_last ? word(text.substr(at, end - at)) : piece(at, end);
      }
      return;
    }
    for (const auto& each : pieces(*step.split, text, scratch)) piece(each.begin, each.end);
  }

  /// \return true if the step changes the text; `changed` is then the changed one
  static bool changes(const PreTokenizerStep& step, std::string_view text, Begin place,
                      std::string& changed);
  static std::vector<Span> pieces(const Split& split, std::string_view text, Scratch& scratch);

  std::vector<PreTokenizerStep> steps_;
};

}  // namespace evenkeel::tokenizer
