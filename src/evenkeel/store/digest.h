// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace evenkeel::store {

/// The digest of some bytes: XXH3 with 128 bits, 32 hexadecimal digits.
/// \source https://github.com/Cyan4973/xxHash, XXH3_128bits without a seed
std::string digest(const void* data, std::size_t size);

/// The same digest of bytes that arrive piece by piece. For this floor only.
class Digest {
 public:
  Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;
  Digest(Digest&&) = delete;
  Digest& operator=(Digest&&) = delete;
  ~Digest();

  /// Adds the next bytes.
  void update(const void* data, std::size_t size);

  /// The digest of all bytes so far: 32 digits, as `xxhsum -H2` prints them.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace evenkeel::store
