// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace evenkeel::data {

class TokenFile;

using TokenId = std::uint32_t;

/// A sequence of token ids: the concatenation of ids in memory and of files, which are read as
/// needed. Memory does not grow with the files.
class Tokens {
 public:
  Tokens() = default;
  explicit Tokens(std::vector<TokenId> ids);
  /// All ids of a file.
  /// \param digest  result of TokenFile::check_ids()
  Tokens(std::shared_ptr<const TokenFile> file, std::string digest);

  std::int64_t size() const { return size_; }

  /// Copies the ids [begin, begin + count) to `out`. Thread-safe.
  /// \throws Error (data, exit code 65) if a file has become shorter
  void read(std::int64_t begin, std::int64_t count, std::int64_t* out) const;
  /// The ids [begin, begin + count).
  std::vector<std::int64_t> range(std::int64_t begin, std::int64_t count) const;

  /// Appends one id, which is kept in memory.
  void push_back(TokenId id);
  /// Equal ids, wherever they are. Reads all of them.
  bool operator==(const Tokens& other) const;
  void append(const Tokens& more);
  /// The ids [begin, end). Copies those in memory.
  Tokens slice(std::int64_t begin, std::int64_t end) const;

  /// Sizes of the concatenated parts: each file, and ids in memory between files.
  std::vector<std::int64_t> part_sizes() const;

  /// A file of the sequence.
  struct File {
    std::string path, digest;  // XXH3-128 of the bytes of its ids
    bool operator==(const File&) const = default;
  };
  std::vector<File> files() const;

  /// XXH3-128, 32 hexadecimal digits. Of ids in memory, with 2 bytes each if all are below 65,536,
  /// else 4. With files: of the digests and sizes of the parts.
  std::string digest() const;

 private:
  struct Part {
    std::variant<std::vector<TokenId>, std::shared_ptr<const TokenFile>> ids;
    std::string digest;       // of the whole file; empty in memory
    std::int64_t offset = 0;  // of the first id, in the file
    std::int64_t first = 0;   // index of the first id in the sequence
    std::int64_t count = 0;
  };
  void add(Part part);

  std::vector<Part> parts_;
  std::int64_t size_ = 0;
};

}  // namespace evenkeel::data
