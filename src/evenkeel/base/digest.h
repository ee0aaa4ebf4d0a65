// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace evenkeel {

/// The XXH3 digest of `size` bytes: 128 bits as 32 hexadecimal digits.
/// \source https://github.com/Cyan4973/xxHash, XXH3_128bits without a seed
std::string digest(const void* data, std::size_t size);

/// An incremental digest() over several buffers.
class Digest {
 public:
  Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;
  Digest(Digest&&) = delete;
  Digest& operator=(Digest&&) = delete;
  ~Digest();

  /// Adds `size` bytes.
  void update(const void* data, std::size_t size);

  /// The digest of all bytes so far: 32 digits, as printed by `xxhsum -H2`.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace evenkeel
