// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tracking/event.h"

#include <algorithm>
#include <cmath>

#include "evenkeel/tracking/crc32c.h"
#include "evenkeel/tracking/protobuf_message.h"

namespace evenkeel::tracking {

namespace {

/// Field numbers, by message.
namespace event {
enum : std::uint64_t { wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7 };
}
namespace summary {
enum : std::uint64_t { value = 1 };
}
namespace value {
enum : std::uint64_t { tag = 1, simple_value = 2, histo = 5, tensor = 8, metadata = 9 };
}
namespace histogram {
enum : std::uint64_t { min = 1, max, num, sum, sum_squares, bucket_limit, bucket };
}

ProtobufMessage event_at(double wall_time) {
  ProtobufMessage out;
  out.number(event::wall_time, wall_time);
  return out;
}

/// SummaryMetadata with the data of a plugin.
std::string plugin_metadata(std::string_view plugin, std::string_view content) {
  constexpr std::uint64_t kPluginData = 1, kName = 1, kContent = 2;
  ProtobufMessage data, metadata;
  data.bytes(kName, plugin);
  if (!content.empty()) data.bytes(kContent, content);
  metadata.bytes(kPluginData, data.text());
  return std::move(metadata).text();
}

/// google.protobuf.Value
std::string struct_value(const HParam& hparam) {
  constexpr std::uint64_t kNumber = 2, kString = 3, kBool = 4;
  ProtobufMessage out;
  if (const auto* const number = std::get_if<double>(&hparam.value)) {
    out.number(kNumber, *number);
  } else if (const auto* const flag = std::get_if<bool>(&hparam.value)) {
    out.varint(kBool, *flag ? 1 : 0);
  } else {
    out.bytes(kString, std::get<std::string>(hparam.value));
  }
  return std::move(out).text();
}

}  // namespace

std::string scalar_value(std::string_view tag, float value) {
  ProtobufMessage out;
  out.bytes(value::tag, tag);
  out.number(value::simple_value, value);
  return std::move(out).text();
}

std::string histogram_value(std::string_view tag, const std::vector<double>& numbers) {
  constexpr std::size_t kBuckets = 30;
  std::vector<double> finite;
  double sum = 0, sum_squares = 0;
  for (const double number : numbers) {
    if (!std::isfinite(number)) continue;
    finite.push_back(number);
    sum += number;
    sum_squares += number * number;
  }
  const auto [least, most] = std::minmax_element(finite.begin(), finite.end());
  const double min = finite.empty() ? 0 : *least, max = finite.empty() ? 0 : *most;
  const std::size_t count = max > min ? kBuckets : 1;
  const double width = (max - min) / static_cast<double>(count);
  std::vector<double> limits(count, max), sizes(count, 0);
  for (std::size_t i = 0; i + 1 < count; ++i) limits[i] = min + static_cast<double>(i + 1) * width;
  for (const double number : finite) {
    const auto bucket = std::lower_bound(limits.begin(), limits.end(), number) - limits.begin();
    ++sizes[static_cast<std::size_t>(bucket)];
  }
  ProtobufMessage histo, out;
  histo.number(histogram::min, min);
  histo.number(histogram::max, max);
  histo.number(histogram::num, static_cast<double>(finite.size()));
  histo.number(histogram::sum, sum);
  histo.number(histogram::sum_squares, sum_squares);
  histo.packed(histogram::bucket_limit, limits);
  histo.packed(histogram::bucket, sizes);
  out.bytes(value::tag, tag);
  out.bytes(value::histo, histo.text());
  return std::move(out).text();
}

std::string text_value(std::string_view tag, std::string_view text) {
  constexpr std::uint64_t kType = 1, kShape = 2, kStrings = 8, kString = 7, kDim = 2, kSize = 1;
  ProtobufMessage dim, shape, tensor, out;
  dim.varint(kSize, 1);
  shape.bytes(kDim, dim.text());
  tensor.varint(kType, kString);
  tensor.bytes(kShape, shape.text());
  tensor.bytes(kStrings, text);
  out.bytes(value::tag, tag);
  out.bytes(value::tensor, tensor.text());
  out.bytes(value::metadata, plugin_metadata("text", ""));
  return std::move(out).text();
}

std::string hparams_value(const std::vector<HParam>& hparams, double start) {
  constexpr std::uint64_t kSessionStart = 3, kHParams = 1, kKey = 1, kValue = 2, kStartTime = 5;
  ProtobufMessage session, data, out;
  for (const auto& hparam : hparams) {
    ProtobufMessage entry;
    entry.bytes(kKey, hparam.name);
    entry.bytes(kValue, struct_value(hparam));
    session.bytes(kHParams, entry.text());
  }
  session.number(kStartTime, start);
  data.bytes(kSessionStart, session.text());
  out.bytes(value::tag, "_hparams_/session_start_info");
  out.bytes(value::metadata, plugin_metadata("hparams", data.text()));
  return std::move(out).text();
}

std::string record_around(std::string_view event) {
  std::string length, out;
  append_little_endian(length, std::uint64_t{event.size()});
  out.reserve(event.size() + 16);
  out += length;
  append_little_endian(out, masked_crc32c(length));
  out += event;
  append_little_endian(out, masked_crc32c(event));
  return out;
}

std::string version_record(double wall_time) {
  auto out = event_at(wall_time);
  out.bytes(event::file_version, "brain.Event:2");
  return record_around(out.text());
}

std::string start_record(double wall_time, std::int64_t step) {
  constexpr std::uint64_t kStatus = 1, kStart = 1;
  ProtobufMessage log;
  log.varint(kStatus, kStart);
  auto out = event_at(wall_time);
  out.varint(event::step, static_cast<std::uint64_t>(step));
  out.bytes(event::session_log, log.text());
  return record_around(out.text());
}

std::string summary_record(double wall_time, std::int64_t step,
                           const std::vector<std::string>& values) {
  ProtobufMessage summary;
  for (const auto& value : values) summary.bytes(summary::value, value);
  auto out = event_at(wall_time);
  out.varint(event::step, static_cast<std::uint64_t>(step));
  out.bytes(event::summary, summary.text());
  return record_around(out.text());
}

}  // namespace evenkeel::tracking
