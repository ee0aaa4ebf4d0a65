// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tasks/arrow_stream.h"

#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/data/text_stream.h"
#include "evenkeel/tasks/flatbuffer.h"

namespace evenkeel::tasks {

namespace {

/// Indices of fields in Arrow's format/Message.fbs, and numbers of its union MessageHeader.
enum MessageField { message_version = 0, message_type = 1, message_header = 2, message_body = 3 };
enum MessageType { message_schema = 1, message_dictionary = 2, message_batch = 3 };

constexpr std::int16_t kVersion4 = 3, kVersion5 = 4;  // enum MetadataVersion
constexpr std::uint32_t kContinuation = 0xffffffff;

std::string bytes_of_file(const std::string& path) {
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  data::TextStream stream(path);
  std::string bytes(stream.file_bytes(), '\0');
  for (std::size_t size = 0;;) {
    if (bytes.size() - size < kBlock) bytes.resize(size + kBlock);
    const auto got = stream.read(bytes.data() + size, bytes.size() - size);
    size += got;
    if (size < bytes.size()) {
      bytes.resize(size);
      return bytes;
    }
  }
}

}  // namespace

ArrowStream::ArrowStream(std::string path) : path_(std::move(path)), bytes_(bytes_of_file(path_)) {
  read_messages();
}

std::int64_t ArrowStream::rows() const {
  std::int64_t rows = 0;
  for (const auto& batch : batches_) rows += batch.rows;
  return rows;
}

void ArrowStream::each_row(const std::function<void(const ArrowRow& row)>& use) const {
  std::int64_t number = 0;
  for (const auto& batch : batches_) {
    for (std::int64_t row = 0; row < batch.rows; ++row) {
      use(ArrowRow(fields_, batch, row, number++, path_));
    }
  }
}

/// Removes the first `size` bytes.
std::string_view ArrowStream::take(std::string_view& bytes, std::int64_t size) const {
  if (size < 0) refuse_arrow(path_, "a message has a negative size");
  if (static_cast<std::uint64_t>(size) > bytes.size()) refuse_arrow(path_, "it ends too early");
  const auto taken = bytes.substr(0, static_cast<std::size_t>(size));
  bytes.remove_prefix(taken.size());
  return taken;
}

/// Messages: the continuation mark, the size of the metadata, the metadata, the body. A size of 0
/// ends the stream.
void ArrowStream::read_messages() {
  std::string_view rest = bytes_;
  for (;;) {
    const auto mark = take(rest, sizeof kContinuation);
    if (number_at<std::uint32_t>(mark, 0) != kContinuation) {
      refuse_arrow(path_, "a message does not begin with ff ff ff ff");
    }
    const auto size = number_at<std::int32_t>(take(rest, sizeof(std::int32_t)), 0);
    if (size == 0) break;
    read_message(take(rest, size), rest);
  }
  if (!has_schema_) refuse_arrow(path_, "it has no schema");
}

void ArrowStream::read_message(std::string_view metadata, std::string_view& rest) {
  const FlatbufferTable message(metadata, path_);
  const auto version = message.number<std::int16_t>(message_version, 0);
  if (version != kVersion4 && version != kVersion5) {
    refuse_arrow(path_, "its metadata are not of version 4 or 5");
  }
  const auto header = message.table(message_header);
  if (!header) refuse_arrow(path_, "a message has no header");
  const auto body = take(rest, message.number<std::int64_t>(message_body, 0));
  const auto type = message.number<std::uint8_t>(message_type, 0);
  if (type == message_dictionary) refuse_arrow(path_, "it has a dictionary, which is not read");
  const bool is_in_order = type == (has_schema_ ? message_batch : message_schema);
  if (!is_in_order) refuse_arrow(path_, "its messages are not a schema and batches of rows");
  if (has_schema_) {
    batches_.push_back(arrow_batch(*header, body, fields_, path_));
  } else {
    fields_ = arrow_fields(*header, path_);
    has_schema_ = true;
  }
}

}  // namespace evenkeel::tasks
