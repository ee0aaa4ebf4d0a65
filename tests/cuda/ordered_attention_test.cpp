// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>
#include <vector>

#include "evenkeel/nn/attention.h"
#include "evenkeel/ops/attention/cudnn_backward.h"
#include "evenkeel/ops/common/compute_device.h"
#include "evenkeel/ops/common/gpu.h"
#include "ops/gradients.h"

// The deterministic gradients of cuDNN against those of FlashAttention 2, and the libraries' other
// promises.
namespace evenkeel::testing {
namespace {

using at::Tensor;
using ops::AttentionResults;

// `kernels.attention = "flash"`: LibTorch adds to dq in any order, with cuDNN, with FlashAttention
// 2 and with the kernels for float32.
TEST(FlashPath, HasTheSameBitsEveryTime) {
  if (ops::gpu_count() == 0) GTEST_SKIP() << "no GPU was found";
  ops::set_compute_device({at::kCUDA, 0});
  at::manual_seed(0);
  const auto attend = [](const Tensors& in) {
    const nn::AttentionInputs inputs{
        .q = in[0], .k = in[1], .v = in[2], .scale = 0.125, .softcap = {}, .document_starts = {}};
    return Tensors{nn::causal_attention(inputs, nn::AttentionPath::flash)};
  };
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    const auto random = [&](std::int64_t heads) {
      return at::randn({4, heads, 2048, 64}, at::device(at::kCUDA).dtype(dtype));
    };
    const Tensors in = {random(8), random(8), random(8)};
    const auto dy = random(8);
    const auto first = gradients(attend, in, {dy});
    for (int repetition = 0; repetition < 5; ++repetition) {
      const auto again = gradients(attend, in, {dy});
      for (std::size_t i = 0; i < first.size(); ++i) {
        EXPECT_TRUE(first[i].equal(again[i])) << dtype << ", input " << i;
      }
    }
  }
}

// Keys and values of a cache, [B, kv, positions, D], of which some positions are filled.
TEST(FlashPath, ReadsACacheWithTheSameBits) {
  if (ops::gpu_count() == 0) GTEST_SKIP() << "no GPU was found";
  ops::set_compute_device({at::kCUDA, 0});
  at::manual_seed(0);
  const auto options = at::device(at::kCUDA).dtype(at::kBFloat16);
  const auto filled = [&](const Tensor& cache) { return cache.narrow(2, 0, 77).transpose(1, 2); };
  const auto k = filled(at::randn({3, 2, 128, 64}, options));
  const auto v = filled(at::randn({3, 2, 128, 64}, options));
  for (const std::int64_t queries : {1, 5}) {
    const auto q = at::randn({3, queries, 8, 64}, options);
    const auto [y, lse] = ops::flash_attention(q, k, v, 0.125);
    const auto [y_dense, lse_dense] =
        ops::flash_attention(q, k.contiguous(), v.contiguous(), 0.125);
    EXPECT_TRUE(y.equal(y_dense) && lse.equal(lse_dense)) << queries;
  }
}

struct AttentionShape {
  std::int64_t batch, length, heads, kv_heads, width;
};

class OrderedAttention : public ::testing::TestWithParam<AttentionShape> {
 protected:
  void SetUp() override {
    if (ops::gpu_count() == 0) GTEST_SKIP() << "no GPU was found";
    ops::set_compute_device({at::kCUDA, 0});
    at::manual_seed(0);
    const auto& [batch, length, heads, kv_heads, width] = GetParam();
    scale_ = 1 / std::sqrt(static_cast<double>(width));
    const auto options = at::device(at::kCUDA).dtype(at::kBFloat16);
    in_.q = at::randn({batch, length, heads, width}, options);
    in_.k = at::randn({batch, length, kv_heads, width}, options);
    in_.v = at::randn({batch, length, kv_heads, width}, options);
    in_.dy = at::randn({batch, length, heads, width}, options);
    if (!ops::takes_ordered_cudnn(in_.q, in_.k, scale_)) {
      GTEST_SKIP() << "no deterministic gradients of attention by cuDNN";
    }
    std::tie(in_.y, in_.lse) = ops::cudnn_attention(in_.q, in_.k, in_.v, scale_);
  }

  /// dq, dk and dv of the sequences first, first + 1, ... of the batch.
  std::vector<Tensor> gradients(std::int64_t first, std::int64_t count) {
    const auto part = [&](const Tensor& x) { return x.narrow(0, first, count); };
    const auto [dq, dk, dv] = ops::ordered_cudnn_backward({.dy = part(in_.dy),
                                                           .q = part(in_.q),
                                                           .k = part(in_.k),
                                                           .v = part(in_.v),
                                                           .y = part(in_.y),
                                                           .lse = part(in_.lse)},
                                                          scale_);
    return {dq, dk, dv};
  }

  AttentionResults in_;
  double scale_ = 1;
};

TEST_P(OrderedAttention, IsCloseToFlashAttention) {
  const auto got = gradients(0, in_.q.size(0));
  const auto [dq, dk, dv] = ops::flash_attention_backward(in_, scale_, /*is_ordered=*/true);
  const std::vector<Tensor> wanted = {dq, dk, dv};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    // Both round probabilities, their gradients and the result to bfloat16.
    const double largest = wanted[i].abs().max().to(at::kDouble).item<double>();
    const auto error = (got[i].to(at::kFloat) - wanted[i].to(at::kFloat)).abs().max();
    EXPECT_LE(error.item<double>(), 0x1p-6 * largest) << "gradient " << i;
  }
}

TEST_P(OrderedAttention, HasTheSameBitsEveryTime) {
  const auto first = gradients(0, in_.q.size(0));
  for (int repetition = 0; repetition < 5; ++repetition) {
    const auto again = gradients(0, in_.q.size(0));
    for (std::size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(first[i].equal(again[i]));
  }
}

TEST_P(OrderedAttention, ComputesEverySequenceAlone) {
  const auto all = gradients(0, in_.q.size(0));
  const auto last = in_.q.size(0) - 1;
  const auto alone = gradients(last, 1);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto error = (all[i].narrow(0, last, 1) - alone[i]).abs().max().to(at::kDouble);
    const double largest = alone[i].abs().max().to(at::kDouble).item<double>();
    EXPECT_LE(error.item<double>(), 0x1p-7 * largest) << "gradient " << i;
  }
}

TEST_P(OrderedAttention, TakesStrides) {
  const auto dense = gradients(0, in_.q.size(0));
  for (auto* const each : {&in_.q, &in_.k, &in_.v, &in_.dy}) {
    *each = each->transpose(1, 2).contiguous().transpose(1, 2);
  }
  const auto strided = gradients(0, in_.q.size(0));
  for (std::size_t i = 0; i < dense.size(); ++i) EXPECT_TRUE(dense[i].equal(strided[i]));
}

// The workspaces of the last two need slices of the batch; the last one leaves a smaller slice.
INSTANTIATE_TEST_SUITE_P(Shapes, OrderedAttention,
                         ::testing::Values(AttentionShape{2, 256, 4, 4, 64},
                                           AttentionShape{3, 1024, 16, 4, 48},
                                           AttentionShape{2, 2048, 8, 2, 128},
                                           AttentionShape{6, 4096, 16, 4, 96},
                                           AttentionShape{5, 4096, 16, 4, 48}));

}  // namespace
}  // namespace evenkeel::testing
