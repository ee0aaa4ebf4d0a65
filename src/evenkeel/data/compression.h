// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace evenkeel::data {

/// How the bytes of a file are compressed.
enum class Compression { none, gzip, zstd };

const char* name_of(Compression compression);

/// The compression that the first bytes of a file tell.
/// \source RFC 1952, section 2.3.1; RFC 8878, sections 3.1.1 and 3.1.2 (pzstd begins with a
///         skippable frame)
Compression compression_of(std::string_view first_bytes);

enum class DecodeFailure {
  none,
  broken,        // the data do not follow the format
  large_window,  // a zstd frame needs more than 128 MiB of memory
};

/// What a call of a decoder did.
struct Decoded {
  std::size_t written = 0;
  DecodeFailure failure = DecodeFailure::none;
};

}  // namespace evenkeel::data
