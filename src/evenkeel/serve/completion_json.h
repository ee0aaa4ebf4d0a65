// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "evenkeel/serve/completion.h"
#include "evenkeel/serve/served_model.h"

/// The results of the server, in the shape of OpenAI's API.
namespace evenkeel::serve {

/// A text completion: "object": "text_completion".
struct CompletionHead {
  std::string id;  // "cmpl-12"
  std::int64_t created = 0;
  std::string model;
};

/// The whole result.
/// \param pieces   of all choices; those of one choice in order
/// \param choices  choices_of()
nlohmann::ordered_json completion_json(const CompletionHead& head,
                                       const std::vector<CompletionPiece>& pieces,
                                       std::size_t choices, bool has_logprobs, const Usage& usage);

/// An event of a stream.
nlohmann::ordered_json piece_json(const CompletionHead& head, const CompletionPiece& piece,
                                  bool has_logprobs);

/// The last event of a stream with `include_usage`: no choices.
nlohmann::ordered_json usage_json(const CompletionHead& head, const Usage& usage);

/// One line. Invalid UTF-8 becomes U+FFFD.
std::string json_text(const nlohmann::ordered_json& value);

/// The result of GET /v1/models.
nlohmann::ordered_json models_json(const ServedModel& served);

/// The element of models_json(), the result of GET /v1/models/ID.
nlohmann::ordered_json model_json(const ServedModel& served);

/// The result of GET /tokenizer_info, as vLLM has it: class, begin and end token.
nlohmann::ordered_json tokenizer_json(const ServedModel& served);

}  // namespace evenkeel::serve
