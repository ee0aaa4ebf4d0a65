// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "evenkeel/store/safetensors.h"

/// The header of a safetensors file, read strictly. For this floor only.
namespace evenkeel::store {

/// Limits, so that a damaged file cannot exhaust memory.
inline constexpr std::uint64_t kMaxHeaderBytes = std::uint64_t{16} << 20;
inline constexpr std::size_t kMaxTensors = 100'000;  // and as many lines of metadata
inline constexpr std::size_t kMaxDimensions = 8;
inline constexpr std::size_t kMaxNameBytes = 4096;
inline constexpr std::string_view kMetadataKey = "__metadata__";

/// The header of a file.
struct Header {
  std::map<std::string, TensorInfo> entries;
  std::map<std::string, std::string> metadata;
};

/// Parses a header with a SAX parser, without a JSON tree: memory is bounded by the limits above.
/// \param data_bytes  size of the data area, which the tensors must cover exactly
/// \param where  the file's name, for messages
/// \throws Error (data)
Header parse_header(std::string_view json, std::uint64_t data_bytes, const std::string& where);

}  // namespace evenkeel::store
