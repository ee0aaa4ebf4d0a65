// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/builtins.h"

#include <algorithm>

#include "evenkeel/base/error.h"
#include "evenkeel/base/nearest.h"
#include "evenkeel/data/addition_corpus.h"
#include "evenkeel/data/sentences_corpus.h"

namespace evenkeel::data {

namespace {

const std::vector<Builtin> kBuiltins = {
    {"sentences", sentences_corpora, [] { return sentences_corpora().validation; }},
    {"addition", [] { return addition_corpora(kAdditionTerms); },
     [] { return addition_validation_corpus(kAdditionTerms); }},
    {"addition_longer", [] { return addition_corpora(kLongerAdditionTerms); },
     [] { return addition_validation_corpus(kLongerAdditionTerms); }}};

}  // namespace

const Builtin* builtin_of(const std::vector<std::string>& inputs, const std::string& key) {
  const auto named = [](const std::string& input) { return input.starts_with(kBuiltin); };
  const auto found = std::find_if(inputs.begin(), inputs.end(), named);
  if (found == inputs.end()) return nullptr;
  const auto name = found->substr(kBuiltin.size());
  std::vector<std::string> names;
  names.reserve(kBuiltins.size());
  for (const auto& each : kBuiltins) names.emplace_back(each.name);
  const auto known = std::find(names.begin(), names.end(), name);
  if (known == names.end()) {
    throw Error(Exit::data,
                text(key, ": no builtin text is named \"", name, "\"", did_you_mean(name, names)));
  }
  if (inputs.size() > 1) {
    throw Error(Exit::data, text(key, ": \"", *found, "\" must stand alone, but ",
                                 inputs.size() - 1, " more are listed"));
  }
  return &kBuiltins[static_cast<std::size_t>(known - names.begin())];
}

}  // namespace evenkeel::data
