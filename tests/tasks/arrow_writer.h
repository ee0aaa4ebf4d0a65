// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::tasks {

/// A FlatBuffers table as a tree, for streams that are written by hand.
struct FlatNode {
  enum class Kind { absent, inline_bytes, table, string, tables, structs };
  Kind kind = Kind::absent;
  std::string bytes;            // of a number, a string, or structs
  std::size_t count = 0;        // of structs
  std::vector<FlatNode> parts;  // fields of a table, or tables of a vector
};

/// A little-endian number.
template <typename T>
std::string le_bytes(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

template <typename T>
FlatNode flat_number(T value) {
  return {.kind = FlatNode::Kind::inline_bytes, .bytes = le_bytes(value)};
}

inline FlatNode flat_table(std::vector<FlatNode> fields) {
  return {.kind = FlatNode::Kind::table, .parts = std::move(fields)};
}

inline FlatNode flat_tables(std::vector<FlatNode> tables) {
  return {.kind = FlatNode::Kind::tables, .parts = std::move(tables)};
}

/// A column: its field in the schema, and what a batch has of it, the column first, then its parts.
struct TestColumn {
  FlatNode field;
  std::vector<std::int64_t> lengths;
  std::vector<std::string> buffers;
};

using Texts = std::vector<std::string>;

TestColumn utf8_column(const std::string& name, const Texts& values);
TestColumn bool_column(const std::string& name, const std::vector<bool>& values);
TestColumn int_column(const std::string& name, int bits, const std::vector<std::int64_t>& values);
TestColumn list_column(const std::string& name, const std::vector<Texts>& values);
TestColumn struct_column(const std::string& name, const std::vector<TestColumn>& fields);

/// A field of a type that has no fields of its own. \param number  in Arrow's union Type
FlatNode test_field(const std::string& name, std::uint8_t number);

/// The message of a header. \param type  1: schema, 3: batch
std::string arrow_message(std::uint8_t type, FlatNode header, const std::string& body = "");
FlatNode test_schema(const std::vector<TestColumn>& columns);
std::string batch_message(const std::vector<TestColumn>& columns, std::int64_t rows);

inline const std::string kEndOfStream("\xff\xff\xff\xff\0\0\0\0", 8);

/// A whole stream; all batches have the columns of the first.
std::string arrow_bytes(const std::vector<std::vector<TestColumn>>& batches);

}  // namespace evenkeel::tasks
