// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/additions.h"

#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/base/philox.h"
#include "evenkeel/data/pen.h"

namespace evenkeel::data {

namespace {

constexpr std::size_t kTrainSums = 60000, kValidationSums = 2000;
constexpr int kHighest = 99;

/// "1" .. "99", as likely as each other.
const Words& operands() {
  static const Words words = [] {
    std::vector<std::string> texts;
    for (int number = 1; number <= kHighest; ++number) texts.push_back(std::to_string(number));
    return Words(texts, std::vector<double>(texts.size(), 1));
  }();
  return words;
}

int number(Writer& pen) {
  pen.join(Joint::glued);
  return static_cast<int>(pen.pick(operands())) + 1;
}

/// After the least number of terms it ends or goes on, the one as likely as the other.
bool goes_on(Writer& pen, int written, Terms terms) {
  static const Words kEndOrMore({"=", "+"}, {1, 1});
  if (written >= terms.least && written < terms.most) return pen.pick(kEndOrMore) == 1;
  const bool more = written < terms.least;
  pen.mark(more ? "+" : "=");
  return more;
}

void write_sum(Writer& pen, Terms terms) {
  int sum = number(pen);
  for (int written = 1; goes_on(pen, written, terms); ++written) sum += number(pen);
  pen.join(Joint::glued);
  pen.mark(std::to_string(sum));
}

/// One text in eight.
bool is_held_out(std::string_view sum) {
  constexpr std::uint32_t kOneIn = 8;
  return Philox(0, sum).words(0)[0] % kOneIn == 0;
}

Corpus written(std::string_view stream, std::size_t count, Terms terms, bool held_out) {
  Corpus corpus;
  corpus.exact = true;
  corpus.answer_mark = kAnswerMark;
  corpus.tokens.push_back(kEndOfText);
  Writer pen(stream);
  while (corpus.documents.size() < count) {
    pen.new_document();
    write_sum(pen, terms);
    if (is_held_out(pen.text()) == held_out) corpus.append(pen.text(), pen.nats());
  }
  return corpus;
}

}  // namespace

Corpora additions(Terms terms) {
  Corpora corpora;
  corpora.train = written("addition/train", kTrainSums, terms, false);
  corpora.validation = written("addition/validation", kValidationSums, terms, true);
  return corpora;
}

}  // namespace evenkeel::data
