// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/serve/completion_json.h"

#include <utility>

#include "evenkeel/base/json_dump.h"

namespace evenkeel::serve {

namespace {

using Json = nlohmann::ordered_json;

/// The object `logprobs` of a choice, without entries.
Json empty_logprobs() {
  return {{"tokens", Json::array()},
          {"token_logprobs", Json::array()},
          {"top_logprobs", Json::array()},
          {"text_offset", Json::array()}};
}

void add_tokens(Json& logprobs, const std::vector<CompletionToken>& tokens) {
  for (const auto& each : tokens) {
    logprobs["tokens"].push_back(each.text);
    logprobs["text_offset"].push_back(each.offset);
    if (!each.logprob) {
      logprobs["token_logprobs"].push_back(nullptr);
      logprobs["top_logprobs"].push_back(nullptr);
      continue;
    }
    logprobs["token_logprobs"].push_back(*each.logprob);
    Json top = Json::object();
    for (const auto& [name, logprob] : each.top) top[name] = logprob;
    logprobs["top_logprobs"].push_back(std::move(top));
  }
}

Json empty_choice(std::size_t index, bool has_logprobs) {
  return {{"text", ""},
          {"index", index},
          {"logprobs", has_logprobs ? empty_logprobs() : Json()},
          {"finish_reason", nullptr}};
}

void add_piece(Json& choice, const CompletionPiece& piece) {
  choice["text"].get_ref<std::string&>() += piece.text;
  if (choice["logprobs"].is_object()) add_tokens(choice["logprobs"], piece.tokens);
  if (piece.finish_reason != nullptr) choice["finish_reason"] = piece.finish_reason;
}

Json head_json(const CompletionHead& head) {
  return {{"id", head.id},
          {"object", "text_completion"},
          {"created", head.created},
          {"model", head.model},
          {"choices", Json::array()}};
}

Json usage_object(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens}};
}

}  // namespace

Json completion_json(const CompletionHead& head, const std::vector<CompletionPiece>& pieces,
                     std::size_t choices, bool has_logprobs, const Usage& usage) {
  auto out = head_json(head);
  for (std::size_t i = 0; i < choices; ++i) {
    out["choices"].push_back(empty_choice(i, has_logprobs));
  }
  for (const auto& piece : pieces) add_piece(out["choices"][piece.index], piece);
  out["usage"] = usage_object(usage);
  return out;
}

Json piece_json(const CompletionHead& head, const CompletionPiece& piece, bool has_logprobs) {
  auto out = head_json(head);
  auto choice = empty_choice(piece.index, has_logprobs);
  add_piece(choice, piece);
  out["choices"].push_back(std::move(choice));
  return out;
}

Json usage_json(const CompletionHead& head, const Usage& usage) {
  auto out = head_json(head);
  out["usage"] = usage_object(usage);
  return out;
}

std::string json_text(const Json& value) {
  return json_dump(value);
}

Json model_json(const ServedModel& served) {
  return {{"id", served.id},
          {"object", "model"},
          {"created", served.created},
          {"owned_by", "evenkeel"},
          {"max_model_len", served.context()}};
}

Json models_json(const ServedModel& served) {
  return {{"object", "list"}, {"data", Json::array({model_json(served)})}};
}

Json tokenizer_json(const ServedModel& served) {
  check_has_tokenizer(served);
  const auto end = served.end_of_text();
  const auto name = end ? token_bytes(served, *end) : "";
  // A client asks /tokenize for the id of the name.
  const bool is_known = end && tokenize(served, {.prompt = name, .add_special_tokens = false}) ==
                                   std::vector<std::int64_t>{*end};
  return {{"tokenizer_class", served.encoding->tokenizer().kind()},
          {"eos_token", is_known ? Json(name) : Json()},
          {"bos_token", nullptr},
          {"model_max_length", served.context()}};
}

}  // namespace evenkeel::serve
