// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/invariance.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/nn/norm_layer.h"
#include "evenkeel/norm/kind.h"
#include "evenkeel/probe/activation_stats.h"
#include "evenkeel/probe/random.h"

namespace evenkeel::probe {

namespace {

using norm::Kind;

constexpr std::int64_t kBatch = 3, kInputs = 12, kFeatures = 16;
constexpr double kInvarianceRounding =
    1e-11;  // float64: sums over the batch, then division by small standard deviations
constexpr double kChanged = 1e-3;          // the changes of the input have order 1
constexpr double kInvarianceSpread = 0.2;  // standard deviation of the parameters

Sample sample() {
  auto x = randn(1, "probe/invariance/x", {kBatch, kSampleTokens, kInputs});
  x.select(-1, 0).fill_(1);
  const auto weight = randn(1, "probe/invariance/W", {kFeatures, kInputs});
  return {x, weight / std::sqrt(static_cast<double>(kInputs))};
}

/// A random value of a norm's parameter: normal around its initial value. beta is normal around 0,
/// with its initial value as standard deviation.
/// \return [size], float64
at::Tensor value_of(const norm::Norm& norm, const norm::NormParameter& part) {
  const norm::Variables variables = {{"width", static_cast<double>(kFeatures)}};
  const auto noise = randn(1, "probe/invariance/" + part.name, {part.size});
  if (part.name == "beta") return noise * norm.beta_init.value(variables);
  const auto initial = part.name == "gain"    ? norm.gain_init.value(variables)
                       : part.name == "alpha" ? norm.alpha_init.value(variables)
                       : part.name == "shift" ? norm.shift_init.value(variables)
                                              : 0;
  return initial * (1 + kInvarianceSpread * noise) + (initial == 0 ? kInvarianceSpread : 0) * noise;
}

nn::NormTensors tensors_of(const norm::Norm& norm) {
  std::map<std::string, at::Tensor> values;
  for (const auto& part : norm::parameters_of(norm, kFeatures, 1)) {
    values[part.name] = value_of(norm, part);
  }
  for (const auto& state : norm::buffers_of(norm, kFeatures, 1)) {
    const bool mean = state.name == "running_mean";
    const auto noise = randn(1, "probe/invariance/" + state.name, {state.size});
    values[mean ? "mean" : "deviation"] =
        state.initial + kInvarianceSpread * (mean ? noise : noise.abs());
  }
  return {.gain = values["gain"],
          .bias = values["bias"],
          .alpha = values["alpha"],
          .shift = values["shift"],
          .beta = values["beta"],
          .running_mean = values["mean"],
          .running_scale = values["deviation"]};
}

at::Tensor compared(const at::Tensor& y, const Change& change) {
  return change.positions > 0 ? y.narrow(1, 0, change.positions) : y;
}

InvarianceRow bare(const std::string& name, Kind kind) {
  InvarianceRow row{.name = name, .norm = norm::default_norm(kind), .expected = {}};
  row.norm.epsilon = 0;
  row.norm.affine = norm::Affine::none;
  return row;
}

/// The claim that `factor` times the norm `row` on z equals the norm `other` on other_z. It uses
/// the larger error of the two implementations.
Claim equality(const std::string& statement, const InvarianceRow& row, const at::Tensor& z,
               double factor, const InvarianceRow& other, const at::Tensor& other_z) {
  double worst = 0;
  for (const bool fused : {true, false}) {
    const auto found = norm_function(row, fused)(z) * factor;
    worst = max_or_nan(worst, max_relative_error(found, norm_function(other, fused)(other_z)));
  }
  return {.subject = row.name,
          .statement = statement,
          .measured = worst,
          .relation = Relation::at_most,
          .limit = kInvarianceRounding};
}

/// The root mean square that rms_norm gives to a row of 1e-4 with epsilon 1e-5 inside the root,
/// where it would be 1 with epsilon 0: 1e-4 / sqrt(1e-8 + 1e-5).
Claim small_row() {
  constexpr double kSize = 1e-4, kEpsilon = 1e-5, kExpected = 0.0316;
  auto row = bare("rms_norm", Kind::rms_norm);
  row.norm.epsilon = kEpsilon;
  const auto z = at::full({1, 1, kFeatures}, kSize, at::kDouble);
  return {.subject = row.name,
          .statement = "of a row of size 1e-4, with epsilon 1e-5: size of the result",
          .measured = norm_function(row, true)(z).pow(2).mean().sqrt().item<double>(),
          .relation = Relation::at_most,
          .limit = kExpected + 1e-4};
}

}  // namespace

NormFunction norm_function(const InvarianceRow& row, bool fused) {
  return [row, fused](const at::Tensor& z) {
    const at::NoGradGuard no_grad;
    const norm::Variables variables = {{"width", static_cast<double>(kFeatures)}};
    const nn::NormLayer layer(row.norm, variables, kFeatures, 1, tensors_of(row.norm), fused);
    return layer(z, row.mode);
  };
}

Claims claims_for(const InvarianceRow& row, const std::vector<NormFunction>& implementations) {
  const auto z = sample();
  Claims claims;
  EK_ASSERT(row.expected.size() == kChanges);
  for (std::size_t i = 0; i < kChanges; ++i) {
    const auto& change = changes()[i];
    const bool invariant = row.expected[i] == '=';
    double worst = invariant ? 0 : std::numeric_limits<double>::infinity();
    for (const auto& implementation : implementations) {
      const auto error = max_relative_error(compared(implementation(change.apply(z)), change),
                                            compared(implementation(z.z()), change));
      worst = invariant ? max_or_nan(worst, error) : -max_or_nan(-worst, -error);
    }
    claims.push_back({.subject = row.name,
                      .statement = text(change.name, invariant ? ": invariant" : ": changes"),
                      .measured = worst,
                      .relation = invariant ? Relation::at_most : Relation::at_least,
                      .limit = invariant ? kInvarianceRounding : kChanged});
  }
  return claims;
}

Claims invariance_claims() {
  Claims claims;
  for (const auto& row : invariance_rows()) {
    const auto part = claims_for(row, {norm_function(row, true), norm_function(row, false)});
    claims.insert(claims.end(), part.begin(), part.end());
  }
  return claims;
}

Claims equality_claims() {
  const auto z = sample().z();
  const auto centred = z - z.mean(-1, /*keepdim=*/true);
  const auto root = std::sqrt(static_cast<double>(kFeatures));
  const auto rms = bare("rms_norm", Kind::rms_norm);
  const auto layer = bare("layer_norm", Kind::layer_norm);
  auto one_group = bare("group_norm", Kind::group_norm);
  one_group.norm.groups = 1;
  return {equality("on centred rows is layer_norm", rms, centred, 1, layer, z),
          equality("times sqrt(D) is rms_norm", bare("l2", Kind::l2), z, root, rms, z),
          equality("with the gain sqrt(D) is rms_norm", bare("scale_norm", Kind::scale_norm), z,
                   root, rms, z),
          equality("of one group is layer_norm", one_group, z, 1, layer, z),
          equality("with rate_max 1, shift_max 0 is batch_norm",
                   bare("batch_renorm", Kind::batch_renorm), z, 1,
                   bare("batch_norm", Kind::batch_norm), z),
          equality("is layer_norm forward", bare("detach_norm", Kind::detach_norm), z, 1, layer, z),
          small_row()};
}

}  // namespace evenkeel::probe
