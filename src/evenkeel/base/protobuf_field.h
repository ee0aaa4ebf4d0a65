// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace evenkeel {

/// A field of a protobuf message.
struct ProtobufField {
  std::uint64_t number = 0;  // of a varint
  std::string_view bytes;    // of a string, a message, or a number of four or eight bytes
  std::uint64_t field = 0;   // its number in the message
};

/// Removes the first field of a message.
/// \return nullopt if the message is empty or damaged
/// \source https://protobuf.dev/programming-guides/encoding
std::optional<ProtobufField> take_field(std::string_view& message);

/// The last field of this number in a protobuf message.
/// \return nullopt if the message has no such field, or is damaged before it
std::optional<ProtobufField> protobuf_field(std::string_view message, std::uint64_t field);

}  // namespace evenkeel
