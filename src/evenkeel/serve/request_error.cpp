// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/serve/request_error.h"

#include <nlohmann/json.hpp>

#include <string_view>
#include <utility>

#include "evenkeel/base/printable.h"

namespace evenkeel::serve {

namespace {

const char* type_of(int status) {
  if (status == 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

}  // namespace

nlohmann::ordered_json RequestError::body() const {
  nlohmann::ordered_json error = {{"message", what()}, {"type", type_of(status_)}};
  error["param"] = param_ ? nlohmann::ordered_json(*param_) : nlohmann::ordered_json();
  const bool is_length = std::string_view(what()).find("maximum context") != std::string::npos;
  error["code"] =
      is_length ? nlohmann::ordered_json("context_length_exceeded") : nlohmann::ordered_json();
  return {{"error", std::move(error)}};
}

const char* reason_phrase(int status) {
  constexpr std::pair<int, const char*> kPhrases[] = {{400, "Bad Request"},
                                                      {403, "Forbidden"},
                                                      {404, "Not Found"},
                                                      {405, "Method Not Allowed"},
                                                      {408, "Request Timeout"},
                                                      {411, "Length Required"},
                                                      {413, "Content Too Large"},
                                                      {415, "Unsupported Media Type"},
                                                      {429, "Too Many Requests"},
                                                      {431, "Request Header Fields Too Large"},
                                                      {500, "Internal Server Error"},
                                                      {503, "Service Unavailable"}};
  for (const auto& [known, phrase] : kPhrases) {
    if (known == status) return phrase;
  }
  return "Error";
}

std::string quoted(const std::string& text) {
  constexpr std::size_t kMostBytes = 40;
  return printable_line(text.size() <= kMostBytes ? text : text.substr(0, kMostBytes) + "...");
}

}  // namespace evenkeel::serve
