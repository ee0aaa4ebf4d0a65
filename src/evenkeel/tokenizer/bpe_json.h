// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <utility>

/// Parts of a tokenizer.json that the program writes. Json: nlohmann::json, whose keys are sorted,
/// or nlohmann::ordered_json.
namespace evenkeel::tokenizer {

/// A special token for "added_tokens".
template <typename Json>
Json special_token_json(std::uint64_t id, const std::string& content) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

/// "model": a byte-level BPE.
template <typename Json>
Json bpe_model_json(Json vocabulary, Json merges, bool ignore_merges) {
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", ignore_merges},
          {"vocab", std::move(vocabulary)},
          {"merges", std::move(merges)}};
}

}  // namespace evenkeel::tokenizer
