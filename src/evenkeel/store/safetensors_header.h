// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "evenkeel/store/safetensors.h"

/// The header of a safetensors file, read strictly. For this floor only.
namespace evenkeel::store {

inline constexpr std::uint64_t kMaxHeaderBytes = std::uint64_t{16} << 20;
inline constexpr std::size_t kMaxTensors = 100'000;  // and as many lines of metadata
inline constexpr std::size_t kMaxDimensions = 8;
inline constexpr std::size_t kMaxNameBytes = 4096;
inline constexpr std::string_view kMetadataKey = "__metadata__";

struct Header {
  std::map<std::string, TensorInfo> entries;
  std::map<std::string, std::string> metadata;
};

/// Reads without building a JSON tree, so that memory is bounded by what a file may hold.
/// \param data_bytes  size of the data area, which the tensors must cover exactly
/// \param where  the file's name, for messages
/// \throws Error (data)
Header parse_header(std::string_view json, std::uint64_t data_bytes, const std::string& where);

}  // namespace evenkeel::store
