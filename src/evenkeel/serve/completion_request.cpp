// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/serve/completion_request.h"

#include <limits>
#include <utility>

#include "evenkeel/serve/request_error.h"
#include "evenkeel/serve/request_field.h"

namespace evenkeel::serve {

namespace {

constexpr const char* kPromptForms =
    "a string, a list of strings, a list of token ids, or a list of such lists";

Prompt ids_prompt(const std::string& name, const nlohmann::json& list) {
  auto ids = token_ids(name, list);
  if (ids.empty()) throw RequestError(400, name + ": must have a token id, but is empty", "prompt");
  return ids;
}

/// The element `index` of a list of prompts, which has the type of the first one.
Prompt listed_prompt(const nlohmann::json& list, std::size_t index) {
  const auto& value = list[index];
  const auto name = text("prompt[", index, "]");
  if (!list.front().is_string()) return ids_prompt(name, value);
  if (!value.is_string()) refuse_field(name, "a string, as prompt[0]", value);
  return value.get<std::string>();
}

std::vector<Prompt> prompts_of(RequestFields& fields) {
  const auto* const value = fields.find("prompt");
  if (value == nullptr) return {std::string()};
  if (value->is_string()) return {value->get<std::string>()};
  if (!value->is_array()) refuse_field("prompt", kPromptForms, *value);
  if (value->empty()) {
    throw RequestError(400, text("prompt: must be ", kPromptForms, ", but is an empty list"),
                       "prompt");
  }
  if (value->front().is_number()) return {ids_prompt("prompt", *value)};
  if (!value->front().is_string() && !value->front().is_array()) {
    refuse_field("prompt[0]", "a string, a token id or a list of token ids", value->front());
  }
  if (value->size() > kMaxPrompts) {
    throw RequestError(400,
                       text("prompt: must be at most ", kMaxPrompts, " prompts, but is ",
                            value->size(), "; send several requests"),
                       "prompt");
  }
  std::vector<Prompt> prompts;
  prompts.reserve(value->size());
  for (std::size_t i = 0; i < value->size(); ++i) prompts.push_back(listed_prompt(*value, i));
  return prompts;
}

/// A stop string.
std::string stop_of(const std::string& name, const nlohmann::json& value) {
  if (!value.is_string()) refuse_field(name, "a string", value);
  auto stop = value.get<std::string>();
  if (stop.empty() || stop.size() > kMaxStopBytes) {
    throw RequestError(
        400, text(name, ": must have 1 to ", kMaxStopBytes, " bytes, but has ", stop.size()),
        "stop");
  }
  return stop;
}

std::vector<std::string> stops_of(RequestFields& fields) {
  const auto* const value = fields.find("stop");
  if (value == nullptr) return {};
  if (!value->is_array()) return {stop_of("stop", *value)};
  if (value->size() > kMaxStops) {
    throw RequestError(
        400, text("stop: must be at most ", kMaxStops, " strings, but is ", value->size()), "stop");
  }
  std::vector<std::string> stops;
  for (const auto& each : *value) stops.push_back(stop_of(text("stop[", stops.size(), "]"), each));
  return stops;
}

/// `stream_options.include_usage`.
bool includes_usage(RequestFields& fields) {
  const auto* const value = fields.find("stream_options");
  if (value == nullptr) return false;
  if (!value->is_object()) refuse_field("stream_options", "an object", *value);
  RequestFields options(value->dump());
  options.ignore("include_obfuscation");
  const bool wanted = options.boolean("include_usage", false);
  options.check_all_known();
  return wanted;
}

/// `n`. \param prompts  number of prompts
std::int64_t copies_of(RequestFields& fields, std::size_t prompts) {
  const auto copies = fields.integer("n", 1, 1, kMaxCopies);
  const auto choices = static_cast<std::int64_t>(prompts) * copies;
  if (choices <= kMaxChoices) return copies;
  throw RequestError(400,
                     text("n: prompts times n must be at most ", kMaxChoices, ", but is ", choices,
                          "; send several requests"),
                     "n");
}

/// Refuses settings that would change the result, but have no effect here.
void check_neutral_fields(RequestFields& fields, const CompletionRequest& request) {
  fields.require("best_of", request.n);
  fields.require("suffix", "");
  fields.require("presence_penalty", 0);
  fields.require("frequency_penalty", 0);
  fields.require("repetition_penalty", 1);
  fields.require("min_p", 0);
  fields.require("logit_bias", nlohmann::json::object());
  for (const auto* const name : {"model", "user", "metadata", "store", "service_tier",
                                 "safety_identifier", "prompt_cache_key"}) {
    fields.ignore(name);
  }
}

}  // namespace

CompletionRequest parse_completion_request(std::string_view body) {
  RequestFields fields(body);
  CompletionRequest request;
  request.prompts = prompts_of(fields);
  request.n = copies_of(fields, request.prompts.size());
  request.max_tokens = fields.integer("max_tokens", request.max_tokens, 0, kMaxTokens);
  if (const auto logprobs = fields.integer("logprobs", -1, 0, kMaxLogprobs); logprobs >= 0) {
    request.logprobs = logprobs;
  }
  request.temperature = fields.number("temperature", request.temperature, 0, 2);
  request.top_p = fields.number("top_p", request.top_p, 0, 1);
  const auto top_k = fields.integer("top_k", 0, -1, std::numeric_limits<std::int32_t>::max());
  request.top_k = top_k < 0 ? 0 : top_k;  // other servers write -1 for all tokens
  request.seed =
      static_cast<std::uint64_t>(fields.integer("seed", 1, std::numeric_limits<std::int64_t>::min(),
                                                std::numeric_limits<std::int64_t>::max()));
  request.stops = stops_of(fields);
  request.add_special_tokens = fields.boolean("add_special_tokens", true);
  request.echo = fields.boolean("echo", false);
  request.stream = fields.boolean("stream", false);
  request.include_usage = includes_usage(fields);
  check_neutral_fields(fields, request);
  fields.check_all_known();
  if (request.max_tokens == 0 && !request.echo) {
    throw RequestError(400, "max_tokens: must be 1 or more without \"echo\", but is 0",
                       "max_tokens");
  }
  return request;
}

TokenizeRequest parse_tokenize_request(std::string_view body) {
  RequestFields fields(body);
  TokenizeRequest request;
  if (fields.find("prompt") == nullptr) {
    throw RequestError(400, "prompt: is missing; it must be a string", "prompt");
  }
  request.prompt = fields.string("prompt", "");
  request.add_special_tokens = fields.boolean("add_special_tokens", true);
  fields.ignore("model");
  fields.check_all_known();
  return request;
}

std::vector<std::int64_t> parse_detokenize_request(std::string_view body) {
  RequestFields fields(body);
  const auto* const tokens = fields.find("tokens");
  if (tokens == nullptr) {
    throw RequestError(400, "tokens: is missing; it must be a list of token ids", "tokens");
  }
  auto ids = token_ids("tokens", *tokens);
  fields.ignore("model");
  fields.check_all_known();
  return ids;
}

}  // namespace evenkeel::serve
