// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/input_kinds.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/config/quote.h"
#include "evenkeel/data/builtins.h"
#include "evenkeel/data/text_files.h"
#include "evenkeel/data/token_corpus.h"

namespace evenkeel::data {

namespace {

/// The texts of a configuration, each a list of inputs, with the key that names them.
struct NamedInputs {
  std::vector<std::string> inputs;
  const char* key;
};

std::vector<NamedInputs> inputs_of(const config::Data& data) {
  std::vector<NamedInputs> all;
  if (data.weights.empty()) all.push_back({data.train, "data.train"});
  if (!data.weights.empty()) {
    for (const auto& input : data.train) all.push_back({{input}, "data.train"});
  }
  if (data.validation != std::vector<std::string>{"auto"}) {
    all.push_back({data.validation, "data.validation"});
  }
  if (!data.ood.empty()) all.push_back({data.ood, "data.ood"});
  return all;
}

struct InputKinds {
  bool text_files = false, token_files = false, builtins = false;
};

InputKinds kinds_of(const config::Data& data) {
  InputKinds kinds;
  for (const auto& [inputs, key] : inputs_of(data)) {
    const bool is_builtin = builtin_of(inputs, key) != nullptr;
    const bool is_tokens = !is_builtin && are_token_files(inputs, data);
    (is_builtin ? kinds.builtins : is_tokens ? kinds.token_files : kinds.text_files) = true;
  }
  return kinds;
}

/// Whether the inputs have a file.
bool has_files(const std::vector<std::string>& inputs, const std::string& key) {
  return builtin_of(inputs, key) == nullptr;
}

/// Why data.validation_fraction has no effect; nullptr if it has one.
const char* why_fraction_is_unused(const config::Data& data) {
  if (data.validation != std::vector<std::string>{"auto"}) {
    return "where data.validation names a text";
  }
  const auto all = inputs_of(data);
  const bool splits_files = std::any_of(all.begin(), all.end(), [](const NamedInputs& each) {
    return std::string_view(each.key) == "data.train" && has_files(each.inputs, each.key);
  });
  return splits_files ? nullptr : "on a built-in text, which has validation documents of its own";
}

/// \param usual  the default, for keys that a run has of its first command; "": none
[[noreturn]] void refuse_unused(const char* key, const char* where, const std::string& usual = "") {
  throw Error(Exit::usage, text("data.", key, " has no effect ", where, "; leave it out",
                                usual.empty() ? "" : ", or set it to " + usual));
}

/// True if an input has files whose texts are in a field.
bool inputs_have_fields(const config::Data& data) {
  const auto all = inputs_of(data);
  return std::any_of(all.begin(), all.end(), [&](const NamedInputs& each) {
    if (builtin_of(each.inputs, each.key) != nullptr) return false;
    return !are_token_files(each.inputs, data) &&
           has_fields(find_text_files(each.inputs, data).files);
  });
}

/// True if an input has token files whose header does not name the type of their ids.
bool has_ids_of_unknown_type(const config::Data& data) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 32;
  const auto all = inputs_of(data);
  return std::any_of(all.begin(), all.end(), [&](const NamedInputs& each) {
    if (builtin_of(each.inputs, each.key) != nullptr) return false;
    return are_token_files(each.inputs, data) && !have_headers(each.inputs, data, kLargest);
  });
}

}  // namespace

bool has_text(const config::Data& data) {
  const auto kinds = kinds_of(data);
  return kinds.text_files || kinds.builtins;
}

void check_unused_keys(const config::Data& data) {
  const auto kinds = kinds_of(data);
  const config::Data usual;
  if (data.text_key != usual.text_key && !inputs_have_fields(data)) {
    refuse_unused("text_key", "without files of JSON or parquet");
  }
  if (data.token_type != usual.token_type && !has_ids_of_unknown_type(data)) {
    refuse_unused("token_type", "without token files that have no header");
  }
  const bool has_text = kinds.text_files || kinds.builtins || data.tokenizer != usual.tokenizer;
  // Shards of bytes need no data.tokenizer: prompts are encoded, and data.begin has an effect.
  if (data.begin.has_value() && !has_text &&
      is_tokenizer_unknown(data, TextEncoding(data), /*vocabulary=*/0)) {
    refuse_unused("begin", "for token files without a tokenizer file in data.tokenizer");
  }
  const auto* const why = why_fraction_is_unused(data);
  if (data.validation_fraction != usual.validation_fraction && why != nullptr) {
    refuse_unused("validation_fraction", why, text(usual.validation_fraction));
  }
}

void check_unused_format(const config::Config& config) {
  const auto& texts = config.evaluate.texts;
  const auto kinds = kinds_of(config.data);
  const bool is_used = kinds.text_files || kinds.token_files ||
                       std::any_of(texts.begin(), texts.end(), [](const config::NamedText& each) {
                         return has_files(each.inputs, "evaluate.texts." + each.name);
                       });
  if (config.data.format != config::Data().format && !is_used) {
    refuse_unused("format", "on built-in texts", config::in_quotes(config::Data().format));
  }
}

}  // namespace evenkeel::data
