// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "evenkeel/base/philox.h"
#include "evenkeel/data/categorical.h"

/// Two visitors of a grammar: DocumentGenerator samples a random document, DocumentParser parses a
/// given one. Both have the same member functions and add up -ln p of all choices:
///
///   set_spacing(Spacing::capitalized)  the next word has a capital letter and no space before it
///   literal("who")                     exactly this text
///   choice(choices)                    one of the texts; returns its index
///   optional_choice(gate, choices)     nothing, or one of the texts; no text that can follow may
///                                      begin with one of them
///
/// A space separates words; a literal such as "," follows the previous word without space.
namespace evenkeel::data {

/// The separator between a text and the previous text.
enum class Spacing { space, none, capitalized };

/// Samples random documents.
class DocumentGenerator {
 public:
  explicit DocumentGenerator(std::string_view stream);

  void set_spacing(Spacing spacing) { spacing_ = spacing; }
  void literal(std::string_view text);
  std::size_t choice(const Categorical& choices);
  /// Samples a word with the probability of the second text of `gate`; else returns nullopt.
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

/// Parses one document. After the first mismatch with the grammar, parsing stays failed.
class DocumentParser {
 public:
  explicit DocumentParser(std::string_view text) : text_(text) {}

  void set_spacing(Spacing spacing) { spacing_ = spacing; }
  void literal(std::string_view text);
  std::size_t choice(const Categorical& choices);
  std::optional<std::size_t> optional_choice(const Categorical& gate, const Categorical& choices);

  /// The number of bytes parsed so far; npos after a failure, so that loops over sentences end.
  std::size_t length() const { return failed_ ? std::string_view::npos : at_; }
  /// -ln p of the whole text, in nats; nullopt if the text is not a document of the grammar.
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
