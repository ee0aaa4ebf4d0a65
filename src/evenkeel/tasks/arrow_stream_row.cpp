// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "evenkeel/base/error.h"
#include "evenkeel/base/nearest.h"
#include "evenkeel/base/utf8.h"
#include "evenkeel/tasks/arrow_stream.h"

namespace evenkeel::tasks {

namespace {

/// The index of the field with this name; the number of fields if there is none.
std::size_t index_of_field(const std::vector<ArrowField>& fields, std::string_view name) {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const ArrowField& each) { return each.name == name; });
  return static_cast<std::size_t>(found - fields.begin());
}

std::vector<std::string> names_of_fields(const std::vector<ArrowField>& fields) {
  std::vector<std::string> names;
  names.reserve(fields.size());
  for (const auto& each : fields) names.push_back(each.name);
  return names;
}

}  // namespace

std::string ArrowRow::where() const {
  return evenkeel::text(*file_, ", row ", number_ + 1);
}

void ArrowRow::refuse(const std::string& reason) const {
  throw Error(Exit::data, where() + ": " + reason);
}

bool ArrowRow::has(const std::string& name) const {
  return index_of_field(*fields_, name) < fields_->size();
}

void ArrowRow::refuse_type(const std::string& name, const char* wanted,
                           const ArrowField& field) const {
  refuse(text("column \"", name, "\" must be of type ", wanted, ", but is of type ",
              name_of(field.type)));
}

/// \param wanted  the type, for messages
ArrowRow::Value ArrowRow::find(const std::string& name, const char* wanted) const {
  const auto* fields = fields_;
  const auto* arrays = &batch_->columns;
  for (std::string_view rest = name;;) {
    const auto dot = rest.find('.');
    const auto at = index_of_field(*fields, rest.substr(0, dot));
    if (at == fields->size()) {
      refuse(text("must have the column \"", name, "\" of type ", wanted, ", but has none",
                  did_you_mean(rest.substr(0, dot), names_of_fields(*fields))));
    }
    const Value value = {.field = &(*fields)[at], .array = &(*arrays)[at], .row = row_};
    if (value.array->is_null(row_)) {
      refuse(text("column \"", name, "\" must have a value, but is null"));
    }
    if (dot == std::string_view::npos) return value;
    if (value.field->type != ArrowType::structure) refuse_type(name, "struct", *value.field);
    fields = &value.field->children;
    arrays = &value.array->children;
    rest.remove_prefix(dot + 1);
  }
}

std::string ArrowRow::string_at(const Value& value, const std::string& name) const {
  if (value.array->is_null(value.row)) {
    refuse(text("column \"", name, "\" must have a value, but is null"));
  }
  const auto begin = value.array->offset(value.row);
  const auto size = value.array->offset(value.row + 1) - begin;
  const auto found =
      value.array->values.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(size));
  if (first_invalid_utf8(found)) refuse(text("column \"", name, "\" must be UTF-8, but is not"));
  return std::string(found);
}

std::string ArrowRow::string(const std::string& name) const {
  const auto value = find(name, "utf8");
  if (value.field->type != ArrowType::utf8) refuse_type(name, "utf8", *value.field);
  return string_at(value, name);
}

std::vector<std::string> ArrowRow::strings(const std::string& name) const {
  const auto value = find(name, "list of utf8");
  const bool is_list = value.field->type == ArrowType::list;
  if (!is_list) refuse_type(name, "list of utf8", *value.field);
  const auto& element = value.field->children[0];
  if (element.type != ArrowType::utf8) refuse_type(name, "list of utf8", element);
  std::vector<std::string> found;
  for (auto i = value.array->offset(value.row); i < value.array->offset(value.row + 1); ++i) {
    found.push_back(string_at({&element, &value.array->children[0], i}, name));
  }
  return found;
}

std::int64_t ArrowRow::integer(const std::string& name) const {
  const auto value = find(name, "int64");
  const auto row = static_cast<std::size_t>(value.row);
  if (value.field->type == ArrowType::int64) {
    return number_at<std::int64_t>(value.array->values, row * sizeof(std::int64_t));
  }
  if (value.field->type != ArrowType::int32) refuse_type(name, "int64", *value.field);
  return number_at<std::int32_t>(value.array->values, row * sizeof(std::int32_t));
}

bool ArrowRow::boolean(const std::string& name) const {
  const auto value = find(name, "bool");
  if (value.field->type != ArrowType::boolean) refuse_type(name, "bool", *value.field);
  return value.array->bit(value.row);
}

}  // namespace evenkeel::tasks
