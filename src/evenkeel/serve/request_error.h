// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>

#include "evenkeel/base/error.h"

namespace evenkeel::serve {

/// A request that the server refuses, as an HTTP status and the error object of OpenAI's API.
class RequestError : public Error {
 public:
  /// \param status  400 to 599
  /// \param param   the field of the request that is wrong; nullopt: none
  RequestError(int status, const std::string& message, std::optional<std::string> param = {})
      : Error(Exit::usage, message), status_(status), param_(std::move(param)) {}

  int status() const { return status_; }

  /// {"error": {"message", "type", "param", "code"}}. The code is "context_length_exceeded", or
  /// null.
  nlohmann::ordered_json body() const;

 private:
  int status_;
  std::optional<std::string> param_;
};

/// The reason phrase of a status that the server refuses with: "Not Found". Others: "Error".
/// \source RFC 9110, section 15; RFC 6585
const char* reason_phrase(int status);

/// Text that a message quotes: printable_line() of its first 40 bytes.
std::string quoted(const std::string& text);

}  // namespace evenkeel::serve
