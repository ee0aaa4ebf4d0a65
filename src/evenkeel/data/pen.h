// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "evenkeel/base/philox.h"
#include "evenkeel/data/words.h"

/// The two pens that a grammar can be run with: one writes a random document, the other reads a
/// given one. Both make the same choices through the same calls and add up their -ln p:
///
///   join(Joint::capital)  the next word has a capital letter and no blank before it
///   mark("who")           this very text
///   pick(words)           one of the words; its index
///   maybe(gate, words)    nothing, or one of the words; nothing that can follow begins like them
///
/// Words are set apart by blanks, marks such as "," stick to the word before them.
namespace evenkeel::data {

/// How a text is joined to what stands before it.
enum class Joint { blank, glued, capital };

/// Writes random documents.
class Writer {
 public:
  explicit Writer(std::string_view stream);

  void join(Joint joint) { joint_ = joint; }
  void mark(std::string_view text);
  std::size_t pick(const Words& words);
  /// With the probability of the second text of `gate` a word, else nothing.
  std::optional<std::size_t> maybe(const Words& gate, const Words& words);

  std::size_t length() const { return text_.size(); }
  double nats() const { return nats_; }
  const std::string& text() const { return text_; }
  void new_document();

 private:
  std::uint32_t draw();

  Philox random_;
  std::uint64_t drawn_ = 0;
  std::array<std::uint32_t, 4> draws_{};
  Joint joint_ = Joint::capital;
  std::string text_;
  double nats_ = 0;
};

/// Reads one document; once it meets what the grammar does not write, it has failed for good.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  void join(Joint joint) { joint_ = joint; }
  void mark(std::string_view text);
  std::size_t pick(const Words& words);
  std::optional<std::size_t> maybe(const Words& gate, const Words& words);

  /// What is read so far; without end after a failure, so that no loop waits for more.
  std::size_t length() const { return failed_ ? std::string_view::npos : at_; }
  /// -ln p of the whole text; nothing if it is not a document.
  std::optional<double> nats() const;

 private:
  bool stands_here(std::string_view text) const;
  std::optional<std::size_t> find(const Words& words) const;
  void step_over(std::string_view text);

  std::string_view text_;
  std::size_t at_ = 0;
  Joint joint_ = Joint::capital;
  double nats_ = 0;
  bool failed_ = false;
};

}  // namespace evenkeel::data
