// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zlib.h>

#include <string>

#include "evenkeel/base/error.h"

namespace evenkeel::data {

/// `text` as one member of a gzip file.
inline std::string gzipped(std::string text) {
  constexpr int kGzip = 16, kMemory = 9;
  z_stream stream{};
  EK_ASSERT(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip, kMemory,
                         Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EK_ASSERT(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace evenkeel::data
