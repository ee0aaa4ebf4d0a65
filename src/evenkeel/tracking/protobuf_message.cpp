// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tracking/protobuf_message.h"

namespace evenkeel::tracking {

namespace {

enum class WireType : std::uint64_t {
  variable = 0,
  eight_bytes = 1,
  delimited = 2,
  four_bytes = 5
};

}  // namespace

void ProtobufMessage::raw_varint(std::uint64_t value) {
  constexpr std::uint64_t kMore = 0x80;
  for (; value >= kMore; value >>= 7U) text_ += static_cast<char>(value | kMore);
  text_ += static_cast<char>(value);
}

void ProtobufMessage::key(std::uint64_t field, std::uint64_t wire_type) {
  raw_varint(field << 3U | wire_type);
}

void ProtobufMessage::varint(std::uint64_t field, std::uint64_t value) {
  key(field, static_cast<std::uint64_t>(WireType::variable));
  raw_varint(value);
}

void ProtobufMessage::number(std::uint64_t field, double value) {
  key(field, static_cast<std::uint64_t>(WireType::eight_bytes));
  append_little_endian(text_, value);
}

void ProtobufMessage::number(std::uint64_t field, float value) {
  key(field, static_cast<std::uint64_t>(WireType::four_bytes));
  append_little_endian(text_, value);
}

void ProtobufMessage::bytes(std::uint64_t field, std::string_view value) {
  key(field, static_cast<std::uint64_t>(WireType::delimited));
  raw_varint(value.size());
  text_ += value;
}

void ProtobufMessage::packed(std::uint64_t field, const std::vector<double>& values) {
  key(field, static_cast<std::uint64_t>(WireType::delimited));
  raw_varint(values.size() * sizeof(double));
  for (const double value : values) append_little_endian(text_, value);
}

}  // namespace evenkeel::tracking
