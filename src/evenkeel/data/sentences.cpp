// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/sentences.h"

#include <string>
#include <unordered_set>

#include "evenkeel/base/error.h"
#include "evenkeel/data/composer.h"

namespace evenkeel::data {

namespace {

constexpr std::size_t kTrainDocuments = 32000;
constexpr std::size_t kValidationDocuments = 1400;

void append(Corpus& corpus, const Writer& pen) {
  EK_ASSERT(static_cast<std::int64_t>(pen.text().size()) <= kLongestSentencesDocument);
  corpus.append(pen.text(), pen.nats());
}

/// `count` documents of a stream that are not among `others`; adds them to `others`.
Corpus written(std::string_view stream, std::size_t count,
               std::unordered_set<std::string>& others) {
  Corpus corpus;
  corpus.exact = true;
  corpus.tokens.push_back(kEndOfText);
  Writer pen(stream);
  Composer composer(pen);
  while (corpus.documents.size() < count) {
    pen.new_document();
    composer.document();
    if (others.insert(pen.text()).second) append(corpus, pen);
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
  Reader pen(document);
  Composer(pen).document();
  return pen.nats();
}

}  // namespace evenkeel::data
