// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "evenkeel/store/safetensors.h"

/// A strict parser of the safetensors header. Internal to store/.
namespace evenkeel::store {

/// Limits that bound the memory for a damaged file.
inline constexpr std::uint64_t kMaxHeaderBytes = std::uint64_t{16} << 20;
inline constexpr std::size_t kMaxTensors = 100'000;  // also the maximum number of metadata entries
inline constexpr std::size_t kMaxDimensions = 8;
inline constexpr std::size_t kMaxNameBytes = 4096;
inline constexpr std::string_view kMetadataKey = "__metadata__";

/// Reads the text of a header, after a check of its size.
/// \param file_bytes    size of the file
/// \param header_bytes  the first 8 bytes of the file; not used if the file is shorter
/// \param where         path of the file, for messages
/// \param read          copies `size` bytes that begin at `position` of the file
/// \throws Error (data, exit code 65)
std::string read_header(
    std::uint64_t file_bytes, std::uint64_t header_bytes, const std::string& where,
    const std::function<void(std::uint64_t position, void* to, std::size_t size)>& read);

/// A parsed header.
struct Header {
  std::map<std::string, TensorInfo> entries;
  std::map<std::string, std::string> metadata;
};

/// Parses a header with a SAX parser and without a JSON tree, so that the limits above bound the
/// memory.
/// \param data_bytes  size of the data area; the tensors must cover it exactly
/// \param where       path of the file, for messages
/// \throws Error (data, exit code 65)
Header parse_header(std::string_view json, std::uint64_t data_bytes, const std::string& where);

}  // namespace evenkeel::store
