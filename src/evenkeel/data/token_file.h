// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "evenkeel/data/token_layout.h"

namespace evenkeel::data {

/// The token ids of a file. Keeps no ids in memory.
class TokenFile {
 public:
  /// Parameters and errors of token_layout().
  TokenFile(std::string path, const TokenType* type, std::int64_t vocabulary);

  const std::string& path() const { return bytes_.path(); }
  const TokenLayout& layout() const { return layout_; }
  std::int64_t count() const { return layout_.count; }

  /// Copies the ids [begin, begin + count) to `out`. Thread-safe.
  /// \throws Error (data, exit code 65) if the file has become shorter
  void read(std::int64_t begin, std::int64_t count, std::int64_t* out) const;

  /// XXH3-128 of bytes, 32 hexadecimal digits each.
  struct Digests {
    std::string ids, file;  // without and with the header
  };
  /// Reads all ids.
  /// \throws Error (data, exit code 65) for the first id that is negative or not below
  ///         `vocabulary`, with its position
  Digests check_ids(std::int64_t vocabulary) const;
  /// Reads the first 16,384 ids.
  /// \throws Error (data, exit code 65) as check_ids()
  void check_first_ids(std::int64_t vocabulary) const;

 private:
  /// \param position, id  of the token
  [[noreturn]] void refuse_id(std::int64_t vocabulary, std::int64_t position, const std::string& id,
                              bool is_negative) const;

  TokenBytes bytes_;
  TokenLayout layout_;
};

}  // namespace evenkeel::data
