// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/attention/qkv_rope.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "evenkeel/ops/attention/qkv_norm_rope.h"
#include "ops/gradients.h"

namespace evenkeel {
namespace {

using testing::Tensors;

constexpr std::int64_t kRotatedHeads = 6, kRotatedKvHeads = 2, kTokens = 21;

at::Tensor turn_of(std::int64_t width, at::ScalarType dtype) {
  const auto angle = at::outer(at::arange(kTokens, at::kDouble), at::linspace(0.1, 2, width / 2));
  const auto wide = dtype == at::kDouble ? at::kDouble : at::kFloat;
  return at::stack({angle.cos(), angle.sin()}, 1).to(wide);
}

/// Results and gradients of the columns of one matrix.
Tensors results_and_gradients(const testing::Function& function, const at::Tensor& products) {
  auto results = function({products});
  Tensors dy;
  at::manual_seed(5);
  for (const auto& each : results) dy.push_back(at::randn(each.sizes()).to(each.scalar_type()));
  for (auto& each : testing::gradients(function, {products}, dy)) results.push_back(each);
  return results;
}

Tensors columns_of_parts(const at::Tensor& products, std::int64_t width) {
  return products.split_with_sizes(
      {kRotatedHeads * width, kRotatedKvHeads * width, kRotatedKvHeads * width}, -1);
}

// Bit for bit, of columns where they lie and of tensors of their own.
TEST(QkvRope, IsQkvNormRopeWithoutNorms) {
  for (const auto dtype : {at::kDouble, at::kFloat, at::kBFloat16}) {
    for (const std::int64_t width : {2, 6, 32, 64}) {
      at::manual_seed(7);
      const auto all = kRotatedHeads + 2 * kRotatedKvHeads;
      const auto products = at::randn({2, kTokens, all * width}).to(dtype);
      const auto turn = turn_of(width, dtype);
      const auto wanted = results_and_gradients(
          [&](const Tensors& in) {
            const auto [q, k, v] =
                ops::qkv_norm_rope(in[0], turn, kRotatedHeads, kRotatedKvHeads, {}, {}, {});
            return Tensors{q, k, v};
          },
          products);
      for (const bool is_copied : {false, true}) {
        const auto got = results_and_gradients(
            [&](const Tensors& in) {
              auto parts = columns_of_parts(in[0], width);
              if (is_copied) {
                for (auto& part : parts) part = part.contiguous();
              }
              const auto [q, k, v] = ops::qkv_rope(parts[0], parts[1], parts[2], turn);
              return Tensors{q, k, v};
            },
            products);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          EXPECT_TRUE(got[i].equal(wanted[i])) << dtype << " " << width << ", result " << i;
        }
      }
    }
  }
}

TEST(QkvRope, RefusesWhatDoesNotFit) {
  const auto turn = turn_of(4, at::kFloat);
  const auto q = at::ones({1, kTokens, 8}), k = at::ones({1, kTokens, 4});
  EXPECT_NO_THROW(ops::qkv_rope(q, k, k, turn));
  for (const auto& other : {at::ones({1, kTokens, 6}), at::ones({2, kTokens, 4}), at::ones({1, 4}),
                            at::ones({1, kTokens, 4}, at::kDouble)}) {
    EXPECT_THROW(ops::qkv_rope(q, other, k, turn), c10::Error) << other.sizes();
    EXPECT_THROW(ops::qkv_rope(q, k, other, turn), c10::Error) << other.sizes();
  }
  EXPECT_THROW(ops::qkv_rope(q, k, q, turn), c10::Error);
  EXPECT_THROW(ops::qkv_rope(q, k, k, turn.narrow(0, 0, 3)), c10::Error);
}

}  // namespace
}  // namespace evenkeel
