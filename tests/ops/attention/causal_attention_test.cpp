// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/attention/causal_attention.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/attention/attention_shapes.h"
#include "support/close.h"

namespace evenkeel {
namespace {

using testing::close;
using testing::Tensors;

using Case = testing::AttentionShape;

Tensors formula(const Case& each, const Tensors& in) {
  return testing::attention_formula(each, in);
}
Tensors fused(const Case& each, const Tensors& in) {
  return testing::fused_attention(each, in);
}

Tensors inputs_of(const Case& each, at::ScalarType dtype = at::kDouble) {
  at::manual_seed(3);
  return {at::randn({2, each.queries, each.heads, each.width}, at::kDouble).to(dtype),
          at::randn({2, each.keys, each.kv_heads, each.width}, at::kDouble).to(dtype),
          at::randn({2, each.keys, each.kv_heads, each.width}, at::kDouble).to(dtype)};
}

Tensors to(const Tensors& tensors, at::ScalarType dtype) {
  Tensors out;
  for (const auto& each : tensors) out.push_back(each.to(dtype));
  return out;
}

class CausalAttention : public ::testing::TestWithParam<Case> {};

// Of every tensor's own size: rounding grows with the root of the number of terms.
TEST_P(CausalAttention, IsExactInFloat32) {
  const auto& each = GetParam();
  const auto in = inputs_of(each, at::kFloat);
  const auto dy = at::randn(in[0].sizes(), at::kFloat);
  const auto function = [&](const Tensors& x) { return fused(each, x); };
  const auto exact = [&](const Tensors& x) { return formula(each, x); };
  const auto wide = to(in, at::kDouble);
  const auto largest = [](const at::Tensor& x) { return x.abs().max().item<double>(); };
  EXPECT_TRUE(close(function(in)[0].to(at::kDouble), exact(wide)[0], 0, 1e-5));
  const auto actual = testing::gradients(function, in, {dy});
  const auto expected = testing::gradients(exact, wide, {dy.to(at::kDouble)});
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(close(actual[i].to(at::kDouble), expected[i], 0, 1e-5 * (1 + largest(expected[i]))))
        << i;
  }
}

/// How far apart two are, over the size of the exact one.
double error_of(const at::Tensor& actual, const at::Tensor& exact) {
  const auto apart = (actual.to(at::kDouble) - exact).norm().item<double>();
  return apart / exact.norm().item<double>();
}

// The result is rounded; with AMX or AVX-512 BF16, so are the weights. Half a unit in the last
// place is 2^-9, and its mean over many a root of 3 below.
TEST_P(CausalAttention, IsExactInBfloat16) {
  const auto& each = GetParam();
  const auto in = inputs_of(each, at::kBFloat16);
  EXPECT_LE(error_of(fused(each, in)[0], formula(each, to(in, at::kDouble))[0]), 3e-3);
}

/// Documents of nine positions; the first of the second sequence ends earlier.
at::Tensor document_starts_of(const Case& each) {
  constexpr int kLength = 9;
  const auto positions =
      at::arange(each.keys - each.queries, each.keys, at::kInt).expand({2, each.queries});
  const auto shift = at::tensor({0, 4}, at::kInt).unsqueeze(1);
  return ((positions + shift).floor_divide(kLength) * kLength - shift).clamp_min(0).to(at::kInt);
}

// As if each document were alone. A document may begin in the cached positions before the queries.
TEST_P(CausalAttention, StaysWithinDocuments) {
  const auto& each = GetParam();
  const auto document_starts = document_starts_of(each);
  const auto within = [&](const Tensors& x) {
    return Tensors{
        ops::causal_attention(x[0], x[1], x[2], each.scale, each.softcap, document_starts)};
  };
  const auto alone = [&](const Tensors& x) {
    std::vector<at::Tensor> rows;
    const auto earlier = each.keys - each.queries;
    for (std::int64_t b = 0; b < 2; ++b) {
      const auto starts = document_starts[b];
      for (std::int64_t i = 0, next = 0; i < each.queries; i = next) {  // the queries of a document
        const auto from = starts[i].item<std::int64_t>();
        while (next < each.queries && starts[next].item<std::int64_t>() == from) ++next;
        const auto keys = earlier + next - from;
        rows.push_back(ops::causal_attention(
            x[0].narrow(0, b, 1).narrow(1, i, next - i), x[1].narrow(0, b, 1).narrow(1, from, keys),
            x[2].narrow(0, b, 1).narrow(1, from, keys), each.scale, each.softcap));
      }
    }
    return Tensors{at::cat(rows, 1).view(x[0].sizes())};
  };
  const auto in = inputs_of(each);
  EXPECT_TRUE(close(within(in)[0], alone(in)[0], 1e-12, 1e-13));
  const auto dy = at::randn(in[0].sizes(), at::kDouble);
  testing::expect_equal_gradients(within, alone, in, {dy});
}

INSTANTIATE_TEST_SUITE_P(Shapes, CausalAttention, ::testing::ValuesIn(testing::kAttentionShapes));

// Sixteen threads share two or four key heads: parts of dq, and parts of dk and dv.
TEST(CausalAttentionParts, HaveTheBitsOfTheWhole) {
  const int threads = at::get_num_threads();
  const std::vector<Case> shapes = {
      {900, 900, 2, 1, 40, {}}, {600, 1100, 4, 2, 48, 5.0}, {1030, 1030, 1, 1, 64, {}}};
  for (const auto& each : shapes) {
    for (const auto dtype : {at::kFloat, at::kDouble, at::kBFloat16}) {
      for (const bool has_documents : {false, true}) {
        const auto starts = has_documents ? std::optional(document_starts_of(each)) : std::nullopt;
        const auto in = inputs_of(each, dtype);
        const auto dy = at::randn(in[0].sizes(), at::kDouble).to(dtype);
        const auto function = [&](const Tensors& x) {
          return Tensors{ops::causal_attention(x[0], x[1], x[2], each.scale, each.softcap, starts)};
        };
        at::set_num_threads(1);
        const auto whole = testing::gradients(function, in, {dy});
        at::set_num_threads(16);
        const auto parts = testing::gradients(function, in, {dy});
        for (std::size_t i = 0; i < 3; ++i) {
          EXPECT_TRUE(parts[i].equal(whole[i])) << each.keys << " " << dtype << " " << i;
        }
      }
    }
  }
  at::set_num_threads(threads);
}

// One weight is 1, all other weights are 0: nothing overflows, and gradients of scores vanish.
TEST(CausalAttentionInputs, MayHaveScoresInTheMillions) {
  const Case each = {40, 40, 2, 1, 16, {}, 1e6};
  const auto in = inputs_of(each, at::kFloat);
  const auto exact = formula(each, to(in, at::kDouble))[0];
  EXPECT_TRUE(close(fused(each, in)[0].to(at::kDouble), exact, 1e-6, 1e-6));
  const auto gradients = testing::gradients([&](const Tensors& x) { return fused(each, x); }, in,
                                            {at::ones({2, 40, 2, 16}, at::kFloat)});
  for (const auto& gradient : gradients) EXPECT_TRUE(gradient.isfinite().all().item<bool>());
}

// A NaN key or value gives NaN for every query that sees it. An earlier query gets NaN only if it
// shares a tile of 12 rows with such a query, because 0 * NaN is NaN.
TEST(CausalAttentionInputs, PropagateNanToTheQueriesThatSeeIt) {
  const Case each = {60, 60, 1, 1, 16, {}};
  for (const std::size_t spoilt : {1, 2}) {
    auto in = inputs_of(each, at::kFloat);
    in[spoilt].select(1, 31).fill_(std::nan(""));
    const auto y = fused(each, in)[0];
    EXPECT_TRUE(y.narrow(1, 0, 31 - 12).isfinite().all().item<bool>());
    EXPECT_TRUE(y.narrow(1, 31, 29).isnan().all().item<bool>());
  }
}

// dS = p (dp - sum dy y) with y as it was stored: the rounding of y, plus that of the
// result and, with AMX or AVX-512 BF16, of weights and their gradients. Widest heads have the
// sharpest softmax at this scale, and the largest error: 4.2e-3.
TEST_P(CausalAttention, HasGradientsOfBfloat16Rows) {
  const auto& each = GetParam();
  const auto in = inputs_of(each, at::kBFloat16);
  const auto dy = at::randn(in[0].sizes(), at::kBFloat16);
  const auto actual =
      testing::gradients([&](const Tensors& x) { return fused(each, x); }, in, {dy});
  const auto expected = testing::gradients([&](const Tensors& x) { return formula(each, x); },
                                           to(in, at::kDouble), {dy.to(at::kDouble)});
  for (std::size_t i = 0; i < 3; ++i) {
    if (expected[i].norm().item<double>() == 0) continue;  // of a query with one key
    EXPECT_LE(error_of(actual[i], expected[i]), 5e-3) << i;
  }
}

TEST(CausalAttentionInputs, MayHaveAnyStrides) {
  const Case each = {20, 20, 4, 2, 8, {}};
  const auto in = inputs_of(each);
  Tensors turned;
  for (const auto& x : in) turned.push_back(x.transpose(1, 2).contiguous().transpose(1, 2));
  EXPECT_TRUE(fused(each, turned)[0].equal(fused(each, in)[0]));
  for (auto& x : turned) x = x.transpose(2, 3).contiguous().transpose(2, 3);
  EXPECT_TRUE(fused(each, turned)[0].equal(fused(each, in)[0]));
}

}  // namespace
}  // namespace evenkeel
