// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/sentences.h"

#include <string>
#include <unordered_set>

#include "evenkeel/base/error.h"
#include "evenkeel/data/grammar_rules.h"

namespace evenkeel::data {

namespace {

constexpr std::size_t kTrainDocuments = 32000;
constexpr std::size_t kValidationDocuments = 1400;

void append(Corpus& corpus, const DocumentGenerator& generator) {
  EK_ASSERT(static_cast<std::int64_t>(generator.text().size()) <= kLongestSentencesDocument);
  corpus.append(generator.text(), generator.nats());
}

/// `count` documents of a stream that are not among `others`; adds them to `others`.
Corpus written(std::string_view stream, std::size_t count,
               std::unordered_set<std::string>& others) {
  Corpus corpus;
  corpus.exact = true;
  corpus.tokens.push_back(kEndOfText);
  DocumentGenerator generator(stream);
  GrammarRules rules(generator);
  while (corpus.documents.size() < count) {
    generator.begin_document();
    rules.document();
    if (others.insert(generator.text()).second) append(corpus, generator);
  }
  return corpus;
}

}  // namespace

Corpora sentences() {
  std::unordered_set<std::string> seen;
  Corpora corpora;
  corpora.train = written("sentences/train", kTrainDocuments, seen);
  corpora.validation = written("sentences/validation", kValidationDocuments, seen);
  return corpora;
}

std::optional<double> sentences_nats(std::string_view document) {
  DocumentParser parser(document);
  GrammarRules(parser).document();
  return parser.nats();
}

}  // namespace evenkeel::data
