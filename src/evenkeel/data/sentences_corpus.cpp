// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/sentences_corpus.h"

#include <string>
#include <unordered_set>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/data/grammar_rules.h"

namespace evenkeel::data {

namespace {

constexpr std::size_t kTrainDocuments = 32000;
constexpr std::size_t kValidationDocuments = 1400;

void append_generated(Corpus& corpus, const DocumentGenerator& generator) {
  EK_ASSERT(static_cast<std::int64_t>(generator.text().size()) <= kLongestSentencesDocument);
  corpus.append(generator.text(), generator.nats());
}

/// The next `count` distinct documents of a stream that are not in `excluded`; inserts them there.
Corpus sentences_corpus_generated(std::string_view stream, std::size_t count,
                                  std::unordered_set<std::string>& excluded) {
  Corpus corpus;
  corpus.has_known_entropy = true;
  corpus.tokens.push_back(kEndOfText);
  DocumentGenerator generator(stream);
  GrammarRules rules(generator);
  while (corpus.documents.size() < count) {
    generator.begin_document();
    rules.document();
    if (excluded.insert(generator.text()).second) append_generated(corpus, generator);
  }
  return corpus;
}

}  // namespace

BuiltinCorpora sentences_corpora() {
  std::unordered_set<std::string> seen;
  auto train = sentences_corpus_generated("sentences/train", kTrainDocuments, seen);
  auto validation = sentences_corpus_generated("sentences/validation", kValidationDocuments, seen);
  return {std::move(train), std::move(validation)};
}

std::optional<double> sentences_document_nats(std::string_view document) {
  DocumentParser parser(document);
  GrammarRules(parser).document();
  return parser.nats();
}

}  // namespace evenkeel::data
