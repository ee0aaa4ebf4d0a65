// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Sums of products of bfloat16. They are compiled apart, with optimization and without sanitizers:
/// they take most of the time, and touch no memory but what is given.

namespace emulated {

constexpr int kLanes = 16, kRows = 16;
using TileOfSums = float[kRows][kLanes];
using TileOfPairs = std::uint16_t[kRows][2 * kLanes];

/// sums[i] += a[2i + 1] b[2i + 1], then a[2i] b[2i], for each of 16 lanes.
void add_dot_products(float* sums, const std::uint16_t* a, const std::uint16_t* b);

/// sums[m, n] += sum_k a[m, 2k] b[k, 2n] + a[m, 2k + 1] b[k, 2n + 1], whose even and odd products
/// are summed apart.
void add_tile_product(TileOfSums& sums, const TileOfPairs& a, const TileOfPairs& b);

}  // namespace emulated
