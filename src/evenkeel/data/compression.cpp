// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/compression.h"

#include <array>

namespace evenkeel::data {

const char* name_of(Compression compression) {
  constexpr std::array<const char*, 3> kNames = {"none", "gzip", "zstd"};
  return kNames.at(static_cast<std::size_t>(compression));
}

Compression compression_of(std::string_view first_bytes) {
  constexpr std::string_view kGzipMagic = "\x1f\x8b", kZstdMagic = "\x28\xb5\x2f\xfd";
  constexpr std::string_view kSkippableMagic = "\x2a\x4d\x18";  // after a byte 0x50 to 0x5f
  if (first_bytes.starts_with(kGzipMagic)) return Compression::gzip;
  if (first_bytes.starts_with(kZstdMagic)) return Compression::zstd;
  const bool is_skippable = first_bytes.size() >= 4 && (first_bytes[0] & 0xf0) == 0x50 &&
                            first_bytes.substr(1).starts_with(kSkippableMagic);
  return is_skippable ? Compression::zstd : Compression::none;
}

}  // namespace evenkeel::data
