// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/corpus.h"

#include <algorithm>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/nearest.h"
#include "evenkeel/base/number.h"
#include "evenkeel/data/addition_corpus.h"
#include "evenkeel/data/digest.h"
#include "evenkeel/data/sentences_corpus.h"
#include "evenkeel/data/split.h"
#include "evenkeel/data/texts.h"

namespace evenkeel::data {

namespace {

constexpr std::string_view kBuiltin = "builtin:";
const std::vector<std::string> kAuto = {"auto"};

Corpus tokens_of(const Documents& documents) {
  Corpus corpus;
  corpus.tokens.push_back(kEndOfText);
  for (const auto& document : documents) corpus.append(document);
  return corpus;
}

struct Builtin {
  const char* name;
  Corpora (*generate)();
  Corpus (*generate_validation)();  // cheaper without the training text
};
const std::vector<Builtin> kBuiltins = {
    {"sentences", sentences_corpora, [] { return sentences_corpora().validation; }},
    {"addition", [] { return addition_corpora(kAdditionTerms); },
     [] { return addition_validation_corpus(kAdditionTerms); }},
    {"addition_longer", [] { return addition_corpora(kLongerAdditionTerms); },
     [] { return addition_validation_corpus(kLongerAdditionTerms); }}};

/// The builtin text in the list, or nullptr if the list has files.
/// \param key  configuration key, for messages
const Builtin* builtin_of(const std::vector<std::string>& inputs, const char* key) {
  const auto named = [](const std::string& input) { return input.starts_with(kBuiltin); };
  const auto found = std::find_if(inputs.begin(), inputs.end(), named);
  if (found == inputs.end()) return nullptr;
  const auto name = found->substr(kBuiltin.size());
  std::vector<std::string> names;
  names.reserve(kBuiltins.size());
  for (const auto& each : kBuiltins) names.emplace_back(each.name);
  const auto known = std::find(names.begin(), names.end(), name);
  if (known == names.end()) {
    throw Error(Exit::data, text("data.", key, ": no builtin text is named \"", name, "\"",
                                 did_you_mean(name, names)));
  }
  if (inputs.size() > 1) {
    throw Error(Exit::data, text("data.", key, ": \"", *found, "\" must stand alone, but ",
                                 inputs.size() - 1, " more are listed"));
  }
  return &kBuiltins[static_cast<std::size_t>(known - names.begin())];
}

Corpus corpus_described(Corpus corpus, const std::string& what) {
  const auto documents = static_cast<std::int64_t>(corpus.documents.size());
  const auto tokens = static_cast<std::int64_t>(corpus.tokens.size());
  corpus.description =
      text(what, ", ", with_commas(documents), " document", documents == 1 ? "" : "s", ", ",
           bytes_text(static_cast<double>(tokens - documents - 1)));
  corpus.digest = digest(corpus.tokens);
  return corpus;
}

/// An evaluation text: the validation documents of a builtin, or files.
Corpus evaluation_corpus(const std::vector<std::string>& inputs, const char* key,
                         const config::Data& data) {
  if (const auto* const builtin = builtin_of(inputs, key)) {
    return corpus_described(builtin->generate_validation(), text(kBuiltin, builtin->name));
  }
  const auto texts = read_texts(inputs, data);
  return corpus_described(tokens_of(texts.documents), texts.description);
}

/// True if the validation text is a part of the training text or of the same builtin.
bool is_validation_split_off(const config::Data& data) {
  return data.validation == kAuto ||
         (builtin_of(data.train, "train") != nullptr && data.validation == data.train);
}

Corpora corpora_unchecked(const config::Data& data) {
  Corpora corpora;
  const auto* const builtin = builtin_of(data.train, "train");
  const bool split_off = is_validation_split_off(data);
  if (builtin != nullptr) {
    auto [train, validation, none] = builtin->generate();
    const auto what = text(kBuiltin, builtin->name);
    corpora.train = corpus_described(std::move(train), what);
    if (split_off) corpora.validation = corpus_described(std::move(validation), what);
  } else {
    auto texts = read_texts(data.train, data);
    if (split_off) {
      const auto all = static_cast<double>(texts.bytes());
      const auto [front, back] = split(std::move(texts.documents), data.validation_fraction);
      texts.documents = front;
      const double share = all > 0 ? 1 - static_cast<double>(texts.bytes()) / all : 0;
      corpora.validation = corpus_described(
          tokens_of(back), text("the last ", percent(share), " of ", texts.description));
    }
    corpora.train = corpus_described(tokens_of(texts.documents), texts.description);
  }
  if (!split_off) corpora.validation = evaluation_corpus(data.validation, "validation", data);
  return corpora;
}

/// Refuses documents longer than a window: a truncated question has no scored answer.
void check_answers_fit(const Corpus& corpus, const char* key, std::int64_t context) {
  if (!corpus.answer_start_token) return;
  std::int64_t longest = 0;
  for (const auto& each : corpus.documents) longest = std::max(longest, each.end - each.begin + 1);
  if (longest <= context) return;
  throw Error(Exit::data, text("data.", key, ": model.context must be at least ", longest,
                               ", for the longest question with its answer, but is ", context));
}

void add_ood(Corpora& corpora, const config::Data& data) {
  if (!data.ood.empty()) corpora.ood = evaluation_corpus(data.ood, "ood", data);
}

void check_evaluation_corpora(const Corpora& corpora, std::int64_t context) {
  check_answers_fit(corpora.validation, "validation", context);
  if (corpora.ood) check_answers_fit(*corpora.ood, "ood", context);
}

}  // namespace

void Corpus::append(std::string_view document, double nats) {
  const auto begin = static_cast<std::int64_t>(tokens.size());
  for (const char byte : document) tokens.push_back(static_cast<unsigned char>(byte));
  documents.push_back({begin, static_cast<std::int64_t>(tokens.size()), nats});
  tokens.push_back(kEndOfText);
}

Corpora load_corpora(const config::Data& data, std::int64_t context) {
  auto corpora = corpora_unchecked(data);
  const auto tokens = static_cast<std::int64_t>(corpora.train.tokens.size());
  if (tokens < context + 1) {
    throw Error(Exit::data,
                text("data.train: one window needs ", context + 1, " tokens, but the text has ",
                     tokens, "; add text or lower model.context"));
  }
  if (corpora.validation.documents.empty()) {
    throw Error(Exit::data,
                "data.validation: must hold text, but \"auto\" leaves none; raise "
                "data.validation_fraction or name files");
  }
  add_ood(corpora, data);
  check_evaluation_corpora(corpora, context);
  return corpora;
}

Corpora load_evaluation_corpora(const config::Data& data, std::int64_t context) {
  if (is_validation_split_off(data)) return load_corpora(data, context);
  Corpora corpora;
  corpora.validation = evaluation_corpus(data.validation, "validation", data);
  add_ood(corpora, data);
  check_evaluation_corpora(corpora, context);
  return corpora;
}

}  // namespace evenkeel::data
