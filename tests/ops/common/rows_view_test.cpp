// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/common/rows_view.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "evenkeel/ops/norms/affine.h"
#include "evenkeel/ops/norms/bounded.h"
#include "evenkeel/ops/norms/layer_norm.h"
#include "evenkeel/ops/norms/rms_norm.h"
#include "evenkeel/ops/norms/row_norm.h"
#include "evenkeel/ops/norms/seed_norm.h"
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

/// A norm of x with a gain.
using NormOfRows = std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>;

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
  const std::vector<NormOfRows> norms = {
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

/// DyT, Derf, SeeDNorm, and Scale with one value for each feature and for each of four groups.
std::vector<NormOfRows> norms_with_equal_gradients() {
  const auto bounded = [](bool is_erf) {
    return [is_erf](const at::Tensor& x, const at::Tensor& gain) {
      const auto value = gain.narrow(0, 0, 1).to(at::kDouble);
      return ops::bounded(x, value, value, gain, gain, is_erf);
    };
  };
  return {bounded(false), bounded(true),
          [](const auto& x, const auto& gain) {
            return ops::seed_norm(x, gain, 0.1 * gain, gain, gain, 1e-5);
          },
          [](const auto& x, const auto& gain) { return ops::affine(x, gain, gain); },
          [](const auto& x, const auto& gain) { return ops::affine(x, gain.narrow(0, 0, 4)); }};
}

/// Columns of a matrix of 80 rows as rows [2, 40, 96], as three heads of 32, and as eight of 12.
Tensors layouts_of_columns(const at::Tensor& products) {
  const auto columns = products.narrow(2, 32, 96);
  return {columns, columns.view({2, 40, 3, 32}), columns.view({2, 40, 8, 12})};
}

/// Passes if the results and all gradients are those of a copy of x, bit for bit.
void expect_bits_of_copy(const NormOfRows& norm, const at::Tensor& x, const at::Tensor& gain,
                         const at::Tensor& dy) {
  const auto run = [&](const Tensors& in) { return Tensors{norm(in[0], in[1])}; };
  const auto copy = x.contiguous();
  EXPECT_TRUE(run({x, gain})[0].equal(run({copy, gain})[0]));
  const auto got = testing::gradients(run, {x, gain}, {dy});
  const auto wanted = testing::gradients(run, {copy, gain}, {dy});
  EXPECT_TRUE(got[0].equal(wanted[0])) << "x";
  EXPECT_TRUE(got[1].equal(wanted[1])) << "gain";
}

TEST(RowsView, OtherNormsOfColumnsHaveTheBitsOfTheirCopies) {
  at::manual_seed(8);
  for (const auto dtype : {at::kDouble, at::kFloat, at::kBFloat16}) {
    const auto wide = dtype == at::kDouble ? at::kDouble : at::kFloat;
    for (const auto& x : layouts_of_columns(at::randn({2, 40, 160}).to(dtype))) {
      const auto gain = at::randn({x.size(-1)}, wide);
      const auto dy = at::randn(x.sizes()).to(dtype);
      int number = 0;
      for (const auto& norm : norms_with_equal_gradients()) {
        SCOPED_TRACE(::testing::Message() << number++ << " of " << dtype << x.sizes());
        expect_bits_of_copy(norm, x, gain, dy);
      }
    }
  }
}

// The sums of such terms differ if they are added up one by one, not by fours: 2^60 swallows ones.
TEST(RowsView, GainsOfScaleAreAddedUpByFoursWhereRowsLieApart) {
  at::manual_seed(9);
  const auto large = at::randint(-1, 2, {2, 40, 160}, at::kDouble) * 0x1p60;
  const auto small = at::randint(-9, 10, {2, 40, 160}, at::kDouble);
  const auto affine = [](const auto& x, const auto& gain) { return ops::affine(x, gain); };
  for (const auto& x : layouts_of_columns((large + small).to(at::kBFloat16))) {
    SCOPED_TRACE(::testing::Message() << x.sizes());
    expect_bits_of_copy(affine, x, at::ones({x.size(-1)}), at::ones(x.sizes(), at::kBFloat16));
  }
}

}  // namespace
}  // namespace evenkeel
