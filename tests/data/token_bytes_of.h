// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <string>
#include <vector>

namespace evenkeel::data {

/// Numbers as they lie in a little-endian file.
template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// A NumPy file. \param dictionary  the literal of its header
inline std::string npy_of(int version, const std::string& dictionary, const std::string& data) {
  std::string start = "\x93NUMPY";
  start += static_cast<char>(version);
  start += '\0';
  const std::size_t size_bytes = version == 1 ? 2 : 4;
  auto header = dictionary;
  while ((start.size() + size_bytes + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  for (std::size_t i = 0; i < size_bytes; ++i) {
    start += static_cast<char>(header.size() >> (8 * i) & 0xff);
  }
  return start + header + data;
}

/// A file of llm.c. \param tokens  as the header says
inline std::string llm_c_of(std::int32_t magic, std::int32_t version, std::int32_t tokens,
                            const std::string& data) {
  std::vector<std::int32_t> header(256);
  header[0] = magic;
  header[1] = version;
  header[2] = tokens;
  return bytes_of(header) + data;
}

/// An index of Megatron.
struct MegatronIndex {
  std::int64_t version = 1;
  std::uint8_t type = 8;  // uint16
  std::vector<std::int32_t> lengths;
  std::vector<std::int64_t> pointers, documents;

  std::string bytes() const {
    return std::string("MMIDIDX\0\0", 9) + bytes_of<std::int64_t>({version}) +
           static_cast<char>(type) +
           bytes_of<std::int64_t>({static_cast<std::int64_t>(lengths.size()),
                                   static_cast<std::int64_t>(documents.size())}) +
           bytes_of(lengths) + bytes_of(pointers) + bytes_of(documents);
  }
};

}  // namespace evenkeel::data
