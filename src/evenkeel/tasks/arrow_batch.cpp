// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tasks/arrow_batch.h"

#include <cstddef>
#include <utility>

#include "evenkeel/base/error.h"

namespace evenkeel::tasks {

namespace {

constexpr std::int64_t kBitsOfByte = 8;
constexpr std::size_t kPairBytes = 2 * sizeof(std::int64_t);  // structs Buffer and FieldNode

/// Indices of fields in Arrow's format/Message.fbs.
enum BatchField { batch_length = 0, batch_nodes = 1, batch_buffers = 2, batch_compression = 3 };

bool bit_at(std::string_view bits, std::int64_t at) {
  const auto byte = static_cast<unsigned char>(bits[static_cast<std::size_t>(at / kBitsOfByte)]);
  return (byte >> (at % kBitsOfByte) & 1U) != 0;
}

/// Takes the nodes and the buffers of a batch, field after field.
class BatchReader {
 public:
  BatchReader(const FlatbufferTable& batch, std::string_view body, const std::string& file)
      : nodes_(batch.vector(batch_nodes, kPairBytes)),
        buffers_(batch.vector(batch_buffers, kPairBytes)),
        body_(body),
        file_(file) {}

  ArrowArray array(const ArrowField& field) {
    ArrowArray found = {.length = next_pair(nodes_).first};
    if (found.length < 0 || found.length > kMostRows) broken();
    found.validity = buffer();
    if (!found.validity.empty()) check_bits(found.validity, found.length);
    switch (field.type) {
      case ArrowType::utf8:
        found.offsets = buffer();
        found.values = buffer();
        check_offsets(found, static_cast<std::int64_t>(found.values.size()));
        break;
      case ArrowType::boolean:
        found.values = buffer();
        check_bits(found.values, found.length);
        break;
      case ArrowType::int32:
      case ArrowType::int64:
        found.values = buffer();
        check_numbers(found.values, found.length,
                      field.type == ArrowType::int32 ? sizeof(std::int32_t) : sizeof(std::int64_t));
        break;
      case ArrowType::list:
        found.offsets = buffer();
        found.children.push_back(array(field.children[0]));
        check_offsets(found, found.children[0].length);
        break;
      case ArrowType::structure:
        for (const auto& child : field.children) {
          found.children.push_back(array(child));
          if (found.children.back().length < found.length) broken();
        }
        break;
    }
    return found;
  }

  void check_end() const {
    if (!nodes_.empty() || !buffers_.empty()) broken();
  }

 private:
  static constexpr std::int64_t kMostRows = std::int64_t{1} << 40;  // sizes in bytes fit 64 bits

  [[noreturn]] void broken() const { refuse_arrow(file_, "a batch of its rows is broken"); }

  std::pair<std::int64_t, std::int64_t> next_pair(std::string_view& pairs) const {
    if (pairs.size() < kPairBytes) broken();
    const auto first = number_at<std::int64_t>(pairs, 0);
    const auto second = number_at<std::int64_t>(pairs, sizeof(std::int64_t));
    pairs.remove_prefix(kPairBytes);
    return {first, second};
  }

  std::string_view buffer() {
    const auto [offset, length] = next_pair(buffers_);
    const auto size = static_cast<std::int64_t>(body_.size());
    if (offset < 0 || length < 0 || offset > size || length > size - offset) broken();
    return body_.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
  }

  void check_bits(std::string_view bits, std::int64_t length) const {
    if (static_cast<std::int64_t>(bits.size()) < (length + kBitsOfByte - 1) / kBitsOfByte) broken();
  }

  void check_numbers(std::string_view numbers, std::int64_t count, std::size_t size) const {
    if (static_cast<std::int64_t>(numbers.size() / size) < count) broken();
  }

  /// The offsets increase and end in the values. A buffer of values may be longer than the last.
  void check_offsets(const ArrowArray& array, std::int64_t values) const {
    if (array.length == 0) return;  // an empty array may have no offsets
    check_numbers(array.offsets, array.length + 1, sizeof(std::int32_t));
    if (array.offset(0) < 0 || array.offset(array.length) > values) broken();
    for (std::int64_t i = 0; i < array.length; ++i) {
      if (array.offset(i) > array.offset(i + 1)) broken();
    }
  }

  std::string_view nodes_, buffers_, body_;
  const std::string& file_;
};

}  // namespace

bool ArrowArray::is_null(std::int64_t row) const {
  return !validity.empty() && !bit_at(validity, row);
}

std::int64_t ArrowArray::offset(std::int64_t row) const {
  return number_at<std::int32_t>(offsets, static_cast<std::size_t>(row) * sizeof(std::int32_t));
}

bool ArrowArray::bit(std::int64_t row) const {
  return bit_at(values, row);
}

ArrowBatch arrow_batch(const FlatbufferTable& batch, std::string_view body,
                       const std::vector<ArrowField>& fields, const std::string& file) {
  if (batch.table(batch_compression)) {
    refuse_arrow(file, "its batches are compressed, which is not read");
  }
  BatchReader reader(batch, body, file);
  ArrowBatch found = {.rows = batch.number<std::int64_t>(batch_length, 0), .columns = {}};
  if (fields.empty()) refuse_arrow(file, "it has no columns");
  for (const auto& field : fields) {
    found.columns.push_back(reader.array(field));
    if (found.columns.back().length != found.rows) {
      refuse_arrow(file, "a column of it has another number of rows than its batch");
    }
  }
  reader.check_end();
  return found;
}

}  // namespace evenkeel::tasks
