// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/norm_layer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/nn/norm_path.h"
#include "evenkeel/nn/step_number.h"
#include "evenkeel/norm/kind.h"
#include "evenkeel/norm/kinds.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/reference.h"
#include "evenkeel/ops/norms/add_rms_norm.h"
#include "evenkeel/ops/norms/affine.h"
#include "evenkeel/ops/norms/bounded.h"
#include "evenkeel/ops/norms/column_norm.h"
#include "evenkeel/ops/norms/layer_norm.h"
#include "evenkeel/ops/norms/rms_norm.h"
#include "evenkeel/ops/norms/row_norm.h"
#include "evenkeel/ops/norms/seed_norm.h"

namespace evenkeel::nn {

namespace {

using norm::Affine;
using norm::EpsilonAt;
using norm::Scope;
namespace reference = ops::reference;

/// absmax8: rows divided by an eighth of their largest magnitude, a constant to the gradient; in
/// double, so that nothing is rounded before the statistic.
at::Tensor scaled_by_absmax(const at::Tensor& x) {
  constexpr double kEighth = 0.125;
  const auto row = x.to(at::kDouble);
  const auto largest = row.detach().abs().amax(-1, /*keepdim=*/true) * kEighth;
  return row / at::where(largest > 0, largest, 1.0);
}

ops::EpsilonAt epsilon_mode(EpsilonAt at) {
  return at == EpsilonAt::inside    ? ops::EpsilonAt::inside
         : at == EpsilonAt::outside ? ops::EpsilonAt::outside
                                    : ops::EpsilonAt::clamp;
}

void check_batch_size(std::int64_t count) {
  if (count < 2) {
    throw Error(Exit::usage, text("a norm over the batch needs 2 tokens or more, but got ", count));
  }
}

std::optional<at::Tensor> in_double(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor.to(at::kDouble)) : std::nullopt;
}

/// A gain or bias in the dtype that the fused operators require for these rows.
std::optional<at::Tensor> in_wide_dtype(const at::Tensor& rows, const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor.to(ops::opmath_dtype(rows.scalar_type())))
                          : std::nullopt;
}

}  // namespace

NormLayer::NormLayer(const norm::Norm& norm, const norm::Variables& variables, std::int64_t width,
                     std::int64_t heads, NormTensors tensors, bool fused)
    : norm_(norm),
      features_(norm.scope == Scope::head ? width / heads : width),
      heads_(norm.scope == Scope::head ? heads : 1),
      gain_factor_(norm::gain_factor(norm, variables)),
      out_scale_(norm.out_scale.value(variables)),
      rate_max_(norm.rate_max.value(variables)),
      shift_max_(norm.shift_max.value(variables)),
      tensors_(std::move(tensors)),
      fused_(fused),
      row_(&norm::row_of(norm.kind)),
      implementation_(&implementation_of(norm.kind)),
      path_(fused ? path_of(norm_, heads_) : NormPath::formula) {
  if (norm.groups) groups_ = static_cast<std::int64_t>(norm.groups->value(variables));
  EK_ASSERT(tensors_.gain.defined() == (norm.affine != Affine::none));
  EK_ASSERT(tensors_.bias.defined() == (norm.affine == Affine::vector_bias));
}

bool NormLayer::set_step(norm::Variables variables) {
  variables["width"] = static_cast<double>(features_);
  gain_factor_ = norm::gain_factor(norm_, variables);
  out_scale_ = norm_.out_scale.value(variables);
  rate_max_ = norm_.rate_max.value(variables);
  shift_max_ = norm_.shift_max.value(variables);
  if (norm_.groups) groups_ = static_cast<std::int64_t>(norm_.groups->value(variables));
  const bool gain_names_step =
      norm_.stored_at && (names_step(norm_.gain_init) || names_step(*norm_.stored_at));
  return gain_names_step || names_step(norm_.out_scale) || names_step(norm_.rate_max) ||
         names_step(norm_.shift_max) || (norm_.groups && names_step(*norm_.groups));
}

at::Tensor NormLayer::operator()(const at::Tensor& x, Mode mode) const {
  const auto rows = norm_.scope == Scope::head ? x.unflatten(-1, {heads_, features_}) : x;
  return apply(path_for(rows, mode), rows, mode).reshape(x.sizes()).to(x.scalar_type());
}

/// The operator of the norm, if it supports these rows; else the reference implementation.
NormPath NormLayer::path_for(const at::Tensor& rows, Mode mode) const {
  const bool is_scaled_layer = path_ == NormPath::layer_norm && out_scale_ != 1;
  if (path_ == NormPath::rms_norm || (path_ == NormPath::layer_norm && !is_scaled_layer)) {
    return path_;
  }
  if (is_scaled_layer) return NormPath::row_norm;
  const bool by_running_values = !row_->states.empty() && mode == Mode::evaluation;
  const bool is_column = path_ == NormPath::column_norm;
  return is_column && (by_running_values || rows.numel() == 0) ? NormPath::formula : path_;
}

at::Tensor NormLayer::apply(NormPath path, const at::Tensor& rows, Mode mode) const {
  switch (path) {
    case NormPath::rms_norm:
      return ops::rms_norm(rows, in_wide_dtype(rows, effective_gain(rows)), norm_.epsilon);
    case NormPath::layer_norm:
      return ops::layer_norm(rows, in_wide_dtype(rows, effective_gain(rows)),
                             in_wide_dtype(rows, tensors_.bias), norm_.epsilon);
    case NormPath::row_norm:
    case NormPath::affine:
    case NormPath::bounded:
    case NormPath::seed_norm:
      return apply_row_operator(path, rows);
    case NormPath::column_norm:
      return apply_column_operator(rows);
    case NormPath::formula:
      break;
  }
  const auto scaled = norm_.pre_scale == norm::PreScale::absmax8 ? scaled_by_absmax(rows) : rows;
  return with_affine(implementation_->has_dynamic_gain ? seed_norm(scaled)
                                                       : statistic(scaled, mode));
}

std::optional<std::tuple<at::Tensor, at::Tensor>> NormLayer::add_and_norm(
    const at::Tensor& residual, const at::Tensor& branch) const {
  const bool is_known = path_ == NormPath::rms_norm && norm_.scope == Scope::token;
  if (!is_known || !tensors_.gain.defined()) return std::nullopt;
  return ops::add_rms_norm(residual, branch, in_wide_dtype(residual, effective_gain(residual)),
                           norm_.epsilon);
}

std::optional<ops::HeadNorm> NormLayer::head_norm(const at::Tensor& rows) const {
  if (path_ == NormPath::formula || !has_fused_head_norm(norm_, heads_)) return std::nullopt;
  auto gain = effective_gain(rows);
  if (!gain.defined()) gain = at::ones({features_}, rows.options().dtype(at::kFloat));
  return ops::HeadNorm{in_wide_dtype(rows, gain), norm_.epsilon};
}

/// The gain that acts, times out_scale: [D] or one value, [heads * D] if heads do not share it;
/// undefined if it is 1. In double where it is not the parameter itself.
/// \param rows  any tensor on the device of the norm
at::Tensor NormLayer::effective_gain(const at::Tensor& rows) const {
  auto gain = gain_of_norm(rows);
  const bool every_head = heads_ > 1 && !norm_.heads_share;
  const bool one_a_head = norm_.affine == Affine::scalar && every_head && gain.defined();
  if (!one_a_head) return gain;
  return gain.to(at::kDouble).unsqueeze(-1).expand({heads_, features_}).flatten();
}

/// effective_gain(), but [heads] for one value a head.
at::Tensor NormLayer::gain_of_norm(const at::Tensor& rows) const {
  const bool every_head = heads_ > 1 && !norm_.heads_share;
  if (!tensors_.gain.defined()) {
    return out_scale_ == 1 ? at::Tensor()
                           : at::full({every_head ? 1 : features_}, out_scale_,
                                      rows.options().dtype(at::kDouble));
  }
  auto gain = tensors_.gain;
  if (gain_factor_ != 1) gain = gain.to(at::kDouble) * gain_factor_;
  if (norm_.gain_form == norm::GainForm::one_plus_w) gain = gain.to(at::kDouble) + 1;
  if (out_scale_ != 1) gain = gain.to(at::kDouble) * out_scale_;
  return gain;
}

/// out_scale * (gain * rows + bias), for rows in double whose last axes are [heads, D] or [D].
at::Tensor NormLayer::with_affine(const at::Tensor& rows) const {
  const bool every_head = heads_ > 1 && !norm_.heads_share;
  const auto wide = every_head ? rows.flatten(-2) : rows;
  auto bias = in_double(tensors_.bias);
  if (bias && out_scale_ != 1) bias = *bias * out_scale_;
  const auto gain =
      implementation_->has_dynamic_gain ? std::nullopt : in_double(effective_gain(rows));
  return gain || bias ? ops::affine(wide, gain, bias) : wide;
}

/// The whole norm in one operator, for norms over rows and for a gain alone.
at::Tensor NormLayer::apply_row_operator(NormPath path, const at::Tensor& rows) const {
  const bool every_head = heads_ > 1 && !norm_.heads_share;
  const auto wide = every_head ? rows.flatten(-2) : rows;
  auto bias = tensors_.bias;
  if (bias.defined() && out_scale_ != 1) bias = bias.to(at::kDouble) * out_scale_;
  if (path == NormPath::affine) {
    return ops::affine(wide, in_wide_dtype(wide, gain_of_norm(rows)), in_wide_dtype(wide, bias));
  }
  const auto gain = in_wide_dtype(wide, effective_gain(rows));
  if (path == NormPath::bounded) {
    return ops::bounded(wide, *in_double(tensors_.alpha), in_double(tensors_.shift), gain,
                        in_wide_dtype(wide, bias), implementation_->is_erf);
  }
  if (path == NormPath::seed_norm) {
    const auto alpha =
        out_scale_ == 1 ? tensors_.alpha : tensors_.alpha.to(at::kDouble) * out_scale_;
    return ops::seed_norm(wide, *in_wide_dtype(wide, alpha), *in_wide_dtype(wide, tensors_.beta),
                          gain, in_wide_dtype(wide, bias), norm_.epsilon);
  }
  return ops::row_norm(wide, gain, in_wide_dtype(wide, bias),
                       {.groups = groups_ * (every_head ? heads_ : 1),
                        .centred = row_->operation == norm::Operation::standardize,
                        .partial = norm_.partial,
                        .length = row_->operation == norm::Operation::divide_by_l2_norm,
                        .epsilon = norm_.epsilon,
                        .epsilon_at = epsilon_mode(norm_.epsilon_at),
                        .absmax8 = norm_.pre_scale == norm::PreScale::absmax8});
}

/// The rows and numbers that a formula of the kind takes.
/// \param rows  in double
FormulaInputs NormLayer::formula_inputs(const at::Tensor& rows) const {
  return {.x = rows,
          .epsilon = norm_.epsilon,
          .epsilon_at = epsilon_mode(norm_.epsilon_at),
          .partial = norm_.partial,
          .groups = groups_,
          .detach = norm_.detach,
          .alpha = in_double(tensors_.alpha),
          .shift = in_double(tensors_.shift),
          .fixed_order = fused_};
}

/// The norm before its gain, in double.
at::Tensor NormLayer::statistic(const at::Tensor& rows, Mode mode) const {
  const auto wide = rows.to(at::kDouble);
  if (row_->axis == norm::StatisticAxis::batch) return batch_statistic(wide, mode);
  return implementation_->formula(formula_inputs(wide));
}

/// (alpha * tanh(x . beta) + gain) * x / sqrt(mean(x^2) + epsilon)
/// \source arXiv:2510.22777 (SeeDNorm)
at::Tensor NormLayer::seed_norm(const at::Tensor& rows) const {
  const auto wide = rows.to(at::kDouble);
  const auto x_hat = implementation_->formula(formula_inputs(wide));
  const auto alpha = in_double(tensors_.alpha), beta = in_double(tensors_.beta);
  const auto fixed_order = [&] {
    const auto dot = ops::affine(wide, beta).sum(-1, /*keepdim=*/true);
    return ops::affine(at::tanh(dot) * x_hat, alpha);
  };
  const auto dynamic_part =
      fused_ ? fixed_order() : reference::seed_rows(wide, x_hat, *alpha, *beta);
  const bool every_head = heads_ > 1 && !norm_.heads_share;
  const auto fixed_part =
      ops::affine(every_head ? x_hat.flatten(-2) : x_hat, in_double(effective_gain(rows)));
  return dynamic_part * out_scale_ + fixed_part.view(x_hat.sizes());
}

/// r and d of batch renormalization, [D] each, constants to the gradient.
NormLayer::RenormCorrection NormLayer::renorm_correction(
    const reference::BatchMoments& batch) const {
  const auto deviation = (batch.variance + norm_.epsilon).sqrt();
  const auto scale = tensors_.running_scale.to(at::kDouble);
  return {(deviation / scale).clamp(1 / rate_max_, rate_max_),
          ((batch.mean - tensors_.running_mean.to(at::kDouble)) / scale)
              .clamp(-shift_max_, shift_max_)};
}

/// Moves the running statistics towards those of a batch of `count` rows.
void NormLayer::update_running_stats(const reference::BatchMoments& batch,
                                     std::int64_t count) const {
  const at::NoGradGuard no_grad;
  const auto move = [&](const at::Tensor& running, const at::Tensor& observed) {
    running.copy_(running + norm_.momentum * (observed - running));
  };
  const auto unbiased = static_cast<double>(count) / static_cast<double>(count - 1);
  move(tensors_.running_mean, batch.mean);
  move(tensors_.running_scale, implementation_->renormalizes
                                   ? (batch.variance + norm_.epsilon).sqrt()
                                   : batch.variance * unbiased);
}

/// Every feature over all rows of the batch; in evaluation over the running values. In double.
at::Tensor NormLayer::batch_statistic(const at::Tensor& rows, Mode mode) const {
  const auto flat = rows.reshape({-1, features_});
  if (mode == Mode::evaluation) {
    const auto mean = tensors_.running_mean.to(at::kDouble);
    const auto scale = tensors_.running_scale.to(at::kDouble);
    const auto deviation = implementation_->renormalizes ? scale : (scale + norm_.epsilon).sqrt();
    return ((flat - mean) / deviation).view(rows.sizes());
  }
  check_batch_size(flat.size(0));
  auto y = implementation_->formula(formula_inputs(flat));
  const auto batch = reference::batch_moments(flat.detach());
  if (implementation_->renormalizes) {
    const auto [rate, shift] = renorm_correction(batch);
    y = y * rate + shift;
  }
  update_running_stats(batch, flat.size(0));
  return y.view(rows.sizes());
}

/// The whole norm over positions in one operator: all rows of the batch, in training, or those of
/// each sequence.
at::Tensor NormLayer::apply_column_operator(const at::Tensor& rows) const {
  const bool is_instance = row_->axis == norm::StatisticAxis::sequence;
  const auto columns = is_instance ? rows.flatten(2) : rows.reshape({1, -1, features_});
  const auto width = columns.size(2);
  const auto of_columns = [width](const at::Tensor& vector) -> std::optional<at::Tensor> {
    if (!vector.defined()) return std::nullopt;
    const auto wide = vector.to(at::kDouble);
    return wide.size(0) == 1 ? wide.expand({width}) : wide.repeat({width / wide.size(0)});
  };
  auto gain = of_columns(effective_gain(rows)), bias = of_columns(tensors_.bias);
  if (bias && out_scale_ != 1) bias = *bias * out_scale_;
  if (!is_instance) check_batch_size(columns.size(1));
  if (implementation_->renormalizes) {
    const at::Tensor detached = columns.detach();
    const auto [unused, mean, variance] =
        ops::column_norm(detached, std::nullopt, std::nullopt, norm_.epsilon);
    const auto [rate, shift] = renorm_correction({mean[0], variance[0]});
    const auto offset = gain ? *gain * shift : shift;
    bias = bias ? *bias + offset : offset;
    gain = gain ? *gain * rate : rate;
  }
  const auto [y, mean, variance] =
      ops::column_norm(columns, gain, bias, norm_.epsilon, epsilon_mode(norm_.epsilon_at));
  if (!is_instance) update_running_stats({mean[0], variance[0]}, columns.size(1));
  return y;
}

}  // namespace evenkeel::nn
