// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/protobuf_field.h"

namespace evenkeel {

namespace {

std::optional<std::uint64_t> take_varint(std::string_view& message) {
  constexpr unsigned kBits = 7, kMaxShift = 63;
  std::uint64_t out = 0;
  for (unsigned shift = 0; shift <= kMaxShift && !message.empty(); shift += kBits) {
    const auto byte = static_cast<unsigned char>(message.front());
    message.remove_prefix(1);
    out |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return out;
  }
  return std::nullopt;
}

/// The value after a key of this wire type.
std::optional<ProtobufField> take_value(std::string_view& message, std::uint64_t wire_type) {
  enum : std::uint64_t { varint = 0, eight_bytes = 1, delimited = 2, four_bytes = 5 };
  std::uint64_t bytes = wire_type == eight_bytes ? 8 : 4;
  if (wire_type == varint || wire_type == delimited) {
    const auto number = take_varint(message);
    if (!number) return std::nullopt;
    if (wire_type == varint) return ProtobufField{*number, {}, 0};
    bytes = *number;
  } else if (wire_type != eight_bytes && wire_type != four_bytes) {
    return std::nullopt;
  }
  if (bytes > message.size()) return std::nullopt;
  const ProtobufField out{0, message.substr(0, bytes), 0};
  message.remove_prefix(bytes);
  return out;
}

}  // namespace

std::optional<ProtobufField> take_field(std::string_view& message) {
  constexpr unsigned kTypeBits = 3;
  const auto key = message.empty() ? std::nullopt : take_varint(message);
  auto value = key ? take_value(message, *key & 7) : std::nullopt;
  if (value) value->field = *key >> kTypeBits;
  return value;
}

std::optional<ProtobufField> protobuf_field(std::string_view message, std::uint64_t field) {
  std::optional<ProtobufField> found;
  while (!message.empty()) {
    const auto next = take_field(message);
    if (!next) return std::nullopt;
    if (next->field == field) found = next;
  }
  return found;
}

}  // namespace evenkeel
