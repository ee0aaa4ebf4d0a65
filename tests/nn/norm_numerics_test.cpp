// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "evenkeel/nn/norm_layer.h"
#include "evenkeel/norm/kinds.h"
#include "nn/norm_reference.h"

// Every norm kind, forward and all gradients, on rows that ordinary arithmetic gets wrong: each
// result is the true one rounded once, but for a few roundings to float32 where a norm is fused.
namespace evenkeel {
namespace {

using norm::Affine;
using norm::EpsilonAt;
using norm::Kind;
using testing::correctly_rounded;

struct NormCase {
  std::string name;
  norm::Norm norm;
  std::int64_t heads = 1, groups = 1;
};

norm::Norm with(Kind kind, const std::function<void(norm::Norm&)>& change = {}) {
  auto norm = norm::default_norm(kind);
  if (change) change(norm);
  return norm;
}

std::vector<NormCase> cases() {
  const auto per_head = [](bool share, Affine affine) {
    return [=](norm::Norm& norm) {
      norm.scope = norm::Scope::head;
      norm.heads_share = share;
      norm.affine = affine;
    };
  };
  const auto outside = [](norm::Norm& norm) { norm.epsilon_at = EpsilonAt::outside; };
  std::vector<NormCase> all;
  for (const auto& row : norm::kinds()) {
    if (row.axis != norm::StatisticAxis::group) all.push_back({row.name, with(row.kind)});
  }
  all.push_back({"group_norm", with(Kind::group_norm, [](auto& n) { n.groups = 2; }), 1, 2});
  all.push_back({"rms_norm_outside", with(Kind::rms_norm, outside)});
  all.push_back(
      {"rms_norm_clamp", with(Kind::rms_norm, [](auto& n) { n.epsilon_at = EpsilonAt::clamp; })});
  all.push_back({"layer_norm_outside", with(Kind::layer_norm, outside)});
  all.push_back({"l2_inside", with(Kind::l2, [](auto& n) { n.epsilon_at = EpsilonAt::inside; })});
  all.push_back({"detach_norm_mean",
                 with(Kind::detach_norm, [](auto& n) { n.detach = norm::Detach::mean; })});
  all.push_back({"detach_norm_variance",
                 with(Kind::detach_norm, [](auto& n) { n.detach = norm::Detach::variance; })});
  all.push_back({"rms_norm_partial", with(Kind::rms_norm, [](auto& n) { n.partial = 0.25; })});
  all.push_back({"rms_norm_bare", with(Kind::rms_norm, [](auto& n) { n.affine = Affine::none; })});
  all.push_back(
      {"rms_norm_scalar", with(Kind::rms_norm, [](auto& n) { n.affine = Affine::scalar; })});
  all.push_back({"rms_norm_with_bias",
                 with(Kind::rms_norm, [](auto& n) { n.affine = Affine::vector_bias; })});
  all.push_back({"rms_norm_one_plus_w",
                 with(Kind::rms_norm, [](auto& n) { n.gain_form = norm::GainForm::one_plus_w; })});
  all.push_back({"layer_norm_scaled", with(Kind::layer_norm, [](auto& n) {
                   n.out_scale = 0.3;
                   n.gain_init = 0.7;
                   n.stored_at = 3;
                 })});
  all.push_back({"seed_norm_scaled", with(Kind::seed_norm, [](auto& n) {
                   n.out_scale = 0.3;
                   n.gain_init = 0.7;
                   n.stored_at = 3;
                 })});
  all.push_back({"seed_norm_one_plus_w",
                 with(Kind::seed_norm, [](auto& n) { n.gain_form = norm::GainForm::one_plus_w; })});
  all.push_back(
      {"seed_norm_bare", with(Kind::seed_norm, [](auto& n) { n.affine = Affine::none; })});
  all.push_back({"layer_norm_absmax8",
                 with(Kind::layer_norm, [](auto& n) { n.pre_scale = norm::PreScale::absmax8; })});
  all.push_back({"instance_norm_affine",
                 with(Kind::instance_norm, [](auto& n) { n.affine = Affine::vector_bias; })});
  all.push_back({"rms_norm_per_head", with(Kind::rms_norm, per_head(true, Affine::vector)), 4});
  all.push_back({"rms_norm_unshared", with(Kind::rms_norm, per_head(false, Affine::vector)), 4});
  all.push_back({"scale_a_head", with(Kind::scale, per_head(false, Affine::scalar)), 4});
  all.push_back(
      {"layer_norm_unshared", with(Kind::layer_norm, per_head(false, Affine::vector_bias)), 4});
  all.push_back({"seed_norm_unshared", with(Kind::seed_norm, per_head(false, Affine::vector)), 4});
  return all;
}

/// A norm with random parts, and x of hard rows (or columns) for its statistic.
struct NormFixture {
  NormFixture(const NormCase& of, const at::Tensor& rows, bool fused)
      : norm(of.norm), heads(of.heads), groups(of.groups) {
    const auto size = rows.size(1);
    const auto count = rows.size(0);
    if (norm.kind == Kind::instance_norm) {
      x = rows.view({2, count / 2, size}).transpose(1, 2);
    } else if (norm::mixes_tokens(norm.kind)) {
      x = rows.t().unsqueeze(0);
    } else {
      x = rows.view({-1, heads * groups * size});
    }
    x = x.contiguous().requires_grad_();
    const auto width = x.size(-1);
    for (const auto& part : norm::parameters_of(norm, width, heads)) {
      const auto dtype = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
      parts[part.name] = at::randn({part.size}, dtype).requires_grad_();
    }
    nn::NormTensors tensors = {.gain = parts["gain"],
                               .bias = parts["bias"],
                               .alpha = parts["alpha"],
                               .shift = parts["shift"],
                               .beta = parts["beta"]};
    if (!norm::buffers_of(norm, width, heads).empty()) {
      tensors.running_mean = at::zeros({width});
      tensors.running_scale = at::ones({width});
    }
    layer = std::make_unique<nn::NormLayer>(norm, norm::Variables{}, width, heads, tensors, fused);
    dy = at::randn(x.sizes()).to(x.scalar_type());
  }

  testing::NormReference reference() {
    testing::NormInputs in = {.x = testing::values_of(x),
                              .dy = testing::values_of(dy),
                              .gain = testing::values_of(parts["gain"]),
                              .bias = testing::values_of(parts["bias"]),
                              .alpha = testing::values_of(parts["alpha"]),
                              .shift = testing::values_of(parts["shift"]),
                              .beta = testing::values_of(parts["beta"]),
                              .out_scale = norm.out_scale.value({})};
    if (norm.stored_at) in.gain_factor = norm.gain_init.value({}) / norm.stored_at->value({});
    testing::NormEquations equations(norm, std::move(in));
    for (const auto& group :
         testing::statistic_groups(norm, x.numel(), x.size(-1), heads, groups, x.size(-2))) {
      equations.add(group);
    }
    return equations.reference();
  }

  norm::Norm norm;
  std::int64_t heads, groups;
  at::Tensor x, dy;
  std::map<std::string, at::Tensor> parts;
  std::unique_ptr<nn::NormLayer> layer;
};

/// The acting gain and bias are rounded to float32 where a rule changes the stored ones. So is the
/// exponent of derf's slope e^(-x^2), for x up to 9.
testing::Wide uncertainty_of(const norm::Norm& norm, at::ScalarType dtype) {
  if (norm.kind == Kind::derf && dtype == at::kBFloat16) return 0x1p-16L;
  const bool derived = norm.gain_form == norm::GainForm::one_plus_w || norm.stored_at ||
                       norm.out_scale != norm::Expression(1);
  constexpr testing::Wide kOfFloat = 0x1p-22L;
  return derived ? kOfFloat : testing::kDoubleError;
}

/// Whether a fused operator computes in float32: rms_norm and layer_norm always, the norms named
/// here for rows of bfloat16.
bool is_fused_in_float32(Kind kind, at::ScalarType dtype) {
  if (kind == Kind::rms_norm || kind == Kind::layer_norm) return true;
  const std::set<Kind> of_bfloat16 = {Kind::l2, Kind::scale_norm, Kind::group_norm, Kind::dyt,
                                      Kind::derf};
  return dtype == at::kBFloat16 && of_bfloat16.contains(kind);
}

void expect_reference_values(NormFixture& fixture, const std::string& name) {
  const auto y = (*fixture.layer)(fixture.x, nn::Mode::training);
  ASSERT_EQ(y.scalar_type(), fixture.x.scalar_type());
  std::vector<at::Tensor> leaves = {fixture.x};
  std::vector<std::string> names = {"x"};
  for (const auto& [part, tensor] : fixture.parts) {
    if (!tensor.defined()) continue;
    leaves.push_back(tensor);
    names.push_back(part);
  }
  const auto gradients = torch::autograd::grad({y}, leaves, {fixture.dy});
  const auto reference = fixture.reference();
  const auto uncertainty = uncertainty_of(fixture.norm, fixture.x.scalar_type());
  const std::map<std::string, const testing::ReferenceValues*> wanted = {
      {"x", &reference.dx},         {"gain", &reference.dgain},   {"bias", &reference.dbias},
      {"alpha", &reference.dalpha}, {"shift", &reference.dshift}, {"beta", &reference.dbeta}};
  const auto dtype = fixture.x.scalar_type();
  const bool may_be_fused = is_fused_in_float32(fixture.norm.kind, dtype);
  const int forward = may_be_fused ? testing::roundings_forward(dtype) : 0;
  const int backward = may_be_fused ? testing::roundings_backward(dtype) : 0;
  EXPECT_TRUE(correctly_rounded(y, reference.y, uncertainty, forward)) << name << ": y";
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    EXPECT_TRUE(correctly_rounded(gradients[i], *wanted.at(names[i]), uncertainty, backward))
        << name << ": gradient of " << names[i];
  }
}

class NormNumerics : public ::testing::TestWithParam<std::tuple<NormCase, at::ScalarType>> {
 protected:
  NormNumerics() { at::manual_seed(11); }
};

TEST_P(NormNumerics, RoundOnce) {
  const auto& [each, dtype] = GetParam();
  const bool over_tokens = norm::mixes_tokens(each.norm.kind);
  for (const auto width : testing::extreme_widths()) {
    if (over_tokens && width == 1) continue;  // one token has no statistics
    for (const bool fused : {true, false}) {
      NormFixture fixture(each, testing::extreme_rows(width, dtype), fused);
      expect_reference_values(fixture,
                              "width " + std::to_string(width) + (fused ? "" : ", formulas"));
      if (HasFailure()) return;
    }
  }
}

TEST_P(NormNumerics, DoNotDependOnTheLayoutOfTheirInput) {
  const auto& [each, dtype] = GetParam();
  NormFixture fixture(each, testing::extreme_rows(6, dtype), true);
  const auto x = fixture.x.detach();
  const auto result = [&](const at::Tensor& rows) {
    const auto leaf = rows.detach().requires_grad_();
    const auto y = (*fixture.layer)(leaf, nn::Mode::training);
    const auto dx = torch::autograd::grad({y}, {leaf}, {fixture.dy.view(y.sizes())})[0];
    return std::make_pair(y, dx);
  };
  const auto [y, dx] = result(x);
  const auto apart = at::stack({x, x}, -1).select(-1, 1);  // values two apart
  const auto turned = x.transpose(0, -1).contiguous().transpose(0, -1);
  for (const auto& rows : {apart, turned}) {
    ASSERT_FALSE(rows.is_contiguous());
    const auto [other, gradient] = result(rows);
    EXPECT_TRUE(other.equal(y));
    EXPECT_TRUE(gradient.equal(dx));
  }
}

TEST_P(NormNumerics, TakeNoRows) {
  const auto& [each, dtype] = GetParam();
  if (each.norm.kind == Kind::batch_norm || each.norm.kind == Kind::batch_renorm) return;
  NormFixture fixture(each, testing::extreme_rows(6, dtype), true);
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{0, 5, fixture.x.size(-1)}, {3, 0, fixture.x.size(-1)}}) {
    const auto none = at::empty(shape, dtype).requires_grad_();
    const auto y = (*fixture.layer)(none, nn::Mode::training);
    EXPECT_EQ(y.sizes(), none.sizes());
    const auto dx = torch::autograd::grad({y}, {none}, {at::empty_like(y)})[0];
    EXPECT_EQ(dx.sizes(), none.sizes());
  }
}

INSTANTIATE_TEST_SUITE_P(Every, NormNumerics,
                         ::testing::Combine(::testing::ValuesIn(cases()),
                                            ::testing::Values(at::kFloat, at::kBFloat16)),
                         [](const auto& one) {
                           return std::get<0>(one.param).name +
                                  (std::get<1>(one.param) == at::kFloat ? "_float32" : "_bfloat16");
                         });

// More rows than one kernel launch or one block sum holds.
TEST(NormNumerics, OfMoreThan65536Rows) {
  at::manual_seed(12);
  const std::set<std::string> names = {"rms_norm", "layer_norm",        "scale_norm",
                                       "dyt",      "rms_norm_per_head", "batch_norm"};
  for (const auto& each : cases()) {
    if (!names.contains(each.name)) continue;
    NormFixture fixture(each, at::randn({65544, 3}), true);
    expect_reference_values(fixture, each.name);
  }
}

// What stock arithmetic gets wrong: 0.0093 for a row of 1234.
TEST(LayerNorm, GivesExactlyTheBiasForEqualValues) {
  at::manual_seed(13);
  for (const auto kind : {Kind::layer_norm, Kind::group_norm}) {
    for (const auto dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
      for (const bool fused : {true, false}) {
        const NormCase each{"", with(kind, [](auto& n) { n.groups = 1; })};
        for (const double value : {1e-30, 0.1, 1234.0, 1e19, -1e30, 3e38}) {
          NormFixture fixture(each, at::full({1, 1000}, value, dtype), fused);
          const auto y = (*fixture.layer)(fixture.x, nn::Mode::training);
          EXPECT_TRUE(y[0].equal(fixture.parts["bias"].to(dtype))) << value;
        }
      }
    }
  }
}

}  // namespace
}  // namespace evenkeel
