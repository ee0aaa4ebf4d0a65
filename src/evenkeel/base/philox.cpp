// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/philox.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

#include "evenkeel/base/error.h"

namespace evenkeel {

namespace {

constexpr int kRounds = 10;
constexpr std::uint32_t kMultiply0 = 0xD2511F53;
constexpr std::uint32_t kMultiply1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
constexpr std::uint32_t kWeyl1 = 0xBB67AE85;
constexpr int kFeistelRounds = 6;

/// FNV-1a hash of the name, with the seed as initial value.
std::uint64_t key_of(std::uint64_t seed, std::string_view name) {
  constexpr std::uint64_t kBasis = 0xcbf29ce484222325;
  constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t hash = kBasis;
  for (int byte = 0; byte < 8; ++byte) hash = (hash ^ (seed >> (8 * byte) & 0xff)) * kPrime;
  for (const char each : name) hash = (hash ^ static_cast<unsigned char>(each)) * kPrime;
  return hash;
}

double unit_interval(std::uint32_t high, std::uint32_t low) {
  const auto bits = (std::uint64_t{high} << 32 | low) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    const auto product0 = std::uint64_t{kMultiply0} * counter[0];
    const auto product1 = std::uint64_t{kMultiply1} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

Philox::Philox(std::uint64_t seed, std::string_view name) : key_{} {
  const auto key = key_of(seed, name);
  key_ = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
}

std::array<std::uint32_t, 4> Philox::words(std::uint64_t low, std::uint64_t high) const {
  return philox({static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
                 static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32)},
                key_);
}

double Philox::uniform(std::uint64_t low, std::uint64_t high) const {
  const auto w = words(low, high);
  return unit_interval(w[0], w[1]);
}

double Philox::normal(std::uint64_t low, std::uint64_t high) const {
  const auto w = words(low, high);
  const double radius = std::sqrt(-2 * std::log1p(-unit_interval(w[0], w[1])));
  return radius * std::cos(2 * std::numbers::pi * unit_interval(w[2], w[3]));
}

std::uint64_t Philox::below(std::uint64_t bound, std::uint64_t low, std::uint64_t high) const {
  EK_ASSERT(bound > 0);
  const auto w = words(low, high);
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(Wide{std::uint64_t{w[0]} << 32 | w[1]} * bound >> 64);
}

std::uint64_t permuted(std::uint64_t index, std::uint64_t size, const Philox& random,
                       std::uint64_t epoch) {
  EK_ASSERT(index < size);
  const auto half = (std::bit_width(size - 1) + 1) / 2;
  const auto mask = (std::uint64_t{1} << half) - 1;
  do {  // cycle walking: repeat until the image is below `size`
    auto left = index >> half;
    auto right = index & mask;
    for (std::uint64_t round = 0; round < kFeistelRounds; ++round) {
      const auto mixed = random.words(right, epoch * kFeistelRounds + round)[0] & mask;
      left = std::exchange(right, left ^ mixed);
    }
    index = left << half | right;
  } while (index >= size);
  return index;
}

}  // namespace evenkeel
