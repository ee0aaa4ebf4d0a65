// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"

namespace evenkeel::verify {

/// A JSON object of a golden file. It stores its path, so that an error names file and key. Every
/// getter throws Error (data, exit code 65) for a missing value or another type:
/// `FILE: wants "config.d_model", a whole number, but has none`.
class GoldenJson {
 public:
  /// Parses a whole file.
  /// \param where  path of the file, for messages
  /// \param text   content of the file: one JSON object
  GoldenJson(const std::string& where, const std::string& text);

  /// True if the object has this key.
  bool has(const std::string& key) const { return object_.contains(key); }

  /// The value of a key.
  double number(const std::string& key) const;
  std::int64_t integer(const std::string& key) const;
  bool flag(const std::string& key) const;
  std::string string(const std::string& key) const;

  /// The object under a key, and the objects in a list under a key.
  GoldenJson at(const std::string& key) const;
  std::vector<GoldenJson> list(const std::string& key) const;

  /// The numbers in a list under a key, and all keys of this object.
  std::vector<double> numbers(const std::string& key) const;
  std::vector<std::string> keys() const;

  /// \throws Error: always, with the message `FILE: defect`
  [[noreturn]] void refuse(const std::string& defect, Exit exit = Exit::data) const;

 private:
  GoldenJson(std::string where, std::string prefix, nlohmann::json object);
  const nlohmann::json& value(const std::string& key, const char* type,
                              bool (nlohmann::json::*is)() const noexcept) const;

  std::string where_, prefix_;
  nlohmann::json object_;
};

}  // namespace evenkeel::verify
