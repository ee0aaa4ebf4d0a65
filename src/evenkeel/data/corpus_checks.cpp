// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/corpus_checks.h"

#include <algorithm>
#include <vector>

#include "evenkeel/base/error.h"

namespace evenkeel::data {

void check_training(const Source& source, const config::Data& data, std::int64_t context) {
  const auto& corpus = source.corpus;
  const auto tokens = corpus.tokens.size();
  if (tokens < context + 1) {
    throw Error(Exit::data, text("data.train: one window needs ", context + 1, " tokens, but ",
                                 data.weights.empty() ? "the text" : source.name, " has ", tokens,
                                 "; add text or lower model.context"));
  }
  const auto parts = corpus.tokens.part_sizes();
  const auto longest = *std::max_element(parts.begin(), parts.end());
  if (data.order == "olmo" && longest < context) {
    throw Error(Exit::data,
                text("data.train: a file must have a chunk of model.context = ", context,
                     " tokens with data.order = \"olmo\", but the longest has ", longest,
                     "; lower model.context or set another order"));
  }
  if (data.mask_documents && !corpus.end_of_text) {
    throw Error(Exit::data,
                "data.mask_documents needs the end-of-text token of the token files; set "
                "data.end_of_text");
  }
}

void check_evaluation(const Corpus& corpus, const std::string& key, const config::Data& data,
                      std::int64_t context) {
  if (corpus.tokens.size() < 2) {
    throw Error(Exit::data,
                text(key, ": must hold text, but ",
                     key == "data.validation" && data.validation == std::vector<std::string>{"auto"}
                         ? "\"auto\" leaves none; raise data.validation_fraction or name files"
                         : "has none; name other files"));
  }
  if (!corpus.answer_start_token) return;
  // A truncated question has no scored answer.
  std::int64_t longest = 0;
  for (const auto& each : corpus.documents) longest = std::max(longest, each.end - each.begin + 1);
  if (longest <= context) return;
  throw Error(Exit::data, text(key, ": model.context must be at least ", longest,
                               ", for the longest question with its answer, but is ", context));
}

}  // namespace evenkeel::data
