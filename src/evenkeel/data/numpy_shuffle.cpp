// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/numpy_shuffle.h"

#include <array>
#include <bit>
#include <numeric>
#include <utility>

namespace evenkeel::data {

namespace {

__extension__ using Uint128 = unsigned __int128;

using Pool = std::array<std::uint32_t, 4>;

/// One hash of SeedSequence: it multiplies by numbers that are powers of `multiplier`.
class Hash {
 public:
  Hash(std::uint32_t start, std::uint32_t multiplier) : constant_(start), multiplier_(multiplier) {}

  std::uint32_t operator()(std::uint32_t value) {
    value ^= constant_;
    constant_ *= multiplier_;
    value *= constant_;
    return value ^ value >> 16;
  }

 private:
  std::uint32_t constant_, multiplier_;
};

std::uint32_t mixed(std::uint32_t x, std::uint32_t y) {
  const std::uint32_t result = 0xca01f9ddU * x - 0x4973f715U * y;
  return result ^ result >> 16;
}

/// The pool of SeedSequence(seed).
Pool pool_of(std::uint64_t seed) {
  Hash hash(0x43b0d7e5U, 0x931e8875U);
  Pool pool = {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), 0, 0};
  for (auto& each : pool) each = hash(each);
  for (std::size_t from = 0; from < pool.size(); ++from) {
    for (std::size_t to = 0; to < pool.size(); ++to) {
      if (from != to) pool.at(to) = mixed(pool.at(to), hash(pool.at(from)));
    }
  }
  return pool;
}

/// SeedSequence.generate_state(4, uint64).
std::array<std::uint64_t, 4> state_of(const Pool& pool) {
  Hash hash(0x8b51f9ddU, 0x58f38dedU);
  std::array<std::uint64_t, 4> state{};
  for (std::size_t i = 0; i < state.size(); ++i) {
    const std::uint64_t low = hash(pool.at(2 * i % 4));
    state.at(i) = low | std::uint64_t{hash(pool.at((2 * i + 1) % 4))} << 32;
  }
  return state;
}

Uint128 to_uint128(std::uint64_t high, std::uint64_t low) {
  return Uint128{high} << 64 | low;
}

/// NumPy's default generator.
class Pcg64 {
 public:
  explicit Pcg64(std::uint64_t seed) {
    const auto state = state_of(pool_of(seed));
    increment_ = to_uint128(state[2], state[3]) << 1 | 1;
    step();
    state_ += to_uint128(state[0], state[1]);
    step();
  }

  /// The low half of a 64-bit number first, then its high half.
  std::uint32_t next32() {
    if (has_half_) {
      has_half_ = false;
      return half_;
    }
    const auto next = next64();
    has_half_ = true;
    half_ = static_cast<std::uint32_t>(next >> 32);
    return static_cast<std::uint32_t>(next);
  }

  /// A number 0 .. last without bias: bits are drawn until they are not above `last`.
  std::uint32_t up_to(std::uint32_t last) {
    const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << std::bit_width(last)) - 1);
    auto value = next32() & mask;
    while (value > last) value = next32() & mask;
    return value;
  }

 private:
  void step() {
    state_ = state_ * to_uint128(2549297995355413924ULL, 4865540595714422341ULL) + increment_;
  }

  std::uint64_t next64() {
    step();
    const auto high = static_cast<std::uint64_t>(state_ >> 64);
    const auto low = static_cast<std::uint64_t>(state_);
    return std::rotr(high ^ low, static_cast<int>(high >> 58));
  }

  Uint128 state_ = 0, increment_ = 0;
  bool has_half_ = false;
  std::uint32_t half_ = 0;
};

}  // namespace

std::vector<std::uint32_t> numpy_shuffled(std::uint32_t count, std::uint64_t seed) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  Pcg64 random(seed);
  for (std::uint32_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.up_to(i - 1)]);
  return order;
}

}  // namespace evenkeel::data
