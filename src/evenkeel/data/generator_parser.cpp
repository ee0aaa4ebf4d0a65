// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/generator_parser.h"

#include <cctype>

namespace evenkeel::data {

namespace {

constexpr std::uint64_t kCorpusSeed = 1;  // independent of the run's seed

bool is_word(char each) {
  return std::isalnum(static_cast<unsigned char>(each)) != 0;
}

char upper(char each) {
  return static_cast<char>(std::toupper(static_cast<unsigned char>(each)));
}

/// True if a space separates `text` from the previous word.
bool takes_space(std::string_view text) {
  return is_word(text[0]) || text[0] == '(';
}

}  // namespace

DocumentGenerator::DocumentGenerator(std::string_view stream) : random_(kCorpusSeed, stream) {}

void DocumentGenerator::literal(std::string_view text) {
  if (spacing_ == Spacing::space && takes_space(text)) text_ += ' ';
  const auto begin = text_.size();
  text_ += text;
  if (spacing_ == Spacing::capitalized) text_[begin] = upper(text_[begin]);
  spacing_ = Spacing::space;
}

std::size_t DocumentGenerator::choice(const Categorical& choices) {
  const auto index = choices.sample(draw());
  nats_ += choices.nats(index);
  literal(choices.text(index));
  return index;
}

std::optional<std::size_t> DocumentGenerator::optional_choice(const Categorical& gate,
                                                              const Categorical& choices) {
  const auto open = gate.sample(draw());
  nats_ += gate.nats(open);
  if (open == 0) return std::nullopt;
  return choice(choices);
}

void DocumentGenerator::begin_document() {
  text_.clear();
  nats_ = 0;
  spacing_ = Spacing::capitalized;
}

std::uint32_t DocumentGenerator::draw() {
  if (draw_count_ % 4 == 0) draws_ = random_.words(draw_count_ / 4);
  return draws_[draw_count_++ % 4];
}

void DocumentParser::literal(std::string_view text) {
  if (matches_here(text)) {
    consume(text);
  } else {
    failed_ = true;
  }
}

std::size_t DocumentParser::choice(const Categorical& choices) {
  const auto index = find(choices);
  if (!index) {
    failed_ = true;
    return 0;
  }
  nats_ += choices.nats(*index);
  consume(choices.text(*index));
  return *index;
}

std::optional<std::size_t> DocumentParser::optional_choice(const Categorical& gate,
                                                           const Categorical& choices) {
  const bool open = find(choices).has_value();
  nats_ += gate.nats(open ? 1 : 0);
  if (!open) return std::nullopt;
  return choice(choices);
}

std::optional<double> DocumentParser::nats() const {
  if (failed_ || at_ != text_.size()) return std::nullopt;
  return nats_;
}

bool DocumentParser::matches_here(std::string_view text) const {
  if (failed_) return false;
  auto rest = text_.substr(at_);
  if (spacing_ == Spacing::space && takes_space(text)) {
    if (!rest.starts_with(' ')) return false;
    rest.remove_prefix(1);
  }
  if (rest.size() < text.size()) return false;
  const char first = spacing_ == Spacing::capitalized ? upper(text[0]) : text[0];
  if (rest[0] != first || rest.substr(1, text.size() - 1) != text.substr(1)) return false;
  const bool inside_word =
      is_word(text.back()) && rest.size() > text.size() && is_word(rest[text.size()]);
  return !inside_word;
}

std::optional<std::size_t> DocumentParser::find(const Categorical& choices) const {
  for (std::size_t index = 0; index < choices.size(); ++index) {
    if (matches_here(choices.text(index))) return index;
  }
  return std::nullopt;
}

void DocumentParser::consume(std::string_view text) {
  at_ += text.size() + (spacing_ == Spacing::space && takes_space(text) ? 1 : 0);
  spacing_ = Spacing::space;
}

}  // namespace evenkeel::data
