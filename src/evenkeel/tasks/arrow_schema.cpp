// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tasks/arrow_schema.h"

#include <array>
#include <cstdint>
#include <optional>

#include "evenkeel/base/error.h"
#include "evenkeel/base/printable.h"
#include "evenkeel/base/utf8.h"

namespace evenkeel::tasks {

namespace {

constexpr std::size_t kMostFields = 1000;  // of a schema; a hostile one could repeat fields
constexpr int kMostLevels = 16;

/// Indices of fields in Arrow's format/Schema.fbs.
enum SchemaField { schema_endianness = 0, schema_fields = 1 };
enum FieldField {
  field_name = 0,
  field_type_type = 2,
  field_type = 3,
  field_dictionary = 4,
  field_children = 5,
};
enum IntField { int_bit_width = 0, int_is_signed = 1 };

/// The numbers of the types that are read, in union Type.
enum TypeNumber { type_int = 2, type_utf8 = 5, type_bool = 6, type_list = 12, type_struct = 13 };

/// Names of the union Type by number, for messages.
constexpr std::array<const char*, 27> kTypeNames = {"none",
                                                    "null",
                                                    "int",
                                                    "floating point",
                                                    "binary",
                                                    "utf8",
                                                    "bool",
                                                    "decimal",
                                                    "date",
                                                    "time",
                                                    "timestamp",
                                                    "interval",
                                                    "list",
                                                    "struct",
                                                    "union",
                                                    "fixed-size binary",
                                                    "fixed-size list",
                                                    "map",
                                                    "duration",
                                                    "large binary",
                                                    "large utf8",
                                                    "large list",
                                                    "run-end encoded",
                                                    "binary view",
                                                    "utf8 view",
                                                    "list view",
                                                    "large list view"};

/// Reads a schema, whose fields are a tree.
class SchemaReader {
 public:
  explicit SchemaReader(const std::string& file) : file_(file) {}

  std::vector<ArrowField> fields(const std::vector<FlatbufferTable>& tables, int level) {
    std::vector<ArrowField> found;
    found.reserve(tables.size());
    for (const auto& table : tables) found.push_back(field(table, level));
    return found;
  }

 private:
  ArrowField field(const FlatbufferTable& table, int level) {
    if (++count_ > kMostFields || level > kMostLevels) {
      refuse_arrow(file_, text("its schema has more than ", kMostFields, " fields or ", kMostLevels,
                               " levels"));
    }
    ArrowField found = {.name = std::string(table.string(field_name))};
    if (first_invalid_utf8(found.name)) refuse_arrow(file_, "a name of a column is not UTF-8");
    const auto children = table.tables(field_children, kMostFields);
    found.type = type_of(table, found.name);
    found.children = fields(children, level + 1);
    // A struct without fields would have rows without bytes.
    const bool has_parts = found.type == ArrowType::structure && !children.empty();
    const bool is_list = found.type == ArrowType::list && children.size() == 1;
    const bool is_value = found.type != ArrowType::structure && found.type != ArrowType::list;
    const bool fits = has_parts || is_list || (is_value && children.empty());
    if (!fits) refuse_arrow(file_, "its metadata are broken");
    return found;
  }

  ArrowType type_of(const FlatbufferTable& table, const std::string& name) const {
    if (table.table(field_dictionary)) refuse_type(name, "dictionary");
    const auto number = table.number<std::uint8_t>(field_type_type, 0);
    switch (number) {
      case type_utf8:
        return ArrowType::utf8;
      case type_bool:
        return ArrowType::boolean;
      case type_list:
        return ArrowType::list;
      case type_struct:
        return ArrowType::structure;
      case type_int:
        return integer_type(table.table(field_type), name);
      default:
        refuse_type(name, number < kTypeNames.size() ? kTypeNames.at(number)
                                                     : text("number ", int{number}));
    }
  }

  ArrowType integer_type(const std::optional<FlatbufferTable>& type,
                         const std::string& name) const {
    constexpr int kBits32 = 32, kBits64 = 64;
    if (!type) refuse_arrow(file_, "its metadata are broken");
    const auto bits = type->number<std::int32_t>(int_bit_width, 0);
    const bool is_signed = type->number<std::uint8_t>(int_is_signed, 0) != 0;
    if (is_signed && bits == kBits32) return ArrowType::int32;
    if (is_signed && bits == kBits64) return ArrowType::int64;
    refuse_type(name, text(is_signed ? "int" : "uint", bits));
  }

  [[noreturn]] void refuse_type(const std::string& name, const std::string& type) const {
    throw Error(Exit::data,
                text(file_, ": column \"", printable_line(name), "\": must be of type utf8, bool, ",
                     "int32, int64, list or struct, but is of type ", type,
                     "; write the file again with one of these"));
  }

  const std::string& file_;
  std::size_t count_ = 0;
};

}  // namespace

const char* name_of(ArrowType type) {
  switch (type) {
    case ArrowType::utf8:
      return "utf8";
    case ArrowType::boolean:
      return "bool";
    case ArrowType::int32:
      return "int32";
    case ArrowType::int64:
      return "int64";
    case ArrowType::list:
      return "list";
    case ArrowType::structure:
      return "struct";
  }
  EK_ASSERT(false);
}

std::vector<ArrowField> arrow_fields(const FlatbufferTable& schema, const std::string& file) {
  if (schema.number<std::int16_t>(schema_endianness, 0) != 0) {
    refuse_arrow(file, "its numbers are big-endian");
  }
  return SchemaReader(file).fields(schema.tables(schema_fields, kMostFields), 1);
}

}  // namespace evenkeel::tasks
