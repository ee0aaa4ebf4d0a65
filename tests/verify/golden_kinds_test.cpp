// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/csrc/autograd/autograd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "evenkeel/nn/norm_layer.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/norm/kind.h"
#include "evenkeel/store/safetensors.h"
#include "evenkeel/train/tensor_file.h"
#include "support/golden_files.h"

// Every norm kind on eight rows (two normal, large, small, zeros, 1e30, 1e-30, constant), as
// another program computed it in float64: values, gradients, and what running values become.
namespace evenkeel::verify {
namespace {

using nlohmann::json;
using nn::Mode;
using testing::golden_file;

norm::Norm norm_from(const json& fields) {
  const auto number = [](const json& value) {
    return value.is_string() ? norm::Expression::parse(value.get<std::string>())
                             : norm::Expression(value.get<double>());
  };
  const std::string affine = fields["affine"];
  const auto at = fields.value("epsilon_at", "inside");
  auto norm = norm::default_norm(norm::kind_named(fields["kind"].get<std::string>()));
  norm.scope = fields["scope"] == "head" ? norm::Scope::head : norm::Scope::token;
  norm.affine = affine == "none"     ? norm::Affine::none
                : affine == "scalar" ? norm::Affine::scalar
                : affine == "vector" ? norm::Affine::vector
                                     : norm::Affine::vector_bias;
  norm.heads_share = fields["heads_share"];
  norm.gain_init = number(fields["gain_init"]);
  norm.gain_form = fields["gain_form"] == "w" ? norm::GainForm::w : norm::GainForm::one_plus_w;
  if (!fields["stored_at"].is_null()) norm.stored_at = number(fields["stored_at"]);
  norm.epsilon = fields.value("epsilon", norm.epsilon);
  norm.epsilon_at = at == "inside"    ? norm::EpsilonAt::inside
                    : at == "outside" ? norm::EpsilonAt::outside
                                      : norm::EpsilonAt::clamp;
  norm.out_scale = number(fields["out_scale"]);
  if (fields["pre_scale"] == "absmax8") norm.pre_scale = norm::PreScale::absmax8;
  norm.partial = fields.value("partial", 1.0);
  if (fields.contains("groups")) norm.groups = number(fields["groups"]);
  norm.momentum = fields.value("momentum", norm.momentum);
  norm.rate_max = fields.value("rate_max", 1.0);
  norm.shift_max = fields.value("shift_max", 0.0);
  return norm;
}

/// Row by row: |actual - expected| relative to the largest value of the row, or to `scale` of it.
double row_error(const at::Tensor& actual, const at::Tensor& expected,
                 const at::Tensor& scale = {}) {
  const auto error = (actual.to(at::kDouble) - expected).abs().amax(-1);
  auto largest = expected.abs().amax(-1);
  if (scale.defined()) largest = at::maximum(largest, scale);
  const auto none = at::logical_and(error == 0, largest == 0);
  return at::where(none, 0.0, error / largest).max().item<double>();
}

class GoldenKind {
 public:
  GoldenKind(const store::Safetensors& file, const std::string& name, const json& fields_of_case,
             at::ScalarType dtype, bool fused)
      : file_(file), name_(name), norm_(norm_from(fields_of_case["norm"])) {
    const std::int64_t heads = fields_of_case["heads"];
    x_ = input("x", dtype).requires_grad_();
    for (const auto* const part : {"gain", "bias", "alpha", "shift", "beta"}) {
      if (!has(part)) continue;
      names_.emplace_back(part);
      parts_.push_back(input(part, dtype).requires_grad_());
    }
    const bool renorm = norm_.kind == norm::Kind::batch_renorm;
    scale_name_ = renorm ? "running_std" : "running_var";
    if (has("buffer.running_mean")) {
      mean_ = input("buffer.running_mean", dtype);
      scale_ = input("buffer." + scale_name_, dtype);
    }
    const bool per_head = norm_.scope == norm::Scope::head;
    const auto features = static_cast<double>(per_head ? x_.size(-1) / heads : x_.size(-1));
    const norm::Variables variables = {{"width", features}};
    layer_ = std::make_unique<nn::NormLayer>(norm_, variables, x_.size(-1), heads,
                                             nn::NormTensors{.gain = part("gain"),
                                                             .bias = part("bias"),
                                                             .alpha = part("alpha"),
                                                             .shift = part("shift"),
                                                             .beta = part("beta"),
                                                             .running_mean = mean_,
                                                             .running_scale = scale_},
                                             fused);
  }

  void expect_golden(double tolerance) {
    if (mean_.defined()) {
      const at::NoGradGuard no_grad;
      EXPECT_LE(row_error((*layer_)(x_, Mode::evaluation), output("y_eval")), tolerance);
    }
    const auto y = (*layer_)(x_, Mode::training);
    EXPECT_LE(row_error(y, output("y")), tolerance) << "y";
    auto leaves = parts_;
    leaves.push_back(x_);
    const auto dy = input("dy", x_.scalar_type());
    const auto gradients = torch::autograd::grad({y}, leaves, {dy});
    for (std::size_t i = 0; i < names_.size(); ++i) {
      EXPECT_LE(row_error(gradients[i], output("d" + names_[i])), tolerance) << "d" << names_[i];
    }
    // What cancels in dx has about the size of dy y / x.
    const auto size = [](const at::Tensor& rows) { return rows.to(at::kDouble).abs().amax(-1); };
    constexpr double kCancelled = 1e-3;
    const auto scale = kCancelled * size(dy) * size(output("y")) / size(x_.detach());
    EXPECT_LE(row_error(gradients.back(), output("dx"), scale.nan_to_num(0, 0, 0)), tolerance)
        << "dx";
    if (!mean_.defined()) return;
    EXPECT_LE(row_error(mean_, output("buffer_after.running_mean")), tolerance);
    EXPECT_LE(row_error(scale_, output("buffer_after." + scale_name_)), tolerance);
  }

 private:
  bool has(const std::string& what) const { return file_.has(name_ + "." + what); }
  at::Tensor output(const std::string& what) const {
    return train::tensor_of(file_, name_ + "." + what);
  }
  at::Tensor input(const std::string& what, at::ScalarType dtype) const {
    return output(what).to(dtype);
  }
  at::Tensor part(const std::string& name) const {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == name) return parts_[i];
    }
    return {};
  }

  const store::Safetensors& file_;
  std::string name_, scale_name_;
  norm::Norm norm_;
  at::Tensor x_, mean_, scale_;
  std::vector<std::string> names_;
  std::vector<at::Tensor> parts_;
  std::unique_ptr<nn::NormLayer> layer_;
};

void expect_golden_kinds(const std::filesystem::path& path, std::size_t count) {
  const auto file = store::Safetensors::read(path);
  const auto cases = json::parse(file.metadata().at("cases"));
  EXPECT_EQ(cases.size(), count);
  for (const auto& [name, fields_of_case] : cases.items()) {
    for (const bool fused : {true, false}) {
      const ::testing::Message trace = ::testing::Message() << name << (fused ? "" : ", formulas");
      SCOPED_TRACE(trace);
      GoldenKind(file, name, fields_of_case, at::kDouble, fused).expect_golden(1e-10);
      GoldenKind(file, name, fields_of_case, at::kFloat, fused).expect_golden(2e-5);
    }
  }
}

TEST(GoldenKinds, AreReproduced) {
  expect_golden_kinds(golden_file("kinds"), 56);
}

TEST(GoldenKinds, OfAllWidthsAreReproduced) {
  const auto* const folder = std::getenv("EVENKEEL_GOLDEN");
  if (folder == nullptr) GTEST_SKIP() << "EVENKEEL_GOLDEN names no folder with more golden files";
  expect_golden_kinds(std::filesystem::path(folder) / "schemes/kinds.safetensors", 100);
}

}  // namespace
}  // namespace evenkeel::verify
