// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/kinds.h"

#include <algorithm>

#include "evenkeel/base/error.h"

namespace evenkeel::norm {

namespace {

/// Default epsilon of l2: below the L2 norm of any row that occurs in practice.
constexpr double kTinyLength = 1e-12;
/// Default momentum of batch_renorm: small, so that the running statistics average over many steps.
constexpr double kSlowMomentum = 0.01;

// One row a kind.  NOLINTNEXTLINE(readability-function-size)
std::vector<KindRow> table() {
  using enum StatisticAxis;
  using enum Operation;
  constexpr auto kBias = Affine::vector_bias;
  constexpr auto kClamp = EpsilonAt::clamp;
  return {
      {.kind = Kind::layer_norm,
       .name = "layer_norm",
       .title = "LayerNorm",
       .formula = "(x - mean(x)) / sqrt(var(x) + epsilon)",
       .example = "\"layer_norm\"",
       .axis = row,
       .operation = standardize,
       .defaults = {.kind = Kind::layer_norm, .affine = kBias},
       .fields = {"epsilon", "epsilon_at"}},
      {.kind = Kind::rms_norm,
       .name = "rms_norm",
       .title = "RMSNorm",
       .formula = "x / sqrt(mean(x^2) + epsilon)",
       .example = "\"rms_norm\"",
       .axis = row,
       .operation = divide_by_rms,
       .defaults = {.kind = Kind::rms_norm},
       .fields = {"epsilon", "epsilon_at", "partial"}},
      {.kind = Kind::l2,
       .name = "l2",
       .title = "L2 norm",
       .formula = "x / max(|x|, epsilon)",
       .example = "\"l2\"",
       .axis = row,
       .operation = divide_by_l2_norm,
       .defaults =
           {.kind = Kind::l2, .affine = Affine::none, .epsilon = kTinyLength, .epsilon_at = kClamp},
       .fields = {"epsilon", "epsilon_at"}},
      {.kind = Kind::scale_norm,
       .name = "scale_norm",
       .title = "ScaleNorm",
       .formula = "x / max(|x|, epsilon), one gain",
       .example = "\"scale_norm\"",
       .axis = row,
       .operation = divide_by_l2_norm,
       .defaults = {.kind = Kind::scale_norm,
                    .affine = Affine::scalar,
                    .gain_init = Expression::parse("sqrt(width)"),
                    .epsilon_at = kClamp},
       .fields = {"epsilon", "epsilon_at"}},
      {.kind = Kind::group_norm,
       .name = "group_norm",
       .title = "GroupNorm",
       .formula = "layer_norm of each of the `groups` groups of features",
       .example = "{ kind = \"group_norm\", groups = 2 }",
       .axis = group,
       .operation = standardize,
       .defaults = {.kind = Kind::group_norm, .affine = kBias},
       .fields = {"epsilon", "epsilon_at", "groups"}},
      {.kind = Kind::dyt,
       .name = "dyt",
       .title = "DyT",
       .formula = "tanh(alpha x)",
       .example = "{ kind = \"dyt\", alpha_init = 0.5 }",
       .axis = none,
       .operation = bounded,
       .defaults = {.kind = Kind::dyt, .affine = kBias},
       .fields = {"alpha_init"},
       .parameters = {{"alpha", false, &Norm::alpha_init}}},
      {.kind = Kind::derf,
       .name = "derf",
       .title = "Derf",
       .formula = "erf(alpha x + shift)",
       .example = "{ kind = \"derf\", alpha_init = 0.5, shift_init = 0 }",
       .axis = none,
       .operation = bounded,
       .defaults = {.kind = Kind::derf, .affine = kBias},
       .fields = {"alpha_init", "shift_init"},
       .parameters = {{"alpha", false, &Norm::alpha_init}, {"shift", false, &Norm::shift_init}}},
      {.kind = Kind::seed_norm,
       .name = "seed_norm",
       .title = "SeeDNorm",
       .formula = "x / rms(x) with the gain: gain + alpha tanh(x . beta)",
       .example = "{ kind = \"seed_norm\", alpha_init = 1, beta_init = 0 }",
       .axis = row,
       .operation = divide_by_rms,
       .defaults = {.kind = Kind::seed_norm, .alpha_init = 1},
       .fields = {"epsilon", "epsilon_at", "alpha_init", "beta_init"},
       .parameters = {{"alpha", true, &Norm::alpha_init}, {"beta", true, &Norm::beta_init}}},
      {.kind = Kind::scale,
       .name = "scale",
       .title = "gain",
       .formula = "x: only the gain",
       .example = "\"scale\"",
       .axis = none,
       .operation = identity,
       .defaults = {.kind = Kind::scale},
       .fields = {}},
      {.kind = Kind::batch_norm,
       .name = "batch_norm",
       .title = "BatchNorm",
       .formula = "(x - mean) / sqrt(var + epsilon), of a feature over the batch",
       .example = "{ kind = \"batch_norm\", momentum = 0.1, allow_leakage = true }",
       .axis = batch,
       .operation = standardize,
       .defaults = {.kind = Kind::batch_norm, .affine = kBias},
       .fields = {"epsilon", "momentum", "allow_leakage"},
       .states = {{"running_mean", 0}, {"running_var", 1}}},
      {.kind = Kind::batch_renorm,
       .name = "batch_renorm",
       .title = "BatchRenorm",
       .formula = "batch_norm times r plus d, a correction to the running values",
       .example = "{ kind = \"batch_renorm\", rate_max = 3, shift_max = 5, allow_leakage = true }",
       .axis = batch,
       .operation = standardize,
       .defaults = {.kind = Kind::batch_renorm, .affine = kBias, .momentum = kSlowMomentum},
       .fields = {"epsilon", "momentum", "rate_max", "shift_max", "allow_leakage"},
       .states = {{"running_mean", 0}, {"running_std", 1}}},
      {.kind = Kind::instance_norm,
       .name = "instance_norm",
       .title = "InstanceNorm",
       .formula = "(x - mean) / sqrt(var + epsilon), of a feature over the sequence",
       .example = "{ kind = \"instance_norm\", allow_leakage = true }",
       .axis = sequence,
       .operation = standardize,
       .defaults = {.kind = Kind::instance_norm, .affine = Affine::none},
       .fields = {"epsilon", "epsilon_at", "allow_leakage"}},
      {.kind = Kind::detach_norm,
       .name = "detach_norm",
       .title = "DetachNorm",
       .formula = "layer_norm whose mean, variance or both are constants to the gradient",
       .example = "{ kind = \"detach_norm\", detach = \"variance\" }",
       .axis = row,
       .operation = standardize,
       .defaults = {.kind = Kind::detach_norm, .affine = kBias},
       .fields = {"epsilon", "epsilon_at", "detach"}},
  };
}

}  // namespace

const std::vector<KindRow>& kinds() {
  static const std::vector<KindRow> rows = table();
  return rows;
}

const KindRow& row_of(Kind kind) {
  const auto found = std::find_if(kinds().begin(), kinds().end(),
                                  [&](const KindRow& row) { return row.kind == kind; });
  EK_ASSERT(found != kinds().end() && "every kind has a row");
  return *found;
}

}  // namespace evenkeel::norm
