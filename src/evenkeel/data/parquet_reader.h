// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace evenkeel::data {

/// Reads a column of strings in a parquet file, by libevenkeel_parquet.so.
/// The program looks for that library at the path in the environment variable
/// EVENKEEL_PARQUET_PLUGIN, or else in its own folder. Null values are skipped. Memory: 1,024 rows
/// and a page.
/// \throws Error (data, exit code 65) for a file that is damaged, has no such column, or has a
///         column of another type; for text that is not UTF-8, with the row; without the library
class ParquetReader {
 public:
  ParquetReader(std::string path, const std::string& column);
  ParquetReader(const ParquetReader&) = delete;
  ParquetReader& operator=(const ParquetReader&) = delete;
  ParquetReader(ParquetReader&&) = delete;
  ParquetReader& operator=(ParquetReader&&) = delete;
  ~ParquetReader();

  /// Calls `use` for each of the next 1,024 rows, in order. \return false: no rows are left
  bool next(const std::function<void(std::string_view document)>& use);

 private:
  struct File;
  std::string path_;
  std::unique_ptr<File> file_;
};

/// Calls `use` for each row that a ParquetReader gives.
void read_parquet(const std::string& path, const std::string& column,
                  const std::function<void(std::string_view document)>& use);

}  // namespace evenkeel::data
