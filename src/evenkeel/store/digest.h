// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace evenkeel::store {

/// XXH3 with 128 bits of bytes that come piece by piece. For this floor only; all at once:
/// digest() of checkpoint.h.
class Digest {
 public:
  Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;
  Digest(Digest&&) = delete;
  Digest& operator=(Digest&&) = delete;
  ~Digest();

  void update(const void* data, std::size_t size);
  std::string hex() const;  // 32 digits, as `xxhsum -H2` prints them

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace evenkeel::store
