// SPDX-License-Identifier: Apache-2.0
// Model::quantize(): int8 weights of all linear layers.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "evenkeel/nn/matrix.h"
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

struct QuantizeCase {
  const char* scheme;
  norm::Experts experts = {};
  bool fused = true;
  bool tied = false;
};

TinyModel model_of(const QuantizeCase& one, Precision precision) {
  auto shape = testing::tiny_shape(2);
  shape.experts = one.experts;
  return TinyModel(one.scheme, precision, {.tied = one.tied, .fused = one.fused}, shape);
}

void expect_rounded_weights(const QuantizeCase& one, Int8Use use) {
  SCOPED_TRACE(one.scheme);
  const auto rounded = model_of(one, Precision::float64);
  const auto quantized = model_of(one, Precision::float64);
  const auto before = results_of(quantized);
  round_weights(rounded);
  quantized.model->quantize(use);
  const auto wanted = results_of(rounded), found = results_of(quantized);
  EXPECT_TRUE(found.allclose(wanted, 1e-11, 1e-11)) << (found - wanted).abs().max();
  EXPECT_FALSE(found.allclose(before, 1e-6, 1e-6));
}

TEST(Quantize, IsTheModelWithRoundedWeights) {
  const norm::Experts experts = {.count = 4, .active = 2, .shared = 1};
  const norm::Experts later_experts = {.count = 4, .active = 2, .dense_layers = 1};
  for (const auto use : {Int8Use::decoding, Int8Use::evaluation}) {
    for (const char* const scheme : {"pre_norm", "hybrid_norm_star", "hybrid_norm_7b"}) {
      expect_rounded_weights({.scheme = scheme}, use);
      expect_rounded_weights({.scheme = scheme, .fused = false}, use);
      expect_rounded_weights({.scheme = scheme, .experts = experts}, use);
      expect_rounded_weights({.scheme = scheme, .experts = experts, .fused = false}, use);
      expect_rounded_weights({.scheme = scheme, .experts = later_experts}, use);
    }
    expect_rounded_weights({.scheme = "ngpt"}, use);  // a learned scale of the logits
    expect_rounded_weights({.scheme = "rybakov_soft_cap"}, use);
  }
}

// The embedding keeps its values, and the head gets rounded ones.
TEST(Quantize, RoundsTheHeadOfATiedModel) {
  const at::NoGradGuard no_grad;
  for (const auto use : {Int8Use::decoding, Int8Use::evaluation}) {
    const TinyModel tiny("pre_norm");
    const auto x = at::randn({5, 16}, at::kDouble);
    const auto embedding = tiny.parameters->at("embedding.weight").value;
    const auto before = embedding.clone();
    tiny.model->quantize(use);
    const auto head = ops::dequantized(ops::quantize_rows(embedding.narrow(0, 0, 31)), at::kDouble);
    EXPECT_TRUE(tiny.model->logits(x).allclose(at::linear(x, head), 1e-12, 1e-12));
    EXPECT_TRUE(embedding.equal(before));
  }
}

/// Expects that the memory of all matrices is free after release(), and that the results stay.
void expect_unread_weights(const QuantizeCase& one, Int8Use use) {
  SCOPED_TRACE(one.scheme);
  const auto tiny = model_of(one, Precision::float32);
  tiny.model->quantize(use);
  const auto wanted = results_of(tiny);
  std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>> memory;
  for (const auto& group : tiny.parameters->groups()) {
    if (group.role != ParameterRole::matrix) continue;
    memory.push_back(group.value.storage().getWeakStorageImpl());
    memory.push_back(group.gradient.storage().getWeakStorageImpl());
  }
  EXPECT_EQ(memory.size(), 2U);
  tiny.parameters->release(ParameterRole::matrix);
  for (const auto& each : memory) EXPECT_TRUE(each.expired());
  EXPECT_TRUE(results_of(tiny).equal(wanted));
  const auto& qkv = tiny.parameters->at("blocks.0.attention.qkv.weight");
  EXPECT_FALSE(qkv.value.defined());
  EXPECT_EQ(qkv.shape.size(), 2U);
  EXPECT_TRUE(tiny.parameters->at("embedding.weight").value.defined());
}

TEST(Quantize, ReadsNoFloatWeightsOfMatrices) {
  const norm::Experts experts = {.count = 4, .active = 2, .shared = 1};
  for (const auto use : {Int8Use::decoding, Int8Use::evaluation}) {
    for (const bool fused : {true, false}) {
      expect_unread_weights({.scheme = "pre_norm", .fused = fused}, use);
      expect_unread_weights({.scheme = "pre_norm", .fused = fused, .tied = true}, use);
      expect_unread_weights({.scheme = "pre_norm", .experts = experts, .fused = fused}, use);
    }
    for (const char* const scheme : {"ngpt", "weight_norm", "sigma_reparam", "hybrid_norm_7b"}) {
      expect_unread_weights({.scheme = scheme}, use);
    }
  }
}

// 16-bit activations of int8_linear(), and rounding to bfloat16.
TEST(Quantize, IsCloseInFloat32AndBfloat16) {
  for (const bool has_experts : {false, true}) {
    for (const auto precision : {Precision::float32, Precision::bfloat16}) {
      const TinyModel exact("hybrid_norm_star", Precision::float64, {}, shape_of(has_experts));
      const TinyModel quantized("hybrid_norm_star", precision, {}, shape_of(has_experts));
      exact.model->quantize(Int8Use::decoding);
      quantized.model->quantize(Int8Use::decoding);
      const auto wanted = results_of(exact);
      const auto error = (results_of(quantized) - wanted).abs().mean().item<double>();
      EXPECT_LT(error / wanted.abs().mean().item<double>(),
                precision == Precision::float32 ? 1e-3 : 0.1);
    }
  }
}

// The computed weights are rounded, not the stored matrices.
TEST(Quantize, RoundsReparameterizedWeights) {
  at::manual_seed(1);
  const auto v = at::randn({6, 8}, at::kDouble), gain = at::rand({6}, at::kDouble) + 0.5;
  for (const auto use : {Int8Use::decoding, Int8Use::evaluation}) {
    Matrix matrix(v, {{.rows = 6, .row_gain = gain}});
    const auto weight = matrix(Mode::evaluation);
    matrix.quantize(use);
    EXPECT_TRUE(
        matrix(Mode::evaluation).equal(ops::dequantized(ops::quantize_rows(weight), at::kDouble)));
  }
}

TEST(Quantize, KeepsTheScaleOfEachRow) {
  const auto w = at::tensor({1.0, -254.0, 0.0, 0.0, 127.0, 63.5}, at::kFloat).view({3, 2});
  const auto int8 = ops::quantize_rows(w);
  EXPECT_TRUE(int8.values.equal(at::tensor({0, -127, 0, 0, 127, 64}, at::kChar).view({3, 2})));
  EXPECT_TRUE(int8.scale.equal(at::tensor({2.0, 0.0, 1.0}, at::kFloat)));
  for (const double value : {double{NAN}, double{INFINITY}}) {
    const auto spoiled = at::tensor({1.0, value}, at::kFloat).view({1, 2});
    const auto product = ops::int8_linear(at::ones({1, 2}), ops::quantize_rows(spoiled));
    EXPECT_TRUE(product.isnan().all().item<bool>()) << value;
  }
}

// More rows than a block of quantize_rows() and of int8_linear().
TEST(Quantize, RoundsBlocksOfManyRows) {
  at::manual_seed(1);
  const auto w = at::randn({2, 4100, 8}, at::kFloat);
  const auto int8 = ops::quantize_rows(w);
  const auto scale = w.abs().amax(-1) / 127;
  EXPECT_TRUE(int8.scale.equal(scale));
  EXPECT_TRUE(int8.values.equal((w / scale.unsqueeze(-1)).round().to(at::kChar)));
  const auto x = at::randn({70, 8}, at::kFloat);
  const auto wanted = at::linear(x, ops::dequantized(int8.select(1), at::kFloat));
  EXPECT_TRUE(ops::int8_linear(x, int8.select(1)).allclose(wanted, 1e-5, 1e-5));
}

TEST(Quantize, GivesARowTheSameBitsAmongFewRows) {
  at::manual_seed(1);
  const auto int8 = ops::quantize_rows(at::randn({37, 48}, at::kFloat));
  const auto x = at::randn({ops::kFewRowsOfInt8, 48}, at::kFloat);
  const auto together = ops::int8_linear(x, int8);
  for (std::int64_t i = 0; i < x.size(0); ++i) {
    EXPECT_TRUE(ops::int8_linear(x[i], int8).equal(together[i])) << i;
  }
}

}  // namespace
}  // namespace evenkeel::nn
