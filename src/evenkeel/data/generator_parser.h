// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "evenkeel/base/philox.h"
#include "evenkeel/data/categorical.h"

/// The two visitors of a grammar: one generates a random document, the other parses a
/// given one. Both make the same choices through the same calls and add up their -ln p:
///
///   set_spacing(Spacing::capitalized): the next word has a capital letter and no blank before it
///   literal("who"): this very text
///   choice(choices): one of the texts; its index
///   optional_choice(gate, choices): nothing, or one of the texts; nothing that can follow begins
///   like them
///
/// Words are set apart by blanks; literals such as "," follow the word before them directly.
namespace evenkeel::data {

/// What separates a text from the text before it.
enum class Spacing { space, none, capitalized };

/// Samples random documents.
class DocumentGenerator {
 public:
  explicit DocumentGenerator(std::string_view stream);

  void set_spacing(Spacing spacing) { spacing_ = spacing; }
  void literal(std::string_view text);
  std::size_t choice(const Categorical& choices);
  /// With the probability of the second text of `gate` a word, else nothing.
  std::optional<std::size_t> optional_choice(const Categorical& gate, const Categorical& choices);

  std::size_t length() const { return text_.size(); }
  double nats() const { return nats_; }
  const std::string& text() const { return text_; }
  void begin_document();

 private:
  std::uint32_t draw();

  Philox random_;
  std::uint64_t draw_count_ = 0;
  std::array<std::uint32_t, 4> draws_{};
  Spacing spacing_ = Spacing::capitalized;
  std::string text_;
  double nats_ = 0;
};

/// Parses one document; the first mismatch with the grammar is final.
class DocumentParser {
 public:
  explicit DocumentParser(std::string_view text) : text_(text) {}

  void set_spacing(Spacing spacing) { spacing_ = spacing; }
  void literal(std::string_view text);
  std::size_t choice(const Categorical& choices);
  std::optional<std::size_t> optional_choice(const Categorical& gate, const Categorical& choices);

  /// What is read so far; without end after a failure, so that no loop waits for more.
  std::size_t length() const { return failed_ ? std::string_view::npos : at_; }
  /// -ln p of the whole text; nothing if it is not a document.
  std::optional<double> nats() const;

 private:
  bool matches_here(std::string_view text) const;
  std::optional<std::size_t> find(const Categorical& choices) const;
  void consume(std::string_view text);

  std::string_view text_;
  std::size_t at_ = 0;
  Spacing spacing_ = Spacing::capitalized;
  double nats_ = 0;
  bool failed_ = false;
};

}  // namespace evenkeel::data
