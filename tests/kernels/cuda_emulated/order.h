// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <numeric>

namespace evenkeel::emulated {

/// The numbers 0 to count - 1, each once: 1 ascending, 2 descending, from 3 on shuffled by a seed.
class Order {
 public:
  Order(int order, std::uint64_t seed, std::uint64_t count) : count_(count) {
    if (order == 1 || count < 2) return;
    first_ = count - 1;
    step_ = count - 1;
    if (order == 2) return;
    const auto mixed = mix(seed * 64 + static_cast<std::uint64_t>(order));
    first_ = mixed % count;
    step_ = mix(mixed) % count;
    while (std::gcd(step_, count) != 1) ++step_;
  }

  /// The first number, then the one after it, ...
  std::uint64_t next() {
    const auto now = first_;
    first_ += step_;
    if (first_ >= count_) first_ -= count_;
    return now;
  }

 private:
  /// splitmix64
  static std::uint64_t mix(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15U;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9U;
    x = (x ^ x >> 27) * 0x94D049BB133111EBU;
    return x ^ x >> 31;
  }
  std::uint64_t count_, first_ = 0, step_ = 1;
};

}  // namespace evenkeel::emulated
