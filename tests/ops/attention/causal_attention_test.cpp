// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/attention/causal_attention.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/gradients.h"
#include "support/close.h"

namespace evenkeel {
namespace {

using testing::close;
using testing::message_of;
using testing::Tensors;

struct Case {
  std::int64_t queries, keys, heads, kv_heads, width;
  std::optional<double> softcap;
  double scale = 0.3;
};

/// softmax(cap(scale q k^T)) v, all scores written down. arXiv:1706.03762, eq. 1
Tensors formula(const Case& each, const Tensors& in) {
  const auto group = each.heads / each.kv_heads;
  const auto q = in[0].transpose(1, 2);
  const auto k = in[1].transpose(1, 2).repeat_interleave(group, 1);
  const auto v = in[2].transpose(1, 2).repeat_interleave(group, 1);
  auto scores = at::matmul(q, k.transpose(-1, -2)) * each.scale;
  if (each.softcap) scores = at::tanh(scores / *each.softcap) * *each.softcap;
  const auto future =
      at::ones({each.queries, each.keys}, at::kBool).triu(each.keys - each.queries + 1);
  scores = scores.masked_fill(future, -std::numeric_limits<double>::infinity());
  return {at::matmul(at::softmax(scores, -1), v).transpose(1, 2)};
}

Tensors fused(const Case& each, const Tensors& in) {
  return {ops::causal_attention(in[0], in[1], in[2], each.scale, each.softcap)};
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

// Around the edges of tiles (6 and 12 rows, 16 and 32 columns) and of passes (24 and 48 queries,
// 256 and 512 keys); queries behind other positions; grouped heads; widths that fill no vector.
const std::vector<Case> kCases = {
    {1, 1, 1, 1, 2, {}},
    {1, 40, 2, 1, 8, {}},
    {5, 5, 2, 2, 6, {}},
    {24, 24, 1, 1, 16, {}},
    {25, 33, 4, 2, 20, {}},
    {49, 49, 2, 1, 48, {}},
    {3, 300, 2, 1, 32, {}},
    {130, 130, 3, 1, 40, {}},
    {257, 257, 2, 2, 64, {}},
    {40, 530, 2, 1, 24, {}},
    {525, 525, 1, 1, 34, {}},
    {31, 31, 2, 1, 16, 2.0},
    {100, 513, 2, 2, 8, 5.0},
    {70, 70, 1, 1, 128, {}},
    {50, 50, 1, 1, 256, {}},
    // A single query has a way of its own, 512 keys and four of them at a time.
    {1, 513, 2, 1, 48, {}},
    {1, 1030, 3, 1, 37, {}},
    {1, 603, 4, 2, 64, 5.0},
};

class CausalAttention : public ::testing::TestWithParam<Case> {};

TEST_P(CausalAttention, IsTheSoftmaxOfScoresTimesValues) {
  const auto& each = GetParam();
  const auto in = inputs_of(each);
  EXPECT_TRUE(close(fused(each, in)[0], formula(each, in)[0], 1e-12, 1e-13));
}

TEST_P(CausalAttention, HasTheGradientOfItsFormula) {
  const auto& each = GetParam();
  const auto in = inputs_of(each);
  const auto dy = at::randn(in[0].sizes(), at::kDouble);
  testing::expect_equal_gradients([&](const Tensors& x) { return fused(each, x); },
                                  [&](const Tensors& x) { return formula(each, x); }, in, {dy});
}

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

// The result is rounded; where the tiles of AMX are, so are the weights. Half a unit in the last
// place is 2^-9, and its mean over many a root of 3 below.
TEST_P(CausalAttention, IsExactInBfloat16) {
  const auto& each = GetParam();
  const auto in = inputs_of(each, at::kBFloat16);
  EXPECT_LE(error_of(fused(each, in)[0], formula(each, to(in, at::kDouble))[0]), 3e-3);
}

TEST_P(CausalAttention, HasEqualBitsForAnyNumberOfThreads) {
  const auto& each = GetParam();
  const auto threads = at::get_num_threads();
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    const auto in = inputs_of(each, dtype);
    const auto dy = at::randn(in[0].sizes(), dtype);
    const auto function = [&](const Tensors& x) { return fused(each, x); };
    at::set_num_threads(1);
    const auto y = function(in)[0];
    const auto one = testing::gradients(function, in, {dy});
    at::set_num_threads(2);
    EXPECT_TRUE(function(in)[0].equal(y));
    const auto two = testing::gradients(function, in, {dy});
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(one[i].equal(two[i])) << i;
  }
  at::set_num_threads(threads);
}

/// Documents of nine positions; the first of the second sequence ends earlier.
at::Tensor document_starts_of(const Case& each) {
  constexpr int kLength = 9;
  const auto positions =
      at::arange(each.keys - each.queries, each.keys, at::kInt).expand({2, each.queries});
  const auto shift = at::tensor({0, 4}, at::kInt).unsqueeze(1);
  return ((positions + shift).floor_divide(kLength) * kLength - shift).clamp_min(0).to(at::kInt);
}

// As if each document were alone; one of queries behind earlier positions may have begun there.
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
      for (std::int64_t i = 0; i < each.queries; ++i) {
        const auto from = document_starts[b][i].item<std::int64_t>();
        const auto count = earlier + i + 1 - from;
        rows.push_back(ops::causal_attention(
            x[0].narrow(0, b, 1).narrow(1, i, 1), x[1].narrow(0, b, 1).narrow(1, from, count),
            x[2].narrow(0, b, 1).narrow(1, from, count), each.scale, each.softcap));
      }
    }
    return Tensors{at::cat(rows, 1).view(x[0].sizes())};
  };
  const auto in = inputs_of(each);
  EXPECT_TRUE(close(within(in)[0], alone(in)[0], 1e-12, 1e-13));
  const auto dy = at::randn(in[0].sizes(), at::kDouble);
  testing::expect_equal_gradients(within, alone, in, {dy});
}

INSTANTIATE_TEST_SUITE_P(Shapes, CausalAttention, ::testing::ValuesIn(kCases));

TEST(CausalAttentionInputs, MatchFiniteDifferences) {
  const Case each = {9, 9, 2, 1, 6, 1.5};
  testing::expect_finite_differences([&](const Tensors& x) { return fused(each, x); },
                                     inputs_of(each), {at::randn({2, 9, 2, 6}, at::kDouble)});
}

// One weight is 1 and the others are 0: nothing overflows, and gradients of scores vanish.
TEST(CausalAttentionInputs, MayHaveScoresInTheMillions) {
  const Case each = {40, 40, 2, 1, 16, {}, 1e6};
  const auto in = inputs_of(each, at::kFloat);
  const auto exact = formula(each, to(in, at::kDouble))[0];
  EXPECT_TRUE(close(fused(each, in)[0].to(at::kDouble), exact, 1e-6, 1e-6));
  const auto gradients = testing::gradients([&](const Tensors& x) { return fused(each, x); }, in,
                                            {at::ones({2, 40, 2, 16}, at::kFloat)});
  for (const auto& gradient : gradients) EXPECT_TRUE(gradient.isfinite().all().item<bool>());
}

// A key or value that is no number spoils every query that sees it; of those before, only such as
// share a tile of 12 rows with one that does, since 0 times it is no number.
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

// dS = p (dp - sum dy y) with y as it was stored: an error of y's rounding, beside that of the
// result and, in the tiles of AMX, of weights and their gradients. Widest heads have the sharpest
// softmax at this scale, and the largest error: 4.2e-3.
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

TEST(CausalAttentionInputs, RejectMismatchedDocumentStarts) {
  const auto q = at::ones({1, 5, 2, 8});
  EXPECT_NE(message_of([&] {
              ops::causal_attention(q, q, q, 1, {}, at::zeros({1, 5}, at::kLong));
            }).find("[causal_attention] begins must be [B, T] of int32 on cpu, but is [1, 5] of "),
            std::string::npos);
  for (const auto& [values, at] : {std::pair<std::vector<int>, int>{{0, 0, -7, 0, 0}, 2},
                                   {{0, 2, 2, 2, 2}, 1},
                                   {{0, 1, 1, 0, 0}, 3}}) {
    const auto document_starts = at::tensor(values, at::kInt).unsqueeze(0);
    EXPECT_NE(message_of([&] {
                ops::causal_attention(q, q, q, 1, {}, document_starts);
              }).find("but that of query " + std::to_string(at) + " at position"),
              std::string::npos);
  }
}

TEST(CausalAttentionInputs, MayBeEmpty) {
  const auto none = at::empty({0, 4, 2, 8});
  EXPECT_EQ(ops::causal_attention(none, none, none, 1).sizes(), none.sizes());
}

TEST(CausalAttentionInputs, RejectMismatchedShapes) {
  const auto q = at::ones({1, 5, 3, 8}), k = at::ones({1, 5, 2, 8});
  EXPECT_NE(message_of([&] {
              ops::causal_attention(q, k, k, 1);
            }).find("[causal_attention] q must be [B, T, heads, D] and k [B, S, kv_heads, D]"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              ops::causal_attention(k, k, at::ones({1, 4, 2, 8}), 1);
            }).find("[causal_attention] v must be"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              ops::causal_attention(k, k, k, 1, 0.0);
            }).find("[causal_attention] softcap must be above 0 and finite, or absent, but is 0"),
            std::string::npos);
}

}  // namespace
}  // namespace evenkeel
