// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/json_field.h"

#include "evenkeel/base/printable.h"

namespace evenkeel::tokenizer {

namespace {

/// A value as JSON in one line, cut to a length that a message can have.
std::string short_json(const nlohmann::json& value) {
  constexpr std::size_t kLongest = 80;
  auto out = printable_line(value.dump());
  if (out.size() > kLongest) out = out.substr(0, kLongest) + "...";
  return out;
}

}  // namespace

Field Field::operator[](const char* key) const {
  static const nlohmann::json kNull;
  if (!value_.is_object()) refuse_value("an object");
  const auto found = value_.find(key);
  return {found == value_.end() ? kNull : *found, file_, path_.empty() ? key : path_ + "." + key};
}

Field Field::operator[](std::size_t index) const {
  return {value_[index], file_, evenkeel::text(path_, "[", index, "]")};
}

std::size_t Field::size_of(const char* type) const {
  if (value_.type_name() != std::string_view(type)) refuse_value(std::string("an ") + type);
  return value_.size();
}

const std::string& Field::string() const {
  if (!value_.is_string()) refuse_value("a string");
  return value_.get_ref<const std::string&>();
}

bool Field::flag(bool missing) const {
  if (value_.is_null()) return missing;
  if (!value_.is_boolean()) refuse_value("true or false");
  return value_.get<bool>();
}

std::uint64_t Field::number() const {
  if (!value_.is_number_unsigned()) refuse_value("a number of at least 0");
  return value_.get<std::uint64_t>();
}

void Field::refuse_value(const std::string& wanted) const {
  refuse(where(), "must be ", wanted, ", but is ", short_json(value_));
}

}  // namespace evenkeel::tokenizer
