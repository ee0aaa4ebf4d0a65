// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/tasks/arrow_batch.h"
#include "evenkeel/tasks/arrow_schema.h"

namespace evenkeel::tasks {

/// A row of an Arrow stream. A value is found by the name of its column; of a field of a struct, by
/// "column.field".
class ArrowRow {
 public:
  /// \param row  of the batch; `number` of the file, from 0
  ArrowRow(const std::vector<ArrowField>& fields, const ArrowBatch& batch, std::int64_t row,
           std::int64_t number, const std::string& file)
      : fields_(&fields), batch_(&batch), row_(row), number_(number), file_(&file) {}

  /// Each function throws Error (data, exit code 65), with the file and the row, if the column is
  /// missing, of another type, or null in this row, or if a text is not UTF-8.
  std::string string(const std::string& name) const;
  std::vector<std::string> strings(const std::string& name) const;  // a list of utf8
  std::int64_t integer(const std::string& name) const;              // int32 or int64
  bool boolean(const std::string& name) const;

  bool has(const std::string& name) const;

  /// "data-00000-of-00001.arrow, row 3", from 1.
  std::string where() const;

  /// \throws Error (data, exit code 65): "file, row 3: reason"
  [[noreturn]] void refuse(const std::string& reason) const;

 private:
  /// A value in its array.
  struct Value {
    const ArrowField* field = nullptr;
    const ArrowArray* array = nullptr;
    std::int64_t row = 0;
  };

  Value find(const std::string& name, const char* wanted) const;
  std::string string_at(const Value& value, const std::string& name) const;
  [[noreturn]] void refuse_type(const std::string& name, const char* wanted,
                                const ArrowField& field) const;

  const std::vector<ArrowField>* fields_;
  const ArrowBatch* batch_;
  std::int64_t row_, number_;
  const std::string* file_;
};

/// The rows of a file in Arrow's IPC streaming format, of the types of ArrowType. The file is read
/// whole; its batches are views of it.
/// \source Apache Arrow, Columnar Format: IPC streaming format
class ArrowStream {
 public:
  /// \throws Error (data, exit code 65) if the file is missing, is no such stream, is truncated or
  ///         damaged, or has a type, a dictionary or a compression that is not read
  explicit ArrowStream(std::string path);
  ArrowStream(const ArrowStream&) = delete;
  ArrowStream& operator=(const ArrowStream&) = delete;
  ArrowStream(ArrowStream&&) = delete;
  ArrowStream& operator=(ArrowStream&&) = delete;
  ~ArrowStream() = default;

  const std::vector<ArrowField>& fields() const { return fields_; }
  std::int64_t rows() const;

  /// Calls `use` for each row, in order.
  void each_row(const std::function<void(const ArrowRow& row)>& use) const;

 private:
  void read_messages();
  std::string_view take(std::string_view& bytes, std::int64_t size) const;
  void read_message(std::string_view metadata, std::string_view& rest);

  std::string path_;
  std::string bytes_;  // of the file; the batches are views of it
  bool has_schema_ = false;
  std::vector<ArrowField> fields_;
  std::vector<ArrowBatch> batches_;
};

}  // namespace evenkeel::tasks
