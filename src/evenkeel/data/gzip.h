// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "evenkeel/data/compression.h"

namespace evenkeel::data {

/// Decompresses the members of a gzip file, one after another.
/// \source RFC 1952
class GzipDecoder {
 public:
  GzipDecoder();
  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;
  GzipDecoder(GzipDecoder&&) = delete;
  GzipDecoder& operator=(GzipDecoder&&) = delete;
  ~GzipDecoder();

  /// Consumes the front of `in` and writes at most `size` bytes to `to`. May be called with empty
  /// input, for output that is pending.
  Decoded decode(std::string_view& in, char* to, std::size_t size);

  /// True between two members: the file may end here.
  bool may_end() const { return !is_in_member_; }

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
  bool is_in_member_ = false;
};

}  // namespace evenkeel::data
