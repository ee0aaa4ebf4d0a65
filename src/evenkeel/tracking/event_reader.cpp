// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tracking/event_reader.h"

#include <cstring>
#include <optional>

#include "evenkeel/base/protobuf_field.h"
#include "evenkeel/tracking/crc32c.h"

namespace evenkeel::tracking {

namespace {

template <typename Number>
Number little_endian(std::string_view bytes) {
  Number out{};
  bytes.copy(reinterpret_cast<char*>(&out), sizeof(out));
  return out;
}

/// Removes the first record of a file and returns its event; nullopt if it is cut off or damaged.
std::optional<std::string_view> take_record(std::string_view& file) {
  constexpr std::size_t kLength = 8, kCrc = 4, kHead = kLength + kCrc;
  if (file.size() < kHead + kCrc) return std::nullopt;
  const auto length = little_endian<std::uint64_t>(file);
  const auto crc = little_endian<std::uint32_t>(file.substr(kLength));
  if (crc != masked_crc32c(file.substr(0, kLength))) return std::nullopt;
  if (length > file.size() - kHead - kCrc) return std::nullopt;
  const auto event = file.substr(kHead, length);
  const auto event_crc = little_endian<std::uint32_t>(file.substr(kHead + length));
  if (event_crc != masked_crc32c(event)) return std::nullopt;
  file.remove_prefix(kHead + length + kCrc);
  return event;
}

void take_values(std::string_view summary, ReadEvent& out) {
  constexpr std::uint64_t kValue = 1, kTag = 1;
  while (const auto field = take_field(summary)) {
    if (field->field != kValue) continue;
    const auto tag = protobuf_field(field->bytes, kTag);
    out.values.push_back({tag ? tag->bytes : std::string_view(), field->bytes});
  }
}

ReadEvent parsed(std::string_view event) {
  constexpr std::uint64_t kWallTime = 1, kStep = 2, kSummary = 5, kSessionLog = 7;
  ReadEvent out;
  while (const auto field = take_field(event)) {
    if (field->field == kWallTime && field->bytes.size() == sizeof(double)) {
      out.wall_time = little_endian<double>(field->bytes);
    } else if (field->field == kStep) {
      out.step = static_cast<std::int64_t>(field->number);
    } else if (field->field == kSummary) {
      take_values(field->bytes, out);
    } else if (field->field == kSessionLog) {
      out.is_start = true;
    }
  }
  return out;
}

}  // namespace

std::vector<ReadEvent> read_events(std::string_view file) {
  std::vector<ReadEvent> out;
  while (const auto event = take_record(file)) out.push_back(parsed(*event));
  return out;
}

}  // namespace evenkeel::tracking
