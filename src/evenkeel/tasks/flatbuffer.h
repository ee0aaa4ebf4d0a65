// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::tasks {

/// A little-endian number at an offset of `bytes`, which the caller has checked.
template <typename T>
T number_at(std::string_view bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// A table of a FlatBuffers message. Every offset is checked against the size of the message, so
/// that no message can make it read elsewhere.
/// \source FlatBuffers: Internals (flatbuffers.dev/internals)
class FlatbufferTable {
 public:
  /// The root table. \param file  for messages
  /// \throws Error (data, exit code 65), as all functions do where the message is broken
  FlatbufferTable(std::string_view message, const std::string& file);

  /// A number, or the fallback if the field is absent. \param field  its index in the schema
  template <typename T>
  T number(int field, T fallback) const {
    const auto at = find(field, sizeof(T));
    return at ? number_at<T>(message_, *at) : fallback;
  }

  std::optional<FlatbufferTable> table(int field) const;

  /// Empty if the field is absent.
  std::string_view string(int field) const;

  /// The tables of a vector. \param most  more tables than these are refused
  std::vector<FlatbufferTable> tables(int field, std::size_t most) const;

  /// The bytes of a vector. \param size  of an element
  std::string_view vector(int field, std::size_t size) const;

 private:
  FlatbufferTable(std::string_view message, const std::string& file, std::size_t at);

  std::optional<std::size_t> find(int field, std::size_t size) const;
  std::size_t target(std::size_t at) const;
  void check_range(std::size_t at, std::size_t size) const;

  std::string_view message_;
  const std::string* file_ = nullptr;  // name of the file
  std::size_t at_ = 0;                 // of the table
  std::size_t fields_ = 0;             // of the offsets of its fields
  int field_count_ = 0;
};

/// \throws Error (data, exit code 65): the file is not an Arrow IPC stream, or is damaged
[[noreturn]] void refuse_arrow(const std::string& file, const std::string& reason);

}  // namespace evenkeel::tasks
