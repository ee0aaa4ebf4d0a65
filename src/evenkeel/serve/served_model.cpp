// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/serve/served_model.h"

#include <algorithm>

#include "evenkeel/base/utf8.h"
#include "evenkeel/data/display_text.h"
#include "evenkeel/serve/request_error.h"
#include "evenkeel/tokenizer/encoder.h"

namespace evenkeel::serve {

namespace {

/// "prompt", or "prompt[2]" if there are several.
std::string prompt_name(std::size_t index, std::size_t count) {
  return count == 1 ? "prompt" : text("prompt[", index, "]");
}

[[noreturn]] void refuse_length(const std::string& name, const std::string& tokens,
                                std::int64_t max_tokens, std::int64_t context) {
  throw RequestError(400,
                     text(name, ": this model's maximum context length is ", context,
                          " tokens, but the request has ", tokens, " in the prompt and ",
                          max_tokens, " in max_tokens; shorten one of them"),
                     "prompt");
}

/// The bytes of the longest token.
std::size_t longest_token(const data::TextEncoding& encoding) {
  std::size_t longest = 1;
  for (const auto length : *encoding.token_lengths()) {
    longest = std::max<std::size_t>(longest, length);
  }
  for (const auto& special : encoding.tokenizer().special_tokens()) {
    longest = std::max(longest, special.text.size());
  }
  return longest;
}

/// Refuses a text that cannot fit the context, before it is tokenized. A normalizer may shorten a
/// text, hence the factor.
void check_size(const ServedModel& served, const std::string& prompt, const std::string& name,
                std::int64_t max_tokens) {
  constexpr std::size_t kShortened = 4;
  const auto tokens = prompt.size() / longest_token(*served.encoding) / kShortened;
  if (static_cast<std::int64_t>(tokens) <= served.context()) return;
  refuse_length(name, text("more than ", tokens), max_tokens, served.context());
}

EncodedPrompt encode_text(const ServedModel& served, const CompletionRequest& request,
                          const std::string& prompt, const std::string& name) {
  check_has_tokenizer(served);
  check_size(served, prompt, name, request.max_tokens);
  const auto& encoding = *served.encoding;
  EncodedPrompt encoded;
  const auto ids = encoding.encode(prompt);
  encoded.has_begin = request.add_special_tokens && encoding.end_of_text() &&
                      (encoding.prompt_begins_with_end_of_text() || ids.empty());
  if (encoded.has_begin) encoded.ids.push_back(*encoding.end_of_text());
  encoded.ids.insert(encoded.ids.end(), ids.begin(), ids.end());
  encoded.bytes = prompt;
  if (encoded.ids.empty()) {
    throw RequestError(400, text(name, ": must have a token, but is empty"), "prompt");
  }
  return encoded;
}

EncodedPrompt encode_ids(const ServedModel& served, const std::vector<std::int64_t>& ids,
                         const std::string& name) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < served.vocabulary()) continue;
    throw RequestError(400,
                       text(name, "[", i, "]: must be a token id from 0 to ",
                            served.vocabulary() - 1, ", but is ", ids[i]),
                       "prompt");
  }
  EncodedPrompt encoded{.ids = ids};
  for (const auto id : ids) encoded.bytes += token_bytes(served, id);
  return encoded;
}

/// Refuses a request whose result would be too large.
void check_result_size(const CompletionRequest& request,
                       const std::vector<EncodedPrompt>& prompts) {
  std::int64_t tokens = 0;
  for (const auto& prompt : prompts) {
    tokens += request.max_tokens + static_cast<std::int64_t>(request.echo ? prompt.ids.size() : 0);
  }
  const auto numbers = tokens * request.n * (request.logprobs.value_or(0) + 1);
  if (numbers <= kMaxTokens) return;
  throw RequestError(
      400, text("the result must have at most ", kMaxTokens, " log-probabilities, but would have ",
                numbers, "; send fewer prompts, or a smaller n, logprobs or max_tokens"));
}

}  // namespace

void check_has_tokenizer(const ServedModel& served) {
  if (served.has_tokenizer) return;
  throw RequestError(400,
                     "prompt: must be token ids, because the model was trained on token files and "
                     "its tokenizer is unknown; name it with --set data.tokenizer=tokenizer.json",
                     "prompt");
}

std::vector<EncodedPrompt> encode_prompts(const ServedModel& served,
                                          const CompletionRequest& request) {
  std::vector<EncodedPrompt> prompts;
  for (const auto& prompt : request.prompts) {
    const auto name = prompt_name(prompts.size(), request.prompts.size());
    const auto* const written = std::get_if<std::string>(&prompt);
    auto encoded = written != nullptr
                       ? encode_text(served, request, *written, name)
                       : encode_ids(served, std::get<std::vector<std::int64_t>>(prompt), name);
    const auto size = static_cast<std::int64_t>(encoded.ids.size());
    // The last generated token is not an input, so it needs no place in the context.
    if (size + std::max<std::int64_t>(request.max_tokens - 1, 0) > served.context()) {
      refuse_length(name, text(size), request.max_tokens, served.context());
    }
    prompts.push_back(std::move(encoded));
  }
  check_result_size(request, prompts);
  return prompts;
}

std::vector<std::int64_t> tokenize(const ServedModel& served, const TokenizeRequest& request) {
  check_has_tokenizer(served);
  const auto& encoding = *served.encoding;
  std::vector<std::int64_t> ids;
  if (request.add_special_tokens && encoding.prompt_begins_with_end_of_text()) {
    ids.push_back(*encoding.end_of_text());
  }
  for (const auto& special : encoding.tokenizer().special_tokens()) {
    if (special.text != request.prompt) continue;
    ids.push_back(special.id);
    return ids;
  }
  std::vector<tokenizer::Id> of_text;
  tokenizer::Encoder(encoding.tokenizer(), /*special_in_text=*/true)
      .encode(request.prompt, of_text);
  ids.insert(ids.end(), of_text.begin(), of_text.end());
  return ids;
}

std::string detokenize(const ServedModel& served, const std::vector<std::int64_t>& ids) {
  check_has_tokenizer(served);
  for (const auto id : ids) {
    if (id < served.encoding->vocabulary()) continue;
    throw RequestError(400,
                       text("tokens: must be token ids below ", served.encoding->vocabulary(),
                            ", the tokenizer's vocabulary, but one is ", id),
                       "tokens");
  }
  data::DisplayStream stream(data::Controls::kept);
  auto out = stream.add(served.encoding->tokenizer().decode(ids));
  return out + stream.finish();
}

std::string token_bytes(const ServedModel& served, std::int64_t id) {
  if (!served.has_tokenizer) return "";
  // decode() of one token would strip the space of a SentencePiece token.
  return served.encoding->tokenizer().token_bytes(static_cast<tokenizer::Id>(id));
}

std::string token_text(const ServedModel& served, std::int64_t id) {
  auto bytes = token_bytes(served, id);
  if (bytes.empty()) return text("token_id:", id);
  if (!first_invalid_utf8(bytes)) return bytes;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "bytes:";
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    out += "\\x";
    out += kDigits[byte / 16U];
    out += kDigits[byte % 16U];
  }
  return out;
}

}  // namespace evenkeel::serve
