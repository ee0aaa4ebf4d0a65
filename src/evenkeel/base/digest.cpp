// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cstdio>

#include "evenkeel/base/error.h"

namespace evenkeel {

struct Digest::State {
  XXH3_state_t xxh3;
};

Digest::Digest() : state_(std::make_unique<State>()) {
  EK_ASSERT(XXH3_128bits_reset(&state_->xxh3) == XXH_OK);
}

Digest::~Digest() = default;

void Digest::update(const void* data, std::size_t size) {
  EK_ASSERT(XXH3_128bits_update(&state_->xxh3, data, size) == XXH_OK);
}

std::string Digest::hex() const {
  const auto hash = XXH3_128bits_digest(&state_->xxh3);
  std::array<char, 33> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx%016llx",
                static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return digits.data();
}

std::string digest(const void* data, std::size_t size) {
  Digest whole;
  whole.update(data, size);
  return whole.hex();
}

}  // namespace evenkeel
