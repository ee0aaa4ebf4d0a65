// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "evenkeel/data/compression.h"
#include "evenkeel/data/gzip.h"
#include "evenkeel/data/zstd.h"

namespace evenkeel::data {

/// The bytes of a regular file from first to last, decompressed if the file begins as gzip or zstd
/// do. Its memory is a block of 256 KiB and that of the decompressor.
class TextStream {
 public:
  /// \throws Error (data, exit code 65) if `path` is missing, unreadable or not a regular file
  explicit TextStream(std::string path);
  TextStream(const TextStream&) = delete;
  TextStream& operator=(const TextStream&) = delete;
  TextStream(TextStream&&) = delete;
  TextStream& operator=(TextStream&&) = delete;
  ~TextStream();

  const std::string& path() const { return path_; }
  Compression compression() const;

  /// The size of the file in bytes when it was opened.
  std::uint64_t file_bytes() const { return file_bytes_; }

  /// Copies the next `size` bytes to `to`.
  /// \return the number of bytes; less than `size` only at the end of the text
  /// \throws Error (data, exit code 65) for damaged or truncated compressed data, and as soon as
  ///         more than 64 MiB have come out at a compression ratio above 1000
  std::size_t read(char* to, std::size_t size);

 private:
  /// A file that is not compressed.
  struct PlainDecoder {
    static Decoded decode(std::string_view& in, char* to, std::size_t size);
    static bool may_end() { return true; }
  };

  std::size_t read_file_bytes(char* to, std::size_t size);
  void fill();
  Decoded decode(char* to, std::size_t size);
  bool may_end() const;
  void check(DecodeFailure failure) const;
  void check_ratio() const;
  [[noreturn]] void refuse(const std::string& reason) const;

  std::string path_;
  int descriptor_ = -1;
  std::uint64_t file_bytes_ = 0;
  std::vector<char> block_;
  std::string_view in_;  // bytes of the block that are not yet decoded
  bool is_at_end_ = false;
  std::uint64_t taken_ = 0, given_ = 0;  // bytes of the file that were read; bytes of the text
  std::variant<PlainDecoder, GzipDecoder, ZstdDecoder> decoder_;  // in Compression's order
};

}  // namespace evenkeel::data
