// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/zstd.h"

#include <zstd.h>
#include <zstd_errors.h>

#include <new>

namespace evenkeel::data {

struct ZstdDecoder::Stream {
  ZSTD_DCtx* context = ZSTD_createDCtx();
};

ZstdDecoder::ZstdDecoder() : stream_(std::make_unique<Stream>()) {
  if (stream_->context == nullptr) throw std::bad_alloc();
}

ZstdDecoder::~ZstdDecoder() {
  ZSTD_freeDCtx(stream_->context);
}

Decoded ZstdDecoder::decode(std::string_view& in, char* to, std::size_t size) {
  if (may_end_ && in.empty()) return {};
  ZSTD_inBuffer from = {in.data(), in.size(), 0};
  ZSTD_outBuffer into = {to, size, 0};
  const auto answer = ZSTD_decompressStream(stream_->context, &into, &from);
  in.remove_prefix(from.pos);
  if (ZSTD_isError(answer) != 0) {
    const auto error = ZSTD_getErrorCode(answer);
    if (error == ZSTD_error_memory_allocation) throw std::bad_alloc();
    const bool is_large = error == ZSTD_error_frameParameter_windowTooLarge;
    return {.written = into.pos,
            .failure = is_large ? DecodeFailure::large_window : DecodeFailure::broken};
  }
  may_end_ = answer == 0;  // a frame is complete, and all of its output is written
  return {.written = into.pos};
}

}  // namespace evenkeel::data
