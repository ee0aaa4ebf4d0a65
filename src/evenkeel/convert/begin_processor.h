// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

/// The post-processor of a tokenizer.json that puts a token before a text.
namespace evenkeel::convert {

/// A token as the vocabulary spells it: a line feed is "Ċ" in a byte-level BPE.
struct SpelledToken {
  std::int64_t id = 0;
  std::string text;  // "": the vocabulary has no such token
};

/// The token of an id in a tokenizer.json.
SpelledToken spelled_token(const nlohmann::json& tokenizer, std::int64_t id);

/// The TemplateProcessing that puts the token before a text.
nlohmann::ordered_json begin_processor(const SpelledToken& token);

/// Sets the post-processor of a tokenizer.json: begin_processor() instead of another
/// TemplateProcessing, after its other steps.
/// \return false, with nothing changed, if it begins a text with the token already
bool set_begin(nlohmann::json& tokenizer, const SpelledToken& token);

}  // namespace evenkeel::convert
