// SPDX-License-Identifier: Apache-2.0
#include "tasks/arrow_writer.h"

#include <cstring>
#include <utility>

namespace evenkeel::tasks {

namespace {

constexpr std::uint8_t kInt = 2, kUtf8 = 5, kBool = 6, kList = 12, kStruct = 13;
constexpr std::uint8_t kSchema = 1, kBatch = 3;
constexpr std::size_t kAlignment = 8;

void pad_to(std::string& out, std::size_t alignment) {
  while (out.size() % alignment != 0) out += '\0';
}

void patch_offset(std::string& out, std::size_t at, std::size_t target) {
  out.replace(at, sizeof(std::uint32_t), le_bytes(static_cast<std::uint32_t>(target - at)));
}

std::size_t put_table(std::string& out, const FlatNode& table);

/// Appends what an offset leads to, and gives its place.
std::size_t put_target(std::string& out, const FlatNode& node) {
  using Kind = FlatNode::Kind;
  if (node.kind == Kind::table) return put_table(out, node);
  pad_to(out, kAlignment);
  out += std::string(sizeof(std::uint32_t), '\0');  // the elements of structs are aligned to 8
  const auto place = out.size();
  const auto count = node.kind == Kind::string    ? node.bytes.size()
                     : node.kind == Kind::structs ? node.count
                                                  : node.parts.size();
  out += le_bytes(static_cast<std::uint32_t>(count));
  if (node.kind != Kind::tables) {
    out += node.bytes + '\0';
    return place;
  }
  const auto first = out.size();
  out += std::string(sizeof(std::uint32_t) * count, '\0');
  for (std::size_t i = 0; i < count; ++i) {
    const auto table = put_table(out, node.parts[i]);
    patch_offset(out, first + i * sizeof(std::uint32_t), table);
  }
  return place;
}

/// Appends the vtable, the table, and what its fields lead to.
std::size_t put_table(std::string& out, const FlatNode& table) {
  using Kind = FlatNode::Kind;
  pad_to(out, kAlignment);
  const auto vtable = out.size();
  const auto fields = table.parts.size();
  std::string offsets, body(sizeof(std::int32_t), '\0');
  for (const auto& field : table.parts) {
    const bool is_inline = field.kind == Kind::inline_bytes;
    if (field.kind != Kind::absent) pad_to(body, is_inline ? field.bytes.size() : 4);
    offsets += le_bytes(static_cast<std::uint16_t>(field.kind == Kind::absent ? 0 : body.size()));
    if (is_inline) body += field.bytes;
    if (!is_inline && field.kind != Kind::absent) body += std::string(4, '\0');
  }
  out += le_bytes(static_cast<std::uint16_t>(2 * (fields + 2)));
  out += le_bytes(static_cast<std::uint16_t>(body.size()));
  out += offsets;
  pad_to(out, kAlignment);
  const auto place = out.size();
  body.replace(0, sizeof(std::int32_t), le_bytes(static_cast<std::int32_t>(place - vtable)));
  out += body;
  for (std::size_t i = 0; i < fields; ++i) {
    const auto& field = table.parts[i];
    if (field.kind == Kind::absent || field.kind == Kind::inline_bytes) continue;
    std::uint16_t offset = 0;
    std::memcpy(&offset, offsets.data() + 2 * i, sizeof offset);
    const auto target = put_target(out, field);
    patch_offset(out, place + offset, target);
  }
  return place;
}

FlatNode flat_string(const std::string& value) {
  return {.kind = FlatNode::Kind::string, .bytes = value};
}

/// A table Field of Arrow's schema.
FlatNode field_of(const std::string& name, std::uint8_t number, FlatNode type,
                  std::vector<FlatNode> children) {
  return flat_table({flat_string(name), flat_number(std::uint8_t{1}), flat_number(number),
                     std::move(type), FlatNode(), flat_tables(std::move(children))});
}

std::string offsets_of(const std::vector<std::size_t>& sizes) {
  std::int32_t at = 0;
  auto bytes = le_bytes(at);
  for (const auto size : sizes) bytes += le_bytes(at += static_cast<std::int32_t>(size));
  return bytes;
}

void append(TestColumn& column, const TestColumn& part) {
  column.lengths.insert(column.lengths.end(), part.lengths.begin(), part.lengths.end());
  column.buffers.insert(column.buffers.end(), part.buffers.begin(), part.buffers.end());
}

}  // namespace

FlatNode test_field(const std::string& name, std::uint8_t number) {
  return field_of(name, number, flat_table({}), {});
}

TestColumn utf8_column(const std::string& name, const Texts& values) {
  std::vector<std::size_t> sizes;
  std::string all;
  for (const auto& value : values) {
    sizes.push_back(value.size());
    all += value;
  }
  return {.field = test_field(name, kUtf8),
          .lengths = {static_cast<std::int64_t>(values.size())},
          .buffers = {"", offsets_of(sizes), all}};
}

TestColumn bool_column(const std::string& name, const std::vector<bool>& values) {
  std::string bits((values.size() + 7) / 8, '\0');
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i]) bits[i / 8] = static_cast<char>(bits[i / 8] | 1 << i % 8);
  }
  return {.field = test_field(name, kBool),
          .lengths = {static_cast<std::int64_t>(values.size())},
          .buffers = {"", bits}};
}

TestColumn int_column(const std::string& name, int bits, const std::vector<std::int64_t>& values) {
  std::string all;
  for (const auto value : values) {
    all += le_bytes(value).substr(0, static_cast<std::size_t>(bits) / 8);
  }
  const auto type = flat_table({flat_number(std::int32_t{bits}), flat_number(std::uint8_t{1})});
  return {.field = field_of(name, kInt, type, {}),
          .lengths = {static_cast<std::int64_t>(values.size())},
          .buffers = {"", all}};
}

TestColumn list_column(const std::string& name, const std::vector<Texts>& values) {
  std::vector<std::size_t> sizes;
  Texts all;
  for (const auto& value : values) {
    sizes.push_back(value.size());
    all.insert(all.end(), value.begin(), value.end());
  }
  const auto items = utf8_column("item", all);
  TestColumn column = {.field = field_of(name, kList, flat_table({}), {items.field}),
                       .lengths = {static_cast<std::int64_t>(values.size())},
                       .buffers = {"", offsets_of(sizes)}};
  append(column, items);
  return column;
}

TestColumn struct_column(const std::string& name, const std::vector<TestColumn>& fields) {
  std::vector<FlatNode> children;
  for (const auto& field : fields) children.push_back(field.field);
  TestColumn column = {.field = field_of(name, kStruct, flat_table({}), std::move(children)),
                       .lengths = {fields.at(0).lengths.at(0)},
                       .buffers = {""}};
  for (const auto& field : fields) append(column, field);
  return column;
}

std::string arrow_message(std::uint8_t type, FlatNode header, const std::string& body) {
  constexpr std::int16_t kVersion5 = 4;
  std::string metadata(sizeof(std::uint32_t), '\0');
  const auto root =
      put_table(metadata, flat_table({flat_number(kVersion5), flat_number(type), std::move(header),
                                      flat_number(static_cast<std::int64_t>(body.size()))}));
  patch_offset(metadata, 0, root);
  pad_to(metadata, kAlignment);
  return "\xff\xff\xff\xff" + le_bytes(static_cast<std::int32_t>(metadata.size())) + metadata +
         body;
}

FlatNode test_schema(const std::vector<TestColumn>& columns) {
  std::vector<FlatNode> fields;
  for (const auto& column : columns) fields.push_back(column.field);
  return flat_table({flat_number(std::int16_t{0}), flat_tables(std::move(fields))});
}

std::string batch_message(const std::vector<TestColumn>& columns, std::int64_t rows) {
  std::string nodes, buffers, body;
  std::size_t node_count = 0, buffer_count = 0;
  for (const auto& column : columns) {
    for (const auto length : column.lengths) nodes += le_bytes(length) + le_bytes(std::int64_t{0});
    for (const auto& buffer : column.buffers) {
      buffers += le_bytes(static_cast<std::int64_t>(body.size())) +
                 le_bytes(static_cast<std::int64_t>(buffer.size()));
      body += buffer;
      pad_to(body, kAlignment);
    }
    node_count += column.lengths.size();
    buffer_count += column.buffers.size();
  }
  const auto structs = FlatNode::Kind::structs;
  return arrow_message(kBatch,
                       flat_table({flat_number(rows),
                                   {.kind = structs, .bytes = nodes, .count = node_count},
                                   {.kind = structs, .bytes = buffers, .count = buffer_count}}),
                       body);
}

std::string arrow_bytes(const std::vector<std::vector<TestColumn>>& batches) {
  auto bytes = arrow_message(kSchema, test_schema(batches.at(0)));
  for (const auto& batch : batches) bytes += batch_message(batch, batch.at(0).lengths.at(0));
  return bytes + kEndOfStream;
}

}  // namespace evenkeel::tasks
