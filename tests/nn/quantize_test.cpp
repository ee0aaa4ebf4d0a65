// SPDX-License-Identifier: Apache-2.0
// Model::quantize(): int8 weights of all linear layers.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <string>

#include "evenkeel/nn/model.h"
#include "evenkeel/ops/linear/int8_linear.h"
#include "support/tiny_model.h"

namespace evenkeel::nn {
namespace {

using testing::TinyModel;

norm::Shape shape_of(bool has_experts) {
  auto shape = testing::tiny_shape(2);
  if (has_experts) shape.experts = {.count = 4, .active = 2, .shared = 1};
  return shape;
}

/// The logits of 6 windows, and their loss. [6 * 16 + 1, V]
at::Tensor results_of(const TinyModel& tiny) {
  const at::NoGradGuard no_grad;
  const auto ids = testing::fixed_token_ids(6, 16);
  const auto x = tiny.model->hidden(ids);
  const auto logits = tiny.model->logits(x).flatten(0, 1).to(at::kDouble);
  const auto loss = tiny.model->loss_sum_of(x, ids).to(at::kDouble) / ids.numel();
  return at::cat({logits, loss.expand({1, logits.size(1)})});
}

/// Replaces each matrix of a linear layer by its int8 approximation.
void round_weights(const TinyModel& tiny) {
  for (const auto& parameter : tiny.parameters->all()) {
    const bool is_linear = parameter.name.ends_with("weight") && parameter.shape.size() > 1 &&
                           parameter.name != "embedding.weight" &&
                           !parameter.name.ends_with("router.weight");
    if (!is_linear) continue;
    parameter.master.copy_(ops::dequantized(ops::quantize_rows(parameter.master), at::kDouble));
  }
  tiny.parameters->copy_masters_to_values();
}

TEST(Quantize, IsTheModelWithRoundedWeights) {
  for (const char* const scheme : {"pre_norm", "hybrid_norm_star", "hybrid_norm_7b"}) {
    for (const bool has_experts : {false, true}) {
      for (const bool fused : {true, false}) {
        SCOPED_TRACE(std::string(scheme) + (has_experts ? ", experts" : "") +
                     (fused ? "" : ", unfused"));
        const auto shape = shape_of(has_experts);
        const ModelOptions options{.tied = false, .fused = fused};
        const TinyModel rounded(scheme, Precision::float64, options, shape);
        const TinyModel quantized(scheme, Precision::float64, options, shape);
        const auto before = results_of(quantized);
        round_weights(rounded);
        quantized.model->quantize();
        const auto wanted = results_of(rounded), found = results_of(quantized);
        EXPECT_TRUE(found.allclose(wanted, 1e-11, 1e-11)) << (found - wanted).abs().max();
        EXPECT_FALSE(found.allclose(before, 1e-6, 1e-6));
      }
    }
  }
}

// 16-bit activations of int8_linear(), and rounding to bfloat16.
TEST(Quantize, IsCloseInFloat32AndBfloat16) {
  for (const bool has_experts : {false, true}) {
    for (const auto precision : {Precision::float32, Precision::bfloat16}) {
      const TinyModel exact("hybrid_norm_star", Precision::float64, {}, shape_of(has_experts));
      const TinyModel quantized("hybrid_norm_star", precision, {}, shape_of(has_experts));
      exact.model->quantize();
      quantized.model->quantize();
      const auto wanted = results_of(exact);
      const auto error = (results_of(quantized) - wanted).abs().mean().item<double>();
      EXPECT_LT(error / wanted.abs().mean().item<double>(),
                precision == Precision::float32 ? 1e-3 : 0.1);
    }
  }
}

// The weights that these schemes compute from their parameters are what is rounded.
TEST(Quantize, RoundsReparameterizedWeights) {
  for (const char* const scheme : {"weight_norm", "sigma_reparam"}) {
    const TinyModel tiny(scheme);
    const auto before = results_of(tiny);
    tiny.model->quantize();
    const auto error = (results_of(tiny) - before).abs().max().item<double>();
    EXPECT_GT(error, 1e-6) << scheme;
    EXPECT_LT(error, 0.05 * before.abs().max().item<double>()) << scheme;
  }
}

TEST(Quantize, KeepsTheScaleOfEachRow) {
  const auto w = at::tensor({1.0, -254.0, 0.0, 0.0, 127.0, 63.5}, at::kFloat).view({3, 2});
  const auto int8 = ops::quantize_rows(w);
  EXPECT_TRUE(int8.values.equal(at::tensor({0, -127, 0, 0, 127, 64}, at::kChar).view({3, 2})));
  EXPECT_TRUE(int8.scale.equal(at::tensor({2.0, 0.0, 1.0}, at::kFloat)));
  const auto spoiled = at::tensor({1.0, NAN}, at::kFloat).view({1, 2});
  EXPECT_TRUE(ops::dequantized(ops::quantize_rows(spoiled), at::kFloat).isnan().all().item<bool>());
}

}  // namespace
}  // namespace evenkeel::nn
