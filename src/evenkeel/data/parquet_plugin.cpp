// SPDX-License-Identifier: Apache-2.0
// libevenkeel_parquet.so: not a part of the program, which loads it (parquet_reader.cpp).
#include "evenkeel/data/parquet_plugin.h"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/properties.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t kRowsAtOnce = 1024;

/// An open file, and the rows that were read last.
struct ParquetFile {
  std::unique_ptr<parquet::arrow::FileReader> reader;
  std::unique_ptr<arrow::RecordBatchReader> batches;
  std::shared_ptr<arrow::RecordBatch> batch;
  std::int64_t rows_before = 0;  // the current batch
  std::vector<const char*> data;
  std::vector<std::int64_t> sizes, rows;
};

template <typename T>
T value_of(arrow::Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().message());
  return std::move(result).ValueUnsafe();
}

/// act(), or `failed` with the reason in `error`.
template <typename Act, typename Failed>
auto guarded(EvenkeelMessage error, Failed failed, const Act& act) -> decltype(act()) {
  try {
    return act();
  } catch (const std::exception& exception) {
    std::snprintf(error.text, error.size, "%s", exception.what());
    return failed;
  }
}

ParquetFile& file_at(void* file) {
  return *static_cast<ParquetFile*>(file);
}

/// Bounded memory: pages are read one after another, without a buffer for a whole row group.
std::unique_ptr<ParquetFile> opened(int descriptor) {
  auto input = value_of(arrow::io::ReadableFile::Open(descriptor));
  auto properties = parquet::default_reader_properties();
  properties.enable_buffered_stream();
  parquet::ArrowReaderProperties arrow_properties(/*use_threads=*/false);
  arrow_properties.set_pre_buffer(false);
  arrow_properties.set_batch_size(kRowsAtOnce);
  parquet::arrow::FileReaderBuilder builder;
  if (const auto status = builder.Open(input, properties); !status.ok()) {
    throw std::runtime_error(status.message());
  }
  auto file = std::make_unique<ParquetFile>();
  file->reader = value_of(builder.properties(arrow_properties)->Build());
  return file;
}

const std::vector<parquet::arrow::SchemaField>& fields_of(void* file) {
  return file_at(file).reader->manifest().schema_fields;
}

const parquet::arrow::SchemaField& field_at(void* file, std::int64_t column) {
  return fields_of(file).at(static_cast<std::size_t>(column));
}

void select_column(void* file, std::int64_t column) {
  const auto& field = field_at(file, column);
  const auto type = field.field->type();
  const bool is_text = field.is_leaf() && (type->id() == arrow::Type::STRING ||
                                           type->id() == arrow::Type::LARGE_STRING);
  if (!is_text) throw std::runtime_error(type->ToString());
  auto& opened_file = file_at(file);
  std::vector<int> groups(static_cast<std::size_t>(opened_file.reader->num_row_groups()));
  std::iota(groups.begin(), groups.end(), 0);
  opened_file.batches =
      value_of(opened_file.reader->GetRecordBatchReader(groups, {field.column_index}));
}

/// Adds the strings of a column; null values are left out.
template <typename Array>
void add_strings(ParquetFile& file, const arrow::Array& column) {
  const auto& strings = static_cast<const Array&>(column);
  for (std::int64_t i = 0; i < strings.length(); ++i) {
    if (strings.IsNull(i)) continue;
    const auto view = strings.GetView(i);
    file.data.push_back(view.data());
    file.sizes.push_back(static_cast<std::int64_t>(view.size()));
    file.rows.push_back(file.rows_before + i);
  }
}

int next_strings(ParquetFile& file, EvenkeelStrings& strings) {
  if (file.batch) file.rows_before += file.batch->num_rows();
  file.batch = value_of(file.batches->Next());
  if (!file.batch) return 0;
  file.data.clear();
  file.sizes.clear();
  file.rows.clear();
  const auto& column = *file.batch->column(0);
  if (column.type_id() == arrow::Type::STRING) {
    add_strings<arrow::StringArray>(file, column);
  } else if (column.type_id() == arrow::Type::LARGE_STRING) {
    add_strings<arrow::LargeStringArray>(file, column);
  } else {
    throw std::runtime_error("unexpected type " + column.type()->ToString());
  }
  strings = {file.data.data(), file.sizes.data(), file.rows.data(),
             static_cast<std::int64_t>(file.data.size())};
  return 1;
}

}  // namespace

const EvenkeelParquet* evenkeel_parquet() {
  static const EvenkeelParquet functions = {
      .version = evenkeel::data::kParquetVersion,
      .open = [](int descriptor, EvenkeelMessage error) -> void* {
        return guarded(error, static_cast<ParquetFile*>(nullptr),
                       [&] { return opened(descriptor).release(); });
      },
      .close = [](void* file) { delete &file_at(file); },
      .column_count = [](void* file) { return static_cast<std::int64_t>(fields_of(file).size()); },
      .column_name =
          [](void* file, std::int64_t column) {
            return field_at(file, column).field->name().c_str();
          },
      .select =
          [](void* file, std::int64_t column, EvenkeelMessage error) {
            return guarded(error, -1, [&] {
              select_column(file, column);
              return 0;
            });
          },
      .next =
          [](void* file, EvenkeelStrings* strings, EvenkeelMessage error) {
            return guarded(error, -1, [&] { return next_strings(file_at(file), *strings); });
          }};
  return &functions;
}
