// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <cmath>
#include <limits>

#include "evenkeel/ops/common/embedding.h"
#include "evenkeel/ops/linear/grouped_linear.h"
#include "evenkeel/ops/moe/expert_assignment.h"
#include "evenkeel/ops/moe/gather_sum.h"
#include "ops/gradients.h"
#include "ops/linear/group_product.h"

// Operators over indices, at the borders of the pieces and tiles of their kernels.
namespace evenkeel {
namespace {

constexpr auto kDtypes = {at::kFloat, at::kBFloat16, at::kDouble};

/// Each error is at most `units` roundings to float32 (float64) of the largest value, plus one
/// rounding to the dtype of `got`.
::testing::AssertionResult near(const at::Tensor& got, const at::Tensor& wanted, double units) {
  const bool is_wide = got.scalar_type() == at::kDouble;
  const double roundings = units * (is_wide ? 0x1p-53 : 0x1p-24);
  const double rounding = got.scalar_type() == at::kBFloat16 ? 0x1p-8 : is_wide ? 0x1p-53 : 0x1p-24;
  const auto exact = wanted.to(at::kDouble);
  const double largest = exact.numel() == 0 ? 0 : exact.abs().max().item<double>();
  const auto bound = exact.abs() * (1.001 * rounding) + roundings * largest;
  const auto error = (got.to(at::kDouble) - exact).abs();
  if ((error <= bound).all().item<bool>()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "largest error " << error.max().item<double>() << " of " << largest;
}

/// Repetitions of ids in random order: 0 once, 1 never, 2 twice, and some of 63 to 300 times, so
/// that ids begin and end at every place of a piece of 64.
at::Tensor repeated_ids() {
  const std::vector<std::int64_t> repetitions = {1, 0, 2, 63, 64, 65, 1, 128, 129, 300, 3, 191};
  const auto counts = at::tensor(repetitions);
  const auto ids = at::arange(counts.numel(), at::kLong).repeat_interleave(counts);
  return ids.index_select(0, at::randperm(ids.numel(), at::kLong));
}

at::Tensor exact_gradient(const at::Tensor& before, const at::Tensor& dy, const at::Tensor& ids) {
  return before.to(at::kDouble).index_add(0, ids, dy.to(at::kDouble));
}

TEST(EmbeddingGradient, SumsTheRowsOfEachId) {
  at::manual_seed(0);
  const auto ids = repeated_ids();
  for (const auto dtype : kDtypes) {
    for (const std::int64_t width : {1, 7, 40, 2100}) {
      const auto dy = at::randn({ids.size(0), width}).to(dtype);
      for (const auto of : {dtype, dtype == at::kBFloat16 ? at::kFloat : dtype}) {
        const auto before = at::randn({12, width}).to(of);
        const auto gradient = before.clone();
        ops::add_embedding_gradient(gradient, dy, ids);
        EXPECT_TRUE(near(gradient, exact_gradient(before, dy, ids), 8)) << dtype << ' ' << width;
        EXPECT_TRUE(gradient[1].equal(before[1]));
      }
    }
  }
}

// The sum of an id does not depend on the other ids of the batch.
TEST(EmbeddingGradient, HasTheSameBitsWhateverElseIsInTheBatch) {
  at::manual_seed(1);
  const auto rows = at::randn({200, 24});
  const auto alone = at::zeros({4, 24});
  ops::add_embedding_gradient(alone, rows, at::full({200}, 2, at::kLong));
  for (const std::int64_t before : {1, 5, 63, 100}) {
    const auto ids = at::cat({at::full({before}, 1, at::kLong), at::full({200}, 2, at::kLong)});
    const auto gradient = at::zeros({4, 24});
    ops::add_embedding_gradient(gradient, at::cat({at::randn({before, 24}), rows}), ids);
    EXPECT_TRUE(gradient[2].equal(alone[2])) << before;
  }
}

TEST(EmbeddingGradient, SkipsIdsThatAreNoRow) {
  const auto ids = at::cat({at::full({70}, -1, at::kLong), at::full({70}, 3, at::kLong),
                            at::full({70}, 1, at::kLong), at::full({2}, -5, at::kLong)});
  const auto gradient = at::zeros({3, 8});
  ops::add_embedding_gradient(gradient, at::ones({ids.size(0), 8}), ids);
  EXPECT_TRUE(gradient[1].equal(at::full({8}, 70.0)));
  EXPECT_TRUE(gradient[0].equal(at::zeros({8})) && gradient[2].equal(at::zeros({8})));
}

/// As the kernel for the CPU: a loop of comparisons, which a NaN never wins.
at::Tensor chosen_experts(const at::Tensor& scores, std::int64_t k) {
  auto chosen = at::empty({scores.size(0), k}, at::kLong);
  for (std::int64_t n = 0; n < scores.size(0); ++n) {
    std::vector<bool> taken(static_cast<std::size_t>(scores.size(1)));
    for (std::int64_t j = 0; j < k; ++j) {
      std::int64_t best = -1;
      for (std::int64_t e = 0; e < scores.size(1); ++e) {
        if (taken[static_cast<std::size_t>(e)]) continue;
        if (best < 0 || scores[n][e].item<double>() > scores[n][best].item<double>()) best = e;
      }
      taken[static_cast<std::size_t>(best)] = true;
      chosen[n][j] = best;
    }
  }
  return chosen;
}

TEST(ExpertAssignment, OrdersTiesAndNansByIndex) {
  at::manual_seed(2);
  const double inf = std::numeric_limits<double>::infinity();
  const auto scores = at::randint(-2, 3, {20, 37}).to(at::kFloat);
  scores.masked_fill_(at::rand_like(scores) < 0.2, std::nan(""));
  scores.masked_fill_(at::rand_like(scores) < 0.1, inf);
  scores.masked_fill_(at::rand_like(scores) < 0.1, -inf);
  scores[3].fill_(std::nan(""));
  for (const std::int64_t k : {1, 4, 37}) {
    const auto found = ops::expert_assignment(scores, k);
    EXPECT_TRUE(found.top_experts.equal(chosen_experts(scores, k))) << k;
  }
}

TEST(ExpertAssignment, SortsTheChoicesOfManyTilesStably) {
  at::manual_seed(3);
  for (const std::int64_t experts : {3, 64, 300}) {
    const auto scores = at::rand({333, experts}, at::kDouble);
    const auto found = ops::expert_assignment(scores, 3);
    const auto choices = found.top_experts.flatten();
    const auto order = at::argsort(choices, /*stable=*/true, 0, false);
    EXPECT_TRUE(found.permutation.equal(order));
    EXPECT_TRUE(found.token_of_row.equal(at::floor_divide(order, 3)));
    EXPECT_TRUE(found.inverse_permutation.flatten().equal(at::argsort(order)));
    EXPECT_TRUE(found.tokens_per_expert().equal(at::bincount(choices, {}, experts)));
  }
}

TEST(GatherSum, OfARowThatDoesNotExistIsNan) {
  const auto rows = at::tensor(std::vector<std::int64_t>{0, 1, 2, 3, -1, 2}).view({3, 2});
  const auto y = ops::gather_sum(at::ones({3, 24}), rows, at::zeros({3, 2}, at::kLong));
  EXPECT_TRUE(y[0].equal(at::full({24}, 2.0)));
  EXPECT_TRUE(y[1].isnan().all().item<bool>() && y[2].isnan().all().item<bool>());
}

TEST(GroupedLinear, IsAProductAGroup) {
  at::manual_seed(4);
  const std::vector<std::int64_t> offsets = {0, 5, 5, 70, 71};
  for (const auto dtype : kDtypes) {
    const auto x = at::randn({71, 24}).to(dtype), weight = at::randn({4, 16, 24}).to(dtype);
    const auto dy = at::randn({71, 16}).to(dtype);
    const testing::Function run = [&](const testing::Tensors& in) {
      return testing::Tensors{ops::grouped_linear(in[0], in[1], at::tensor(offsets))};
    };
    const auto y = run({x, weight})[0];
    const auto got = testing::gradients(run, {x, weight}, {dy});
    const auto sum = at::zeros({4, 16, 24}, dtype == at::kDouble ? at::kDouble : at::kFloat);
    ops::add_grouped_weight_gradient(sum, dy, x, at::tensor(offsets), /*is_first=*/true);
    for (std::int64_t e = 0; e < 4; ++e) {
      const auto begin = offsets[static_cast<std::size_t>(e)];
      const auto count = offsets[static_cast<std::size_t>(e) + 1] - begin;
      const auto part = [&](const at::Tensor& of) {
        return of.narrow(0, begin, count).to(at::kDouble);
      };
      const auto w = weight[e].to(at::kDouble);
      EXPECT_TRUE(near(y.narrow(0, begin, count), part(x).matmul(w.t()), 8)) << dtype << e;
      EXPECT_TRUE(near(got[0].narrow(0, begin, count), part(dy).matmul(w), 8)) << dtype << e;
      const auto product = testing::group_product(dy, x, offsets, e);
      EXPECT_TRUE(near(got[1][e], product, 8)) << dtype << e;
      EXPECT_TRUE(near(sum[e], product, 8)) << dtype << e;
    }
  }
}

/// Selects the kernel of the gradients of groups' weights: products of warps or of warpgroups.
void use_warpgroup_gradient(bool is_used) {
  const auto schema = c10::Dispatcher::singleton().findSchema({"evenkeel::warpgroup_gradient", ""});
  if (schema) schema->typed<bool(bool)>().call(is_used);
}

// Tiles of 128 x 128 and of 128 x 256 sums, and more rows than the stages of a copy hold.
TEST(GroupedLinear, AddsToTheGradientsOfItsMatricesInFloat32) {
  at::manual_seed(5);
  const std::vector<std::int64_t> offsets = {0, 0, 300, 301, 333, 333};
  const auto dy = at::randn({333, 264}).to(at::kBFloat16);
  for (const std::int64_t columns : {136, 264}) {
    use_warpgroup_gradient(columns == 264);
    const auto x = at::randn({333, columns}).to(at::kBFloat16);
    for (const bool is_first : {true, false}) {
      const auto before = at::randn({5, 264, columns});
      const auto sum = before.clone();
      ops::add_grouped_weight_gradient(sum, dy, x, at::tensor(offsets), is_first);
      for (std::int64_t e = 0; e < 5; ++e) {
        const auto product = testing::group_product(dy, x, offsets, e);
        const auto wanted = is_first ? product : before[e].to(at::kDouble) + product;
        EXPECT_TRUE(near(sum[e], wanted, 8)) << columns << " columns, group " << e;
      }
    }
  }
  use_warpgroup_gradient(false);
}

}  // namespace
}  // namespace evenkeel
