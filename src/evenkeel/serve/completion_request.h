// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace evenkeel::serve {

/// Limits of a request. A larger value is refused with the HTTP status 400, a larger body with 413.
inline constexpr std::size_t kMaxBodyBytes = std::size_t{4} << 20;
inline constexpr std::size_t kMaxPrompts = 256;
inline constexpr std::int64_t kMaxCopies = 128;           // `n`
inline constexpr std::int64_t kMaxChoices = kMaxPrompts;  // prompts times `n`
inline constexpr std::int64_t kMaxTokens = 1'000'000;
inline constexpr std::int64_t kMaxLogprobs = 100;
inline constexpr std::size_t kMaxStops = 16;
inline constexpr std::size_t kMaxStopBytes = 1024;

/// A prompt: a text, or token ids.
using Prompt = std::variant<std::string, std::vector<std::int64_t>>;

/// The body of POST /v1/completions. Defaults are those of OpenAI's API, except for `seed`.
struct CompletionRequest {
  std::vector<Prompt> prompts;  // at least one; ids are not empty and not negative
  std::int64_t n = 1;           // choices of each prompt
  std::int64_t max_tokens = 16;
  std::optional<std::int64_t> logprobs;  // number of most probable tokens; nullopt: no logprobs
  double temperature = 1;                // 0: greedy decoding
  double top_p = 1;
  std::int64_t top_k = 0;          // 0: all
  std::uint64_t seed = 1;          // without `seed`, the same request gives the same text, too
  std::vector<std::string> stops;  // not empty
  bool add_special_tokens = true;  // false: no begin token before a text
  bool echo = false;               // the prompt is a part of the result
  bool stream = false;
  bool include_usage = false;  // the last event of a stream has `usage`
};

/// The number of choices of a result.
inline std::size_t choices_of(const CompletionRequest& request) {
  return request.prompts.size() * static_cast<std::size_t>(request.n);
}

/// Reads the body of POST /v1/completions. Fields that do not affect the result (`model`, `user`,
/// `metadata`, ...) are ignored. A field that is unknown, or that asks for something that the
/// server does not have, is refused by name.
/// \throws RequestError (400), with the name of the field
CompletionRequest parse_completion_request(std::string_view body);

/// The body of POST /tokenize.
struct TokenizeRequest {
  std::string prompt;
  bool add_special_tokens = true;
};

/// \throws RequestError (400)
TokenizeRequest parse_tokenize_request(std::string_view body);

/// The field `tokens` of POST /detokenize.
/// \throws RequestError (400)
std::vector<std::int64_t> parse_detokenize_request(std::string_view body);

}  // namespace evenkeel::serve
