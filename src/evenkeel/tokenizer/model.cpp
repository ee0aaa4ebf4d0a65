// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/model.h"

#include "evenkeel/base/error.h"

namespace evenkeel::tokenizer {

namespace {

void set_bytes(std::vector<std::string>& token_bytes, Id id, std::string bytes) {
  EK_ASSERT(id < kMaxVocabulary);
  if (id >= token_bytes.size()) token_bytes.resize(id + std::size_t{1});
  token_bytes[id] = std::move(bytes);
}

}  // namespace

void Model::add_token(std::string bytes, Id id) {
  ids.emplace(bytes, id);
  set_bytes(token_bytes, id, std::move(bytes));
}

void Model::add_added_token(const std::string& text, Id id, bool special) {
  added_ids.emplace(text, id);
  set_bytes(token_bytes, id, text);
  if (special) special_tokens.push_back({text, id});
}

}  // namespace evenkeel::tokenizer
