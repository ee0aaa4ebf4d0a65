// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

#include "evenkeel/tokenizer/refuse.h"

namespace evenkeel::tokenizer {

/// A value of a JSON file with its path, for messages: "tokenizer.json: model.dropout". Each
/// function that reads refuses another type with the path and the value.
class Field {
 public:
  /// \param value  outlives the field
  Field(const nlohmann::json& value, std::string file) : value_(value), file_(std::move(file)) {}

  const nlohmann::json& value() const { return value_; }
  bool is_null() const { return value_.is_null(); }
  /// "FILE: PATH", or "FILE" for the whole of it.
  std::string where() const { return path_.empty() ? file_ : file_ + ": " + path_; }

  /// An entry of an object; a null field if it is missing. An error unless this is an object.
  Field operator[](const char* key) const;
  /// An entry of an array.
  Field operator[](std::size_t index) const;
  /// The number of entries of an array or object. `type` is "array" or "object".
  std::size_t size_of(const char* type) const;

  const std::string& string() const;
  /// \param missing  the result for null
  bool flag(bool missing) const;
  std::uint64_t number() const;
  /// The "type" of an object.
  const std::string& type() const { return (*this)["type"].string(); }

  /// \throws Error (data, exit code 65): "FILE: PATH: must be WANTED, but is VALUE"
  [[noreturn]] void refuse_value(const std::string& wanted) const;

 private:
  Field(const nlohmann::json& value, std::string file, std::string path)
      : value_(value), file_(std::move(file)), path_(std::move(path)) {}

  const nlohmann::json& value_;
  std::string file_, path_;
};

}  // namespace evenkeel::tokenizer
