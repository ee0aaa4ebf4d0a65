// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zstd.h>

#include <string>

#include "evenkeel/base/error.h"

namespace evenkeel::data {

/// `text` as one frame of a zstd file, with a checksum.
/// \param window_log  logarithm of the window size in bytes; 0: chosen by the library
inline std::string zstd_packed(const std::string& text, int window_log = 0) {
  auto* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
  std::string packed(ZSTD_compressBound(text.size()) + 64, '\0');
  ZSTD_outBuffer out = {packed.data(), packed.size(), 0};
  ZSTD_inBuffer in = {text.data(), text.size(), 0};
  // In two calls: the size of the content is then unknown, and the window as large as asked for.
  EK_ASSERT(ZSTD_isError(ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush)) == 0);
  EK_ASSERT(ZSTD_compressStream2(context, &out, &in, ZSTD_e_end) == 0);
  packed.resize(out.pos);
  ZSTD_freeCCtx(context);
  return packed;
}

}  // namespace evenkeel::data
