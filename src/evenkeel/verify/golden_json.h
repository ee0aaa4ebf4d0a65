// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"

namespace evenkeel::verify {

/// An object of the JSON that belongs to a golden file. It knows its own path, so that each
/// value that is missing or of another type is reported by file and key. Every reader below
/// \throws Error (data): `FILE: wants "config.d_model", a whole number, but has none`
class GoldenJson {
 public:
  /// \param where  the file, for messages
  GoldenJson(const std::string& where, const std::string& text);

  bool has(const std::string& key) const { return object_.contains(key); }
  double number(const std::string& key) const;
  std::int64_t integer(const std::string& key) const;
  bool flag(const std::string& key) const;
  std::string string(const std::string& key) const;
  GoldenJson at(const std::string& key) const;
  std::vector<GoldenJson> list(const std::string& key) const;
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
