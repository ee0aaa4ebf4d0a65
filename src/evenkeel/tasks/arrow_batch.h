// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/tasks/arrow_schema.h"
#include "evenkeel/tasks/flatbuffer.h"

namespace evenkeel::tasks {

/// The values of a field in a batch: views of the bytes of the file, whose sizes and offsets are
/// checked.
struct ArrowArray {
  std::int64_t length = 0;
  std::string_view validity;  // bitmap; empty: no value is null
  std::string_view offsets;   // utf8 and list: int32 [length + 1], increasing
  std::string_view values;    // characters, bits, or integers
  std::vector<ArrowArray> children;

  bool is_null(std::int64_t row) const;
  std::int64_t offset(std::int64_t row) const;  // utf8 and list; row <= length
  bool bit(std::int64_t row) const;             // boolean
};

/// The rows of a message RecordBatch.
struct ArrowBatch {
  std::int64_t rows = 0;
  std::vector<ArrowArray> columns;
};

/// \param batch  table RecordBatch of Arrow's format/Message.fbs
/// \param body   the body of the message
/// \throws Error (data, exit code 65) for a compressed body, and for buffers outside of the body,
///         too short for their rows, or with decreasing offsets
ArrowBatch arrow_batch(const FlatbufferTable& batch, std::string_view body,
                       const std::vector<ArrowField>& fields, const std::string& file);

}  // namespace evenkeel::tasks
