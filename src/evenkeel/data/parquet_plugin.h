// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// The C interface of libevenkeel_parquet.so, which links Arrow. The program loads it with dlopen()
/// when an input is a parquet file, so that it does not need Arrow itself.
extern "C" {

/// A text that the caller provides room for.
struct EvenkeelMessage {
  char* text;
  std::size_t size;
};

/// Strings, valid until the next call. A null value has no place in a batch.
struct EvenkeelStrings {
  const char* const* data;
  const std::int64_t* sizes;
  const std::int64_t* rows;  // number of each row in the file, from 0
  std::int64_t count;
};

/// Functions that fail return nullptr or -1 and write the reason to `error`.
struct EvenkeelParquet {
  int version;

  /// \param descriptor  of a regular file; closed by the plug-in
  void* (*open)(int descriptor, EvenkeelMessage error);
  void (*close)(void* file);
  std::int64_t (*column_count)(void* file);
  const char* (*column_name)(void* file, std::int64_t column);

  /// Selects a column of strings. \return 0, or -1 if the column holds another type
  int (*select)(void* file, std::int64_t column, EvenkeelMessage error);

  /// The next rows of the column. \return 1, 0 at the end, or -1
  int (*next)(void* file, EvenkeelStrings* strings, EvenkeelMessage error);
};

/// The one function that the library exports.
const EvenkeelParquet* evenkeel_parquet();

}  // extern "C"

namespace evenkeel::data {

/// EvenkeelParquet::version. A plug-in with another one is refused.
inline constexpr int kParquetVersion = 1;

}  // namespace evenkeel::data
