// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/unused_keys.h"

#include <algorithm>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/data/builtins.h"
#include "evenkeel/data/token_corpus.h"

namespace evenkeel::data {

namespace {

/// What the inputs of a configuration are.
struct InputKinds {
  bool texts = false, token_files = false, builtins = false;

  void add(const std::vector<std::string>& inputs, const char* key, const config::Data& data) {
    if (builtin_of(inputs, key) != nullptr) {
      builtins = true;
    } else {
      (are_token_files(inputs, data) ? token_files : texts) = true;
    }
  }
};

InputKinds kinds_of(const config::Data& data) {
  InputKinds kinds;
  if (data.weights.empty()) {
    kinds.add(data.train, "data.train", data);
  } else {
    for (const auto& input : data.train) kinds.add({input}, "data.train", data);
  }
  if (data.validation != std::vector<std::string>{"auto"}) {
    kinds.add(data.validation, "data.validation", data);
  }
  if (!data.ood.empty()) kinds.add(data.ood, "data.ood", data);
  return kinds;
}

}  // namespace

void check_unused_keys(const config::Data& data) {
  const auto kinds = kinds_of(data);
  const config::Data usual;
  const auto refuse = [](const char* key, const char* where) {
    throw Error(Exit::usage, text("data.", key, " has no effect ", where, "; leave it out"));
  };
  if (data.text_key != usual.text_key && !kinds.texts) {
    refuse("text_key", "without text files of JSON or parquet");
  }
  if (data.token_type != usual.token_type && !kinds.token_files) {
    refuse("token_type", "without token files");
  }
  const bool has_text = kinds.texts || kinds.builtins || data.tokenizer != usual.tokenizer;
  if (data.begin.has_value() && !has_text) {
    refuse("begin", "for token files without data.tokenizer");
  }
}

}  // namespace evenkeel::data
