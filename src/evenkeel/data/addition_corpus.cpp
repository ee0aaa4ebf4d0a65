// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/addition_corpus.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>

#include "evenkeel/base/philox.h"

namespace evenkeel::data {

namespace {

using Numbers = std::vector<int>;

constexpr std::size_t kTrainSums = 60000, kValidationSums = 2000;
constexpr int kHighest = 20;

/// The terms of sum `index` of a stream.
Numbers numbers_of(const Philox& random, std::uint64_t index, const TermCounts& terms) {
  const auto count = terms[random.below(terms.size(), index)];
  Numbers numbers;
  for (int i = 1; i <= count; ++i) {
    const auto place = static_cast<std::uint64_t>(i);
    numbers.push_back(1 + static_cast<int>(random.below(kHighest, index, place)));
  }
  return numbers;
}

std::string text_of(const Numbers& numbers) {
  std::string out;
  for (const auto number : numbers) out += (out.empty() ? "" : "+") + std::to_string(number);
  return out + "=" + std::to_string(std::accumulate(numbers.begin(), numbers.end(), 0));
}

/// True for one sum in eight, in every order of its terms: 8+17 as 17+8.
bool is_held_out(Numbers numbers) {
  constexpr std::uint32_t kOneIn = 8;
  std::sort(numbers.begin(), numbers.end());
  return Philox(0, text_of(numbers)).words(0)[0] % kOneIn == 0;
}

Corpus addition_corpus_generated(std::string_view stream, std::size_t count,
                                 const TermCounts& terms, bool held_out) {
  Corpus corpus;
  corpus.has_known_entropy = true;
  corpus.answer_start_token = kAnswerStart;
  corpus.tokens.push_back(kEndOfText);
  const Philox random(0, stream);
  for (std::uint64_t index = 0; corpus.documents.size() < count; ++index) {
    const auto numbers = numbers_of(random, index, terms);
    if (is_held_out(numbers) == held_out) corpus.append(text_of(numbers));
  }
  return corpus;
}

}  // namespace

BuiltinCorpora addition_corpora(const TermCounts& terms) {
  return {addition_corpus_generated("addition/train", kTrainSums, terms, false),
          addition_validation_corpus(terms)};
}

Corpus addition_validation_corpus(const TermCounts& terms) {
  return addition_corpus_generated("addition/validation", kValidationSums, terms, true);
}

}  // namespace evenkeel::data
