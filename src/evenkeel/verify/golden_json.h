// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"

namespace evenkeel::verify {

/// An object of the JSON that belongs to a golden file. It stores its own path, so an error names
/// file and key. Each reader
/// \throws Error (data) for a missing value or another type:
///         `FILE: wants "config.d_model", a whole number, but has none`
class GoldenJson {
 public:
  /// Parses a whole file.
  /// \param where  the file, for messages
  /// \param text   its content: one JSON object
  GoldenJson(const std::string& where, const std::string& text);

  /// Whether the object has this key.
  bool has(const std::string& key) const { return object_.contains(key); }

  /// The value of a key.
  double number(const std::string& key) const;
  std::int64_t integer(const std::string& key) const;
  bool flag(const std::string& key) const;
  std::string string(const std::string& key) const;

  /// The object of a key, and the objects of a list.
  GoldenJson at(const std::string& key) const;
  std::vector<GoldenJson> list(const std::string& key) const;

  /// The numbers of a list, and all keys of this object.
  std::vector<double> numbers(const std::string& key) const;
  std::vector<std::string> keys() const;

  /// \throws Error always: `FILE: defect`
  [[noreturn]] void refuse(const std::string& defect, Exit exit = Exit::data) const;

 private:
  GoldenJson(std::string where, std::string prefix, nlohmann::json object);
  const nlohmann::json& value(const std::string& key, const char* type,
                              bool (nlohmann::json::*is)() const noexcept) const;

  std::string where_, prefix_;
  nlohmann::json object_;
};

}  // namespace evenkeel::verify
