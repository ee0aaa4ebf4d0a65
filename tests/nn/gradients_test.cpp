// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <ostream>
#include <string>

#include "evenkeel/nn/residual.h"
#include "support/close.h"
#include "support/tiny_model.h"

// Gradients of small models against finite differences of their loss, in float64: every slot, tap,
// trained number and update.
namespace evenkeel {
namespace {

using nn::Mode;
using nn::Precision;
using testing::fixed_token_ids;
using testing::TinyModel;

struct GradientCase {
  const char* name;
  const char* toml;  // a scheme
  Mode mode = Mode::evaluation;
};

const GradientCase kCases[] = {
    {"EverySlot", R"(embedding = { norm = "norm" }
                     final = "norm"
                     [attention]
                     input = "norm"
                     q = "norm per head"
                     k = "norm per head"
                     v = "norm per head"
                     context = "norm per head"
                     output = "norm"
                     residual = "norm"
                     [feed_forward]
                     input = "norm"
                     hidden = "norm"
                     output = "norm"
                     residual = "norm")"},
    {"EverySlotOverAllHeads",
     R"(norm = "layer_norm"
        attention = { input = "norm", q = "norm", k = "norm", v = "norm", context = "norm" }
        feed_forward = { hidden = "norm", output = "norm" })"},
    {"NormAfterRotation",
     R"([attention]
        q = { rope = "before" }
        k = { rope = "before", scope = "head", heads_share = false })"},
    {"ScalarGainPerHead",
     R"([attention]
        context = { kind = "scale", scope = "head", affine = "scalar", heads_share = false })"},
    {"EpsilonOutside", R"(extends = "pre_norm"
                          norm = { kind = "rms_norm", epsilon = 0.1, epsilon_at = "outside" })"},
    {"Partial", R"(extends = "pre_norm"
                   norm = { kind = "rms_norm", partial = 0.25 })"},
    {"StoredGain", R"(extends = "pre_norm"
                      norm_parameters = "4*N*d + 2*d"
                      [norm]
                      kind = "rms_norm"
                      affine = "vector+bias"
                      gain_init = 0.5
                      stored_at = 2
                      out_scale = 3)"},
    {"ZeroCentredGain", R"(extends = "pre_norm"
                           norm = { kind = "rms_norm", gain_form = "1+w" })"},
    {"L2", R"([attention]
              q = { kind = "l2", affine = "vector" }
              k = "l2 per head"
              score_scale = 3)"},
    {"ScaleNorm", "extends = 'pre_norm'\nnorm = 'scale_norm'\nnorm_parameters = '2*N + 1'"},
    {"GroupNorm", "attention = { input = { kind = 'group_norm', groups = 4 } }"},
    {"Dyt", "extends = 'dyt'"},
    {"Derf", "extends = 'derf'"},
    {"SeedNorm", R"(attention = { input = "seed_norm" }
                    feed_forward = { hidden = "seed_norm" })"},
    {"BatchNorm", "extends = 'batch_norm'", Mode::training},
    {"BatchNormInEvaluation", "extends = 'batch_norm'"},
    {"BatchRenorm", "attention = { input = { kind = 'batch_renorm', allow_leakage = true } }",
     Mode::training},
    {"BatchRenormInEvaluation", "extends = 'batch_renorm'"},
    {"InstanceNorm", "extends = 'instance_norm'"},
    {"NormedSkip", "extends = 'hybrid_norm_star'"},
    {"SeveralTaps", R"(attention = { input = "norm", skip = ["stream", "normed"] }
                       [feed_forward]
                       input = "norm"
                       skip = ["block_input", "normed", "stream"])"},
    {"ScaledSkip", R"(attention = { skip_scale = { learned = "scalar", init = 2 } }
                      feed_forward = { skip_scale = { learned = "vector", init = "l" } })"},
    {"ScaledBranch",
     R"(attention = { branch_scale = { learned = "vector", init = 0.5, stored_at = 2 } }
        feed_forward = { branch_scale = { learned = "scalar", init = 0.3, through = "exp" } })"},
    {"ThroughAbs",
     "attention = { branch_scale = { learned = 'vector', init = 0.1, through = 'abs' } }"},
    {"ThroughSilu",
     "attention = { branch_scale = { learned = 'vector', init = 0, through = 'silu' } }"},
    {"LearnedScoreScale", "attention = { score_scale = { learned = 'scalar', init = 0.5 } }"},
    {"LearnedScoreScalePerHead",
     R"([attention.score_scale]
        learned = "per_head"
        init = 2
        through = "exp"
        at_most = 2)"},
    {"LearnedProducts",
     "feed_forward = { up_gate_scale = { learned = 'vector', init = 1, stored_at = 0.1 } }"},
    {"OneLearnedProductScale",
     "feed_forward = { up_gate_scale = { learned = 'scalar', init = 1.5 } }"},
    {"LearnedEnds", R"(embedding = { scale = { learned = "vector", init = 1 } }
                       logits = { scale = { learned = "vector", init = 0.5 }, softcap = 3 })"},
    {"LearnedEndsOfOneValue", R"(embedding = { scale = { learned = "scalar", init = 2 } }
                                 logits = { scale = { learned = "scalar", init = 0.5 } })"},
    {"SoftCap", "attention = { softcap = 2 }"},
    {"Sphere", "extends = 'ngpt'"},
    {"SphereWithFixedStep",
     R"(attention = { update = "sphere", branch_scale = 0.3, skip_scale = 2 }
        feed_forward = { update = "sphere", input = "norm", skip = "normed" })"},
    {"Geodesic", "extends = 'geo_norm'"},
    {"GeodesicOfShortSteps",
     R"(attention = { update = "geodesic", branch_scale = 0.02, angle_decay = "1/l" }
        feed_forward = { update = "geodesic", branch_scale = 0.02 })"},
    {"TwoStreams", "extends = 'resi_dual'"},
    {"TwoStreamsReadTogether", "extends = 'siamese_norm'"},
    {"TwoStreamsNormedTogether", "extends = 'siamese_norm_hybrid'"},
    {"TwoStreamsScaled",
     "dual = { read = 'x', output = 'x + norm(y)', write_y = 0.5, y_init = 2 }\nfinal = 'norm'"},
    {"Parallel", R"(layout = "parallel"
                    [attention]
                    input = "norm"
                    output = "norm"
                    residual = "norm"
                    skip = ["stream", "normed"]
                    branch_scale = { learned = "vector", init = 1 }
                    [feed_forward]
                    input = "norm"
                    output = "norm"
                    branch_scale = { learned = "scalar", init = 2 })"},
    {"ParallelOfOneRead", "extends = 'vit22b'"},
    {"WeightNorm", "extends = 'weight_norm'"},
    {"SigmaReparam", "extends = 'sigma_reparam'"},
};

void PrintTo(const GradientCase& each, std::ostream* out) {
  *out << each.name;
}

class Gradients : public ::testing::TestWithParam<GradientCase> {
 protected:
  Gradients()
      : tiny_(config::inline_scheme(GetParam().toml, "."), Precision::float64, {},
              testing::tiny_shape(2)) {}

  at::Tensor loss() const {
    return tiny_.model->loss_sum(ids_, ids_.roll(-1, 1), {.mode = GetParam().mode});
  }

  /// (8 (L(h) - L(-h)) - (L(2h) - L(-2h))) / 12h, for L at a distance along one direction
  double slope(at::Tensor value, const at::Tensor& direction) const {
    constexpr double kStep = 1e-4;
    const at::NoGradGuard no_grad;
    const auto start = value.clone();
    const auto at = [&](double distance) {
      value.copy_(start + distance * direction);
      const auto there = loss().item<double>();
      value.copy_(start);
      return there;
    };
    const double near = at(kStep) - at(-kStep);
    const double far = at(2 * kStep) - at(-2 * kStep);
    return (8 * near - far) / (12 * kStep);
  }

  TinyModel tiny_;
  at::Tensor ids_ = fixed_token_ids(2, 6);
};

TEST_P(Gradients, AreThoseOfTheLoss) {
  tiny_.parameters->zero_gradients();
  loss().backward();
  tiny_.parameters->accumulate_gradients();
  at::manual_seed(3);
  for (const auto& parameter : tiny_.parameters->all()) {
    const auto random = at::randn(parameter.shape, at::kDouble);
    const auto direction = random / random.norm();
    const auto expected = (parameter.gradient_buffer.value() * direction).sum().item<double>();
    EXPECT_NEAR(slope(parameter.master, direction), expected, 2e-7 * (1 + std::abs(expected)))
        << parameter.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Gradients, ::testing::ValuesIn(kCases),
                         [](const auto& one) { return std::string(one.param.name); });

/// ln(10) + 0.5, limited to 2: the value is 2, and its parameter gets no gradient.
TEST(Factor, GivesNoGradientAboveItsBound) {
  norm::Learned learned{.init = 10, .transform = norm::Learned::Transform::exp};
  learned.at_most = 2;
  const auto parameter = at::tensor({2.8, 0.5}, at::kDouble).requires_grad_();
  const nn::Factor factor(learned, {}, parameter);
  const auto value = factor.value();
  EXPECT_TRUE(testing::close(value, at::tensor({2.0, std::exp(0.5)}, at::kDouble), 1e-15, 0));
  const auto slope = torch::autograd::grad({value.sum()}, {parameter})[0];
  EXPECT_TRUE(testing::close(slope, at::tensor({0.0, std::exp(0.5)}, at::kDouble), 1e-15, 0));
}

// s - damp * stop_gradient(s): the gradient of s is ds, that of damp is -sum(ds s).
TEST(Damp, TakesAFractionAwayWithoutAGradient) {
  at::manual_seed(5);
  const auto damp = at::tensor({0.25}, at::kDouble).requires_grad_();
  const auto skip = at::randn({2, 3, 8}, at::kDouble).requires_grad_();
  const auto branch = at::randn({2, 3, 8}, at::kDouble).requires_grad_();
  nn::ResidualRule rule{.skip = {norm::Tap::stream}};
  rule.damp = nn::Factor(norm::Learned{}, {}, damp);
  auto stream = nn::residual_update(rule, {.stream = skip}, branch, Mode::training);
  const auto sum = (skip + branch).detach();
  EXPECT_TRUE(testing::close(stream.value(), 0.75 * sum, 1e-14, 1e-15));
  const auto dy = at::randn({2, 3, 8}, at::kDouble);
  const auto got = torch::autograd::grad({stream.value()}, {skip, branch, damp}, {dy});
  EXPECT_TRUE(testing::close(got[0], dy, 0, 0));
  EXPECT_TRUE(testing::close(got[1], dy, 0, 0));
  EXPECT_TRUE(testing::close(got[2], -(dy * sum).sum().view({1}), 1e-13, 0));
}

// x = 0 has no direction: the step is x + g, with finite gradients.
TEST(Geodesic, AddsToAStreamOfZeros) {
  const auto zeros = at::zeros({1, 2, 8}, at::kDouble).requires_grad_();
  const auto branch = at::ones({1, 2, 8}, at::kDouble).requires_grad_();
  const nn::ResidualRule rule{.skip = {norm::Tap::stream},
                              .update = norm::Update::geodesic,
                              .angle_scale = at::ones({1}, at::kDouble),
                              .angle_bias = at::zeros({1}, at::kDouble)};
  auto stream = nn::residual_update(rule, {.stream = zeros}, branch, Mode::training);
  EXPECT_TRUE(stream.value().equal(branch));
  const auto got = torch::autograd::grad({stream.value().sum()}, {zeros, branch});
  EXPECT_TRUE(got[0].isfinite().all().item<bool>());
  EXPECT_TRUE(got[1].equal(at::ones_like(branch)));
}

// The length of the stream stays, and it turns by at most pi/4.
TEST(Geodesic, KeepsTheLengthOfTheStream) {
  at::manual_seed(6);
  const auto skip = at::randn({4, 8}, at::kDouble);
  const nn::ResidualRule rule{.skip = {norm::Tap::stream},
                              .update = norm::Update::geodesic,
                              .angle_scale = at::ones({1}, at::kDouble),
                              .angle_bias = at::zeros({1}, at::kDouble)};
  auto stream = nn::residual_update(rule, {.stream = skip}, 100 * at::randn({4, 8}, at::kDouble),
                                    Mode::training);
  const auto before = skip.norm(2, -1);
  const auto after = stream.value().norm(2, -1);
  EXPECT_TRUE(testing::close(after, before, 1e-14, 0));
  const auto cosine = (skip * stream.value()).sum(-1) / (before * after);
  EXPECT_TRUE(testing::close(cosine, at::full({4}, std::sqrt(0.5), at::kDouble), 1e-13, 0));
}

}  // namespace
}  // namespace evenkeel
