// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "evenkeel/data/compression.h"

namespace evenkeel::data {

/// Decompresses the frames of a Zstandard file, one after another. Its memory is that of the
/// window, 128 MiB at most.
/// \source RFC 8878
class ZstdDecoder {
 public:
  ZstdDecoder();
  ZstdDecoder(const ZstdDecoder&) = delete;
  ZstdDecoder& operator=(const ZstdDecoder&) = delete;
  ZstdDecoder(ZstdDecoder&&) = delete;
  ZstdDecoder& operator=(ZstdDecoder&&) = delete;
  ~ZstdDecoder();

  /// Consumes the front of `in` and writes at most `size` bytes to `to`. May be called with empty
  /// input, for output that is pending.
  Decoded decode(std::string_view& in, char* to, std::size_t size);

  /// True between two frames: the file may end here.
  bool may_end() const { return may_end_; }

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
  bool may_end_ = true;
};

}  // namespace evenkeel::data
