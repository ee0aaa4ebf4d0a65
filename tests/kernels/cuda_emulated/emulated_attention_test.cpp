// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "evenkeel/ops/attention/causal_attention.h"
#include "evenkeel/ops/attention/causal_attention_library.h"
#include "kernels/cuda_emulated/launch.h"
#include "ops/attention/attention_shapes.h"
#include "ops/gradients.h"

// Attention in float32 and bfloat16, for which the table of operators has no bounds: with tiles
// that are full and that are not, documents, a soft cap, and tensors at any address.
namespace evenkeel::testing {
namespace {

const std::vector<AttentionShape> kSmallShapes = {
    {1, 1, 1, 1, 2, {}},     {5, 5, 2, 2, 6, {}},      {25, 33, 4, 2, 20, {}},
    {40, 40, 2, 1, 64, {}},  {1, 70, 4, 2, 48, {}},    {31, 31, 2, 1, 16, 2.0},
    {70, 70, 1, 1, 128, {}}, {65, 130, 1, 1, 40, 5.0}, {20, 20, 1, 1, 256, {}}};

Tensors attention_inputs(const AttentionShape& each, at::ScalarType dtype) {
  at::manual_seed(3);
  const auto random = [&](std::int64_t positions, std::int64_t heads) {
    return at::randn({2, positions, heads, each.width}, at::kDouble).to(dtype);
  };
  return {random(each.queries, each.heads), random(each.keys, each.kv_heads),
          random(each.keys, each.kv_heads)};
}

/// Documents of nine positions; the first of the second sequence ends earlier. [2, queries]
at::Tensor document_starts(const AttentionShape& each) {
  const auto positions = at::arange(each.keys - each.queries, each.keys, at::kInt);
  const auto shift = at::tensor({0, 4}, at::kInt).unsqueeze(1);
  const auto starts = (positions + shift).floor_divide(9) * 9 - shift;
  return starts.clamp_min(0).to(at::kInt);
}

/// Scores [B, heads, queries, keys]; -infinity for keys that a query does not see.
at::Tensor visible_scores(const AttentionShape& each, const Tensors& in, const at::Tensor& starts) {
  const auto k = in[1].repeat_interleave(each.heads / each.kv_heads, 2);
  auto scores = at::matmul(in[0].transpose(1, 2), k.permute({0, 2, 3, 1})) * each.scale;
  if (each.softcap) scores = at::tanh(scores / *each.softcap) * *each.softcap;
  const auto keys = at::arange(each.keys), last = keys.slice(0, each.keys - each.queries);
  const auto hidden = (keys > last.unsqueeze(1)).logical_or(keys < starts.unsqueeze(2));
  return scores.masked_fill(hidden.unsqueeze(1), -std::numeric_limits<double>::infinity());
}

Tensors formula(const AttentionShape& each, const Tensors& in, const at::Tensor& starts) {
  const auto v = in[2].repeat_interleave(each.heads / each.kv_heads, 2).transpose(1, 2);
  return {at::matmul(at::softmax(visible_scores(each, in, starts), -1), v).transpose(1, 2)};
}

Tensors in_double(const Tensors& tensors) {
  Tensors wide;
  for (const auto& each : tensors) wide.push_back(each.to(at::kDouble));
  return wide;
}

/// How far apart two are, over the size of the exact one.
double relative_error(const at::Tensor& actual, const at::Tensor& exact) {
  const auto size = exact.norm().item<double>();
  return (actual.to(at::kDouble) - exact).norm().item<double>() / (size == 0 ? 1 : size);
}

// The bound in bfloat16: results and weights are rounded, each by 2^-9 at most; gradients are
// products of such.
void expect_formula(const AttentionShape& shape) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    const auto in = attention_inputs(shape, dtype);
    const auto dy = at::randn(in[0].sizes(), at::kDouble).to(dtype);
    for (const bool has_documents : {false, true}) {
      const auto starts =
          has_documents ? document_starts(shape) : at::zeros({2, shape.queries}, at::kInt);
      const auto own = [&](const Tensors& x) {
        return Tensors{ops::causal_attention(x[0], x[1], x[2], shape.scale, shape.softcap,
                                             has_documents ? std::optional(starts) : std::nullopt)};
      };
      const auto exact = [&](const Tensors& x) { return formula(shape, x, starts); };
      const double bound = dtype == at::kFloat ? 2e-6 : 8e-3;
      EXPECT_LE(relative_error(own(in)[0], exact(in_double(in))[0]), bound) << dtype;
      const auto got = gradients(own, in, {dy});
      const auto wanted = gradients(exact, in_double(in), {dy.to(at::kDouble)});
      for (std::size_t i = 0; i < got.size(); ++i) {
        const double size = wanted[i].abs().max().item<double>();
        if (size < 1e-12) continue;  // of one key: 0 but for rounding
        EXPECT_LE(relative_error(got[i], wanted[i]), 2 * bound) << dtype << ", input " << i;
      }
    }
  }
}

void expect_largest_scores(const AttentionShape& shape) {
  for (const auto dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
    const auto in = attention_inputs(shape, dtype);
    for (const auto& starts : {document_starts(shape), at::zeros({2, shape.queries}, at::kInt)}) {
      const auto wanted = visible_scores(shape, in_double(in), starts).amax({0, 2, 3});
      const auto got = ops::largest_scores(in[0], in[1], shape.scale, starts);
      EXPECT_TRUE(close(got, wanted, 1e-6, 1e-6)) << dtype;
    }
  }
}

class EmulatedAttention : public ::testing::TestWithParam<AttentionShape> {};

TEST_P(EmulatedAttention, IsItsFormulaWithAndWithoutDocuments) {
  expect_formula(GetParam());
}

TEST_P(EmulatedAttention, HasTheLargestScoreOfEachHead) {
  if (GetParam().softcap) GTEST_SKIP() << "scores before the cap";
  expect_largest_scores(GetParam());
}

// Cards of compute capability 8.6, 8.9 and 12.0: smaller tiles.
TEST(EmulatedAttentionSizes, FitIntoASmallCard) {
  const auto usual = std::exchange(emulated::card().shared_bytes, std::size_t{99} << 10);
  for (const std::int64_t width : {40, 64, 128, 256}) {
    const AttentionShape shape{40, 70, 2, 1, width, {}};
    expect_formula(shape);
    expect_largest_scores(shape);
  }
  emulated::card().shared_bytes = usual;
}

TEST(EmulatedAttentionInputs, TakeHeadsAtAnyAddress) {
  const AttentionShape shape{24, 24, 2, 1, 16, {}};
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    const auto in = attention_inputs(shape, dtype);
    const auto wanted = fused_attention(shape, in)[0];
    Tensors shifted;
    for (const auto& each : in) {
      const auto memory = at::empty({each.numel() + 1}, each.options());
      shifted.push_back(memory.slice(0, 1).view(each.sizes()));
      shifted.back().copy_(each);
    }
    EXPECT_TRUE(fused_attention(shape, shifted)[0].equal(wanted)) << dtype;
  }
}

// FlashAttention itself runs on a GPU only; a copy for each token and layer would cost more than
// it.
TEST(CudaKernelsOfLibraries, ReadTheFilledPartOfACacheInPlace) {
  const auto operand = [](const at::Tensor& cache) {
    const auto filled = cache.narrow(2, 0, 5).transpose(1, 2);  // [B, positions, kv, D]
    const auto taken = ops::flash_operand(filled);
    EXPECT_TRUE(taken.narrow(-1, 0, filled.size(-1)).equal(filled));
    return std::pair(filled, taken);
  };
  const auto cache = at::randn({2, 3, 9, 16}).to(at::kBFloat16);
  const auto [filled, taken] = operand(cache);
  EXPECT_TRUE(taken.is_same(filled));
  // An odd width, an odd stride, an address that is no multiple of 16: copies.
  const auto memory = at::randn({2, 3, 9, 24}).to(at::kBFloat16);
  EXPECT_EQ(operand(at::randn({2, 3, 9, 12}).to(at::kBFloat16)).second.size(-1), 16);
  EXPECT_TRUE(operand(memory.narrow(-1, 4, 16)).second.is_contiguous());
  EXPECT_TRUE(
      operand(at::randn({2, 3, 9, 20}).to(at::kBFloat16).narrow(-1, 0, 16)).second.is_contiguous());
}

INSTANTIATE_TEST_SUITE_P(Shapes, EmulatedAttention, ::testing::ValuesIn(kSmallShapes));

}  // namespace
}  // namespace evenkeel::testing
