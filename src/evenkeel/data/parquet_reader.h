// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace evenkeel::data {

/// Calls `use` for each row of a column of strings in a parquet file, by libevenkeel_parquet.so.
/// The program looks for that library at the path in the environment variable
/// EVENKEEL_PARQUET_PLUGIN, or else in its own folder. Null values are skipped. Memory: 1,024 rows
/// and a page.
/// \throws Error (data, exit code 65) for a file that is damaged, has no such column, or has a
///         column of another type; for text that is not UTF-8, with the row; without the library
void read_parquet(const std::string& path, const std::string& column,
                  const std::function<void(std::string_view document)>& use);

}  // namespace evenkeel::data
