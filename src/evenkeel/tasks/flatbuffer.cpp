// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tasks/flatbuffer.h"

#include <bit>

#include "evenkeel/base/error.h"

namespace evenkeel::tasks {

static_assert(std::endian::native == std::endian::little, "FlatBuffers are little-endian");

void refuse_arrow(const std::string& file, const std::string& reason) {
  throw Error(Exit::data, text(file, ": must be an Arrow IPC stream, but ", reason,
                               "; copy or download the file again"));
}

FlatbufferTable::FlatbufferTable(std::string_view message, const std::string& file)
    : FlatbufferTable(message, file, 0) {}

/// The table that the offset at `at` leads to.
FlatbufferTable::FlatbufferTable(std::string_view message, const std::string& file, std::size_t at)
    : message_(message), file_(&file) {
  constexpr std::size_t kHeader = 2 * sizeof(std::uint16_t);  // sizes of the vtable and the table
  at_ = target(at);
  check_range(at_, sizeof(std::int32_t));
  const auto vtable = static_cast<std::int64_t>(at_) - number_at<std::int32_t>(message_, at_);
  if (vtable < 0) refuse_arrow(*file_, "its metadata are broken");
  fields_ = static_cast<std::size_t>(vtable);
  check_range(fields_, kHeader);
  const std::size_t size = number_at<std::uint16_t>(message_, fields_);
  check_range(fields_, size);
  if (size < kHeader) refuse_arrow(*file_, "its metadata are broken");
  field_count_ = static_cast<int>((size - kHeader) / sizeof(std::uint16_t));
  fields_ += kHeader;
}

void FlatbufferTable::check_range(std::size_t at, std::size_t size) const {
  if (at > message_.size() || size > message_.size() - at) {
    refuse_arrow(*file_, "its metadata are broken");
  }
}

/// The place that the unsigned offset at `at` leads to.
std::size_t FlatbufferTable::target(std::size_t at) const {
  check_range(at, sizeof(std::uint32_t));
  return at + number_at<std::uint32_t>(message_, at);
}

/// The place of a field in the table; nullopt if it is absent.
std::optional<std::size_t> FlatbufferTable::find(int field, std::size_t size) const {
  if (field >= field_count_) return std::nullopt;
  const auto entry = fields_ + static_cast<std::size_t>(field) * sizeof(std::uint16_t);
  const auto offset = number_at<std::uint16_t>(message_, entry);
  if (offset == 0) return std::nullopt;
  check_range(at_ + offset, size);
  return at_ + offset;
}

std::optional<FlatbufferTable> FlatbufferTable::table(int field) const {
  const auto at = find(field, sizeof(std::uint32_t));
  if (!at) return std::nullopt;
  return FlatbufferTable(message_, *file_, *at);
}

std::string_view FlatbufferTable::vector(int field, std::size_t size) const {
  const auto at = find(field, sizeof(std::uint32_t));
  if (!at) return {};
  const auto head = target(*at);
  check_range(head, sizeof(std::uint32_t));
  const std::size_t count = number_at<std::uint32_t>(message_, head);
  const auto begin = head + sizeof(std::uint32_t);
  check_range(begin, count * size);  // both below 2^32
  return message_.substr(begin, count * size);
}

std::string_view FlatbufferTable::string(int field) const {
  return vector(field, 1);
}

std::vector<FlatbufferTable> FlatbufferTable::tables(int field, std::size_t most) const {
  const auto offsets = vector(field, sizeof(std::uint32_t));
  const auto count = offsets.size() / sizeof(std::uint32_t);
  if (count > most) refuse_arrow(*file_, text("a list of its metadata has ", count, " entries"));
  std::vector<FlatbufferTable> found;
  if (count == 0) return found;
  const auto first = static_cast<std::size_t>(offsets.data() - message_.data());
  for (std::size_t i = 0; i < offsets.size(); i += sizeof(std::uint32_t)) {
    found.push_back(FlatbufferTable(message_, *file_, first + i));
  }
  return found;
}

}  // namespace evenkeel::tasks
