// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/corpus.h"

#include <algorithm>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/nearest.h"
#include "evenkeel/base/number.h"
#include "evenkeel/data/digest.h"
#include "evenkeel/data/sentences.h"
#include "evenkeel/data/split.h"
#include "evenkeel/data/texts.h"

namespace evenkeel::data {

namespace {

constexpr std::string_view kBuiltin = "builtin:";
const std::vector<std::string> kAuto = {"auto"};

Corpus tokens_of(const Documents& documents) {
  Corpus corpus;
  corpus.tokens.push_back(kEndOfText);
  for (const auto& document : documents) {
    const auto begin = static_cast<std::int64_t>(corpus.tokens.size());
    for (const char byte : document) corpus.tokens.push_back(static_cast<unsigned char>(byte));
    corpus.documents.push_back({begin, static_cast<std::int64_t>(corpus.tokens.size()), 0});
    corpus.tokens.push_back(kEndOfText);
  }
  return corpus;
}

/// Whether the list names a builtin rather than files.
/// \param key  of the configuration, for messages
bool is_builtin(const std::vector<std::string>& inputs, const char* key) {
  const auto named = [](const std::string& input) { return input.starts_with(kBuiltin); };
  const auto found = std::find_if(inputs.begin(), inputs.end(), named);
  if (found == inputs.end()) return false;
  const auto name = found->substr(kBuiltin.size());
  if (name != "sentences") {
    throw Error(Exit::data, text("data.", key, ": no builtin text is named \"", name, "\"",
                                 did_you_mean(name, {"sentences"})));
  }
  if (inputs.size() > 1) {
    throw Error(Exit::data, text("data.", key, ": \"", *found, "\" must stand alone, but ",
                                 inputs.size() - 1, " more are listed"));
  }
  return true;
}

Corpus named(Corpus corpus, const std::string& what) {
  const auto documents = static_cast<std::int64_t>(corpus.documents.size());
  const auto tokens = static_cast<std::int64_t>(corpus.tokens.size());
  corpus.description =
      text(what, ", ", with_commas(documents), " document", documents == 1 ? "" : "s", ", ",
           bytes_text(static_cast<double>(tokens - documents - 1)));
  corpus.digest = digest(corpus.tokens);
  return corpus;
}

Corpora unchecked(const config::Data& data) {
  const bool split_off = data.validation == kAuto;
  const bool builtin_train = is_builtin(data.train, "train");
  const bool builtin_validation =
      split_off ? builtin_train : is_builtin(data.validation, "validation");
  Corpora corpora;
  if (builtin_train || builtin_validation) {
    auto builtin = sentences();
    const std::string what = "builtin:sentences";
    if (builtin_train) corpora.train = named(std::move(builtin.train), what);
    if (builtin_validation) corpora.validation = named(std::move(builtin.validation), what);
  }
  if (!builtin_train) {
    auto texts = read_texts(data.train, data);
    if (split_off) {
      const auto [front, back] = split(std::move(texts.documents), data.validation_fraction);
      const auto percent = shortest(data.validation_fraction * 100);
      corpora.validation =
          named(tokens_of(back), text("the last ", percent, "% of ", texts.description));
      texts.documents = front;
    }
    corpora.train = named(tokens_of(texts.documents), texts.description);
  }
  if (!builtin_validation && !split_off) {
    const auto texts = read_texts(data.validation, data);
    corpora.validation = named(tokens_of(texts.documents), texts.description);
  }
  return corpora;
}

}  // namespace

Corpora load(const config::Data& data, std::int64_t context) {
  auto corpora = unchecked(data);
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
  return corpora;
}

}  // namespace evenkeel::data
