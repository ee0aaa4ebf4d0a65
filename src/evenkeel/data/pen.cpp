// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/pen.h"

#include <cctype>

namespace evenkeel::data {

namespace {

constexpr std::uint64_t kCorpusSeed = 1;  // of the text, whatever the seed of the run

bool is_word(char each) {
  return std::isalnum(static_cast<unsigned char>(each)) != 0;
}

char upper(char each) {
  return static_cast<char>(std::toupper(static_cast<unsigned char>(each)));
}

/// Whether a blank sets `text` apart from the word before it.
bool has_blank(std::string_view text) {
  return is_word(text[0]) || text[0] == '(';
}

}  // namespace

Writer::Writer(std::string_view stream) : random_(kCorpusSeed, stream) {}

void Writer::mark(std::string_view text) {
  if (joint_ == Joint::blank && has_blank(text)) text_ += ' ';
  const auto begin = text_.size();
  text_ += text;
  if (joint_ == Joint::capital) text_[begin] = upper(text_[begin]);
  joint_ = Joint::blank;
}

std::size_t Writer::pick(const Words& words) {
  const auto index = words.pick(draw());
  nats_ += words.nats(index);
  mark(words.text(index));
  return index;
}

std::optional<std::size_t> Writer::maybe(const Words& gate, const Words& words) {
  const auto open = gate.pick(draw());
  nats_ += gate.nats(open);
  if (open == 0) return std::nullopt;
  return pick(words);
}

void Writer::new_document() {
  text_.clear();
  nats_ = 0;
  joint_ = Joint::capital;
}

std::uint32_t Writer::draw() {
  if (drawn_ % 4 == 0) draws_ = random_.words(drawn_ / 4);
  return draws_[drawn_++ % 4];
}

void Reader::mark(std::string_view text) {
  if (stands_here(text)) {
    step_over(text);
  } else {
    failed_ = true;
  }
}

std::size_t Reader::pick(const Words& words) {
  const auto index = find(words);
  if (!index) {
    failed_ = true;
    return 0;
  }
  nats_ += words.nats(*index);
  step_over(words.text(*index));
  return *index;
}

std::optional<std::size_t> Reader::maybe(const Words& gate, const Words& words) {
  const bool open = find(words).has_value();
  nats_ += gate.nats(open ? 1 : 0);
  if (!open) return std::nullopt;
  return pick(words);
}

std::optional<double> Reader::nats() const {
  if (failed_ || at_ != text_.size()) return std::nullopt;
  return nats_;
}

bool Reader::stands_here(std::string_view text) const {
  if (failed_) return false;
  auto rest = text_.substr(at_);
  if (joint_ == Joint::blank && has_blank(text)) {
    if (!rest.starts_with(' ')) return false;
    rest.remove_prefix(1);
  }
  if (rest.size() < text.size()) return false;
  const char first = joint_ == Joint::capital ? upper(text[0]) : text[0];
  if (rest[0] != first || rest.substr(1, text.size() - 1) != text.substr(1)) return false;
  const bool inside_word =
      is_word(text.back()) && rest.size() > text.size() && is_word(rest[text.size()]);
  return !inside_word;
}

std::optional<std::size_t> Reader::find(const Words& words) const {
  for (std::size_t index = 0; index < words.size(); ++index) {
    if (stands_here(words.text(index))) return index;
  }
  return std::nullopt;
}

void Reader::step_over(std::string_view text) {
  at_ += text.size() + (joint_ == Joint::blank && has_blank(text) ? 1 : 0);
  joint_ = Joint::blank;
}

}  // namespace evenkeel::data
