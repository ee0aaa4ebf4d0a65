// SPDX-License-Identifier: Apache-2.0
#define ZLIB_CONST
#include "evenkeel/data/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

#include "evenkeel/base/error.h"

namespace evenkeel::data {

struct GzipDecoder::Stream {
  z_stream zlib{};
};

GzipDecoder::GzipDecoder() : stream_(std::make_unique<Stream>()) {
  constexpr int kGzipOnly = 16;
  if (inflateInit2(&stream_->zlib, MAX_WBITS + kGzipOnly) != Z_OK) throw std::bad_alloc();
}

GzipDecoder::~GzipDecoder() {
  inflateEnd(&stream_->zlib);
}

Decoded GzipDecoder::decode(std::string_view& in, char* to, std::size_t size) {
  constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
  if (!is_in_member_) {
    if (in.empty()) return {};
    EK_ASSERT(inflateReset(&stream_->zlib) == Z_OK);
    is_in_member_ = true;
  }
  auto& zlib = stream_->zlib;
  const auto given = std::min(in.size(), kMost), room = std::min(size, kMost);
  zlib.next_in = reinterpret_cast<const Bytef*>(in.data());
  zlib.avail_in = static_cast<uInt>(given);
  zlib.next_out = reinterpret_cast<Bytef*>(to);
  zlib.avail_out = static_cast<uInt>(room);
  const int answer = inflate(&zlib, Z_NO_FLUSH);
  in.remove_prefix(given - zlib.avail_in);
  if (answer == Z_MEM_ERROR) throw std::bad_alloc();
  if (answer == Z_STREAM_END) is_in_member_ = false;
  // Z_BUF_ERROR: neither input to consume nor pending output.
  const bool is_broken = answer != Z_OK && answer != Z_STREAM_END && answer != Z_BUF_ERROR;
  return {.written = room - zlib.avail_out,
          .failure = is_broken ? DecodeFailure::broken : DecodeFailure::none};
}

}  // namespace evenkeel::data
