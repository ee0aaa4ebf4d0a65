// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace evenkeel::tracking {

/// A protobuf message that is written field by field. base/protobuf_field.h reads messages.
/// \source https://protobuf.dev/programming-guides/encoding
class ProtobufMessage {
 public:
  /// Adds an int64, int32, bool or enum.
  void varint(std::uint64_t field, std::uint64_t value);
  /// Adds a double.
  void number(std::uint64_t field, double value);
  /// Adds a float.
  void number(std::uint64_t field, float value);
  /// Adds a string, bytes or a message.
  void bytes(std::uint64_t field, std::string_view value);
  /// Adds a packed list of doubles.
  void packed(std::uint64_t field, const std::vector<double>& values);

  /// The serialized message.
  const std::string& text() const& { return text_; }
  std::string text() && { return std::move(text_); }

 private:
  void key(std::uint64_t field, std::uint64_t wire_type);
  void raw_varint(std::uint64_t value);

  std::string text_;
};

/// Appends the bytes of a number in little-endian order, as all of TensorBoard's formats have them.
template <typename Number>
void append_little_endian(std::string& out, Number value) {
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace evenkeel::tracking
