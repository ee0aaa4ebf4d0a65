// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tracking/protobuf_message.h"

namespace evenkeel::tracking {

namespace {

enum WireType : std::uint64_t { kVarint = 0, kEightBytes = 1, kDelimited = 2, kFourBytes = 5 };

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
  key(field, kVarint);
  raw_varint(value);
}

void ProtobufMessage::number(std::uint64_t field, double value) {
  key(field, kEightBytes);
  append_little_endian(text_, value);
}

void ProtobufMessage::number(std::uint64_t field, float value) {
  key(field, kFourBytes);
  append_little_endian(text_, value);
}

void ProtobufMessage::bytes(std::uint64_t field, std::string_view value) {
  key(field, kDelimited);
  raw_varint(value.size());
  text_ += value;
}

void ProtobufMessage::packed(std::uint64_t field, const std::vector<double>& values) {
  key(field, kDelimited);
  raw_varint(values.size() * sizeof(double));
  for (const double value : values) append_little_endian(text_, value);
}

}  // namespace evenkeel::tracking
