// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/linear/blas_product.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "evenkeel/ops/common/serial_libraries.h"

namespace evenkeel::ops {
namespace {

/// A batch of matrices: rows or columns are contiguous, with a gap after each of them if `is_wide`.
at::Tensor matrices(std::int64_t rows, std::int64_t columns, bool is_transposed, bool is_wide,
                    at::ScalarType dtype) {
  const auto outer = is_transposed ? columns : rows, inner = is_transposed ? rows : columns;
  const auto whole = at::randn({2, outer, inner + (is_wide ? 3 : 0)}).to(dtype);
  const auto part = whole.narrow(2, 0, inner);
  return is_transposed ? part.transpose(1, 2) : part;
}

bool has_blas() {
  const auto x = at::ones({1, 2, 2});
  return BlasProduct::of(at::zeros({1, 2, 2}), x, x, false).has_value();
}

TEST(BlasProduct, HasTheBitsOfLibTorchForEveryLayout) {
  if (!has_blas()) GTEST_SKIP() << "this LibTorch exports no sgemm_";
  const SerialLibraries one_thread;
  at::manual_seed(0);
  constexpr std::int64_t kRows = 70, kDepth = 90, kColumns = 50;
  const MatmulBlock block{.batch = 1, .row = 7, .column = 5, .rows = 40, .columns = 33};
  const auto part = [&](const at::Tensor& of, bool has_rows, bool has_columns) {
    auto out = of[block.batch];
    if (has_rows) out = out.narrow(0, block.row, block.rows);
    return has_columns ? out.narrow(1, block.column, block.columns) : out;
  };
  for (int layout = 0; layout < 32; ++layout) {
    const auto is = [&](int bit) { return (layout >> bit & 1) != 0; };
    const auto dtype = is(4) ? at::kDouble : at::kFloat;
    const auto x = matrices(kRows, kDepth, is(0), is(1), dtype);
    const auto w = matrices(kDepth, kColumns, is(2), is(3), dtype);
    for (const bool is_added : {false, true}) {
      const auto y = matrices(kRows, kColumns, false, is(1), dtype);
      // MKL's bits depend on strides: the same ones.
      const auto expected = at::empty_strided(y.sizes(), y.strides(), y.options()).copy_(y);
      auto target = part(expected, true, true);
      is_added ? target.addmm_(part(x, true, false), part(w, false, true))
               : at::mm_out(target, part(x, true, false), part(w, false, true));
      const auto product = BlasProduct::of(y, x, w, is_added);
      ASSERT_TRUE(product && product->multiply(block)) << layout;
      EXPECT_TRUE(y.equal(expected)) << layout << is_added;
    }
  }
}

TEST(BlasProduct, LeavesOutWhatLibTorchComputesInAnotherWay) {
  const auto x = at::ones({1, 4, 4});
  EXPECT_FALSE(
      BlasProduct::of(x.to(at::kBFloat16), x.to(at::kBFloat16), x.to(at::kBFloat16), false));
  EXPECT_FALSE(BlasProduct::of(at::zeros({1, 4, 4}).transpose(1, 2), x, x, false));
  EXPECT_FALSE(
      BlasProduct::of(at::zeros({1, 4, 4}), at::ones({1, 4, 8}).slice(2, 0, 8, 2), x, false));
  EXPECT_FALSE(BlasProduct::of(at::zeros({1, 1, 4}), at::ones({1, 1, 4}), x, false));
  if (!has_blas()) return;
  const auto product = BlasProduct::of(at::zeros({1, 4, 4}), x, x, false);
  ASSERT_TRUE(product);
  EXPECT_FALSE(product->multiply({.rows = 1, .columns = 4}));
}

}  // namespace
}  // namespace evenkeel::ops
