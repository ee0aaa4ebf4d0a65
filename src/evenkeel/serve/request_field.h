// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::serve {

/// The fields of a request, which are read one by one. A field that is null counts as absent.
class RequestFields {
 public:
  /// \throws RequestError (400) if the body is not a JSON object
  explicit RequestFields(std::string_view body);

  /// The value of a field; nullptr if it is absent.
  const nlohmann::json* find(const std::string& name);

  // The value of a field; `otherwise` if it is absent.
  // \throws RequestError (400) for another type, or a value outside [least, most]
  bool boolean(const std::string& name, bool otherwise);
  double number(const std::string& name, double otherwise, double least, double most);
  std::int64_t integer(const std::string& name, std::int64_t otherwise, std::int64_t least,
                       std::int64_t most);
  std::string string(const std::string& name, const std::string& otherwise);

  /// Ignores a field.
  void ignore(const std::string& name) { find(name); }
  /// Refuses a field whose value is not the neutral one.
  /// \throws RequestError (400)
  void require(const std::string& name, const nlohmann::json& neutral);
  /// Refuses fields that were not read.
  /// \throws RequestError (400), with a known field of a similar name
  void check_all_known() const;

 private:
  nlohmann::json body_;
  std::vector<std::string> known_;
};

/// \throws RequestError (400): "NAME: must be WANTED, but is VALUE"
[[noreturn]] void refuse_field(const std::string& name, const std::string& wanted,
                               const nlohmann::json& value);

/// A list of token ids from 0 to 2^31 - 1.
/// \throws RequestError (400)
std::vector<std::int64_t> token_ids(const std::string& name, const nlohmann::json& list);

}  // namespace evenkeel::serve
