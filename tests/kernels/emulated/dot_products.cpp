// SPDX-License-Identifier: Apache-2.0
#include "kernels/emulated/dot_products.h"

#include "kernels/emulated/bf16.h"

namespace emulated {
namespace {

/// sum + a b: the product of two bfloat16 is a float32.
float plus_product(float sum, std::uint16_t a, std::uint16_t b) {
  return flushed(sum + flushed(float_of(a) * float_of(b)));
}

}  // namespace

void add_dot_products(float* sums, const std::uint16_t* a, const std::uint16_t* b) {
  for (int i = 0; i < kLanes; ++i) {
    const float odd = plus_product(sums[i], a[2 * i + 1], b[2 * i + 1]);
    sums[i] = plus_product(odd, a[2 * i], b[2 * i]);
  }
}

void add_tile_product(TileOfSums& sums, const TileOfPairs& a, const TileOfPairs& b) {
  for (int m = 0; m < kRows; ++m) {
    float pairs[2 * kLanes] = {};
    for (int k = 0; k < kLanes; ++k) {
      for (int n = 0; n < 2 * kLanes; ++n) {
        pairs[n] = plus_product(pairs[n], a[m][2 * k + n % 2], b[k][n]);
      }
    }
    for (int n = 0; n < kLanes; ++n) {
      sums[m][n] = flushed(sums[m][n] + flushed(pairs[2 * n] + pairs[2 * n + 1]));
    }
  }
}

}  // namespace emulated
