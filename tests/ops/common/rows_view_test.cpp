// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/common/rows_view.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "evenkeel/ops/norms/layer_norm.h"
#include "evenkeel/ops/norms/rms_norm.h"
#include "evenkeel/ops/norms/row_norm.h"
#include "ops/gradients.h"

namespace evenkeel {
namespace {

using testing::Tensors;

/// Every row of x by its offset, and whether it was not copied.
std::pair<at::Tensor, bool> read_rows(const at::Tensor& x) {
  const auto view = ops::rows_view(x);
  const auto* const data = view.tensor.const_data_ptr<float>();
  const auto rows = x.numel() / x.size(-1);
  auto found = at::empty({rows, x.size(-1)});
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto* const from = data + view.offset(row);
    std::copy(from, from + x.size(-1), found.mutable_data_ptr<float>() + row * x.size(-1));
  }
  return {found.view(x.sizes()), data == x.const_data_ptr<float>()};
}

TEST(RowsView, HasTheRowsOfEveryLayout) {
  const auto products = at::arange(2. * 3 * 20, at::kFloat).view({2, 3, 20});
  const auto heads = products.narrow(2, 8, 8).view({2, 3, 4, 2});
  struct Layout {
    at::Tensor x;
    bool is_read_in_place;
  };
  const std::vector<Layout> layouts = {{products, true},
                                       {products.narrow(2, 4, 8), true},
                                       {heads, true},
                                       {heads.narrow(2, 1, 2), true},
                                       {products[1].narrow(1, 4, 8), true},
                                       {products.narrow(0, 0, 1).narrow(1, 0, 1), true},
                                       {products.narrow(1, 0, 2), true},
                                       {products.narrow(1, 0, 2).narrow(2, 4, 8), false},
                                       {heads.transpose(1, 2), false},
                                       {products.transpose(1, 2), false},
                                       {products.select(0, 0).expand({4, 3, 20}), true},
                                       {products[0][0], true}};
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const auto [rows, in_place] = read_rows(layouts[i].x);
    EXPECT_TRUE(rows.equal(layouts[i].x)) << i;
    EXPECT_EQ(in_place, layouts[i].is_read_in_place) << i;
  }
}

TEST(RowsView, RunsHaveAllRowsInOrder) {
  const auto products = at::zeros({2, 3, 20});
  const auto view = ops::rows_view(products.narrow(2, 8, 8).view({2, 3, 4, 2}));
  std::vector<std::int64_t> runs;
  view.for_each_run(1, 10, [&](std::int64_t row, std::int64_t count) {
    runs.push_back(row);
    runs.push_back(count);
  });
  EXPECT_EQ(runs, (std::vector<std::int64_t>{1, 3, 4, 4, 8, 2}));
}

// What rows of a tensor of their own give, here bit for bit; but gradients of gains, whose rows are
// added up by fours where they are adjacent.
TEST(RowsView, NormsOfColumnsAreThoseOfTheirCopies) {
  at::manual_seed(6);
  const std::vector<std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>> norms = {
      [](const auto& x, const auto& gain) { return ops::layer_norm(x, gain, gain); },
      [](const auto& x, const auto& gain) { return ops::rms_norm(x, gain); },
      [](const auto& x, const auto& gain) {
        return ops::row_norm(x, gain, gain, {.groups = 2, .length = true});
      },
      [](const auto& x, const auto& gain) {
        return ops::row_norm(x, gain, gain, {.groups = 2, .centred = true});
      }};
  for (const auto dtype : {at::kDouble, at::kFloat, at::kBFloat16}) {
    const auto wide = dtype == at::kDouble ? at::kDouble : at::kFloat;
    const auto products = at::randn({2, 40, 5 * 32}).to(dtype);
    const auto columns = products.narrow(2, 32, 3 * 32);
    for (const auto& x : {columns, columns.view({2, 40, 3, 32})}) {
      const auto gain = at::randn({x.size(-1)}, wide);
      const auto dy = at::randn(x.sizes()).to(dtype);
      for (std::size_t i = 0; i < norms.size(); ++i) {
        const auto run = [&](const Tensors& in) { return Tensors{norms[i](in[0], in[1])}; };
        EXPECT_TRUE(run({x, gain})[0].equal(run({x.contiguous(), gain})[0])) << i;
        const auto got = testing::gradients(run, {x, gain}, {dy});
        const auto wanted = testing::gradients(run, {x.contiguous(), gain}, {dy});
        EXPECT_TRUE(got[0].equal(wanted[0])) << i << ", x of " << dtype;
        EXPECT_TRUE(testing::close(got[1], wanted[1], 1e-4, 1e-4)) << i << ", gain of " << dtype;
      }
    }
  }
}

}  // namespace
}  // namespace evenkeel
