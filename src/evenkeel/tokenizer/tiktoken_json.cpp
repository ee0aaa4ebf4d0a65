// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/tiktoken_json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/tokenizer/bpe_json.h"
#include "evenkeel/tokenizer/byte_characters.h"
#include "evenkeel/tokenizer/model.h"
#include "evenkeel/tokenizer/word_pattern.h"

namespace evenkeel::tokenizer {

namespace {

// Not ordered_json, which compares a new key with all others.
using RanksJson = nlohmann::json;

/// The pattern in Ruby's syntax, which is that of Hugging Face.
std::string ruby_pattern(std::string_view perl) {
  if (perl == kTiktokenGpt2Pattern) return std::string(kGpt2Pattern);
  return std::string(perl == kTiktokenGpt4Pattern ? kRubyTiktokenGpt4Pattern : perl);
}

RanksJson byte_level_step(bool add_prefix_space, bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", add_prefix_space},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}

RanksJson pre_tokenizer_of(const std::string& pattern) {
  if (pattern == kGpt2Pattern) return byte_level_step(false, true);
  const RanksJson split = {{"type", "Split"},
                           {"pattern", {{"Regex", pattern}}},
                           {"behavior", "Isolated"},
                           {"invert", false}};
  return {{"type", "Sequence"},
          {"pretokenizers", RanksJson::array({split, byte_level_step(false, false)})}};
}

/// The pairs of tokens that together are the token of these bytes, by their ids.
std::vector<std::pair<Id, Id>> pairs_of(std::string_view bytes, const IdByText& ids) {
  std::vector<std::pair<Id, Id>> out;
  for (std::size_t at = 1; at < bytes.size(); ++at) {
    const auto left = ids.find(bytes.substr(0, at)), right = ids.find(bytes.substr(at));
    if (left != ids.end() && right != ids.end()) out.emplace_back(left->second, right->second);
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// The BPE: ordinary tokens, special ones, which have their ids only if they are there, and merges.
RanksJson bpe_json(const Model& model) {
  RanksJson vocabulary = RanksJson::object(), merges = RanksJson::array();
  std::vector<std::string> texts(model.token_bytes.size());
  for (const auto& [bytes, id] : model.ids) {
    texts[id] = characters_of_bytes(bytes);
    vocabulary[texts[id]] = id;
  }
  for (const auto& each : model.special_tokens) vocabulary[each.text] = each.id;
  for (Id id = 0; id < texts.size(); ++id) {
    if (texts[id].empty()) continue;
    for (const auto& [left, right] : pairs_of(model.token_bytes[id], model.ids)) {
      merges.push_back(texts[left] + " " + texts[right]);
    }
  }
  return bpe_model_json(std::move(vocabulary), std::move(merges), /*ignore_merges=*/true);
}

}  // namespace

std::string tiktoken_json(const Tokenizer& tokenizer) {
  const auto& model = tokenizer.model();
  EK_ASSERT(model.kind == kTiktoken);
  auto added = RanksJson::array();
  for (const auto& each : model.special_tokens) {
    added.push_back(special_token_json<RanksJson>(each.id, each.text));
  }
  const RanksJson json = {{"version", "1.0"},
                          {"truncation", nullptr},
                          {"padding", nullptr},
                          {"added_tokens", std::move(added)},
                          {"normalizer", nullptr},
                          {"pre_tokenizer", pre_tokenizer_of(ruby_pattern(model.ranks_pattern))},
                          {"post_processor", nullptr},
                          {"decoder", byte_level_step(true, true)},
                          {"model", bpe_json(model)}};
  return json.dump(1) + "\n";
}

}  // namespace evenkeel::tokenizer
