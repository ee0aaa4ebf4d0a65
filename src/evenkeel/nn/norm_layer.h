// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <tuple>

#include "evenkeel/nn/mode.h"
#include "evenkeel/norm/scheme.h"
#include "evenkeel/ops/attention/qkv_norm_rope.h"
#include "evenkeel/ops/common/reference.h"

namespace evenkeel::norm {
struct KindRow;
}

namespace evenkeel::nn {

enum class NormPath;
struct FormulaInputs;
struct NormImplementation;

/// The tensors of one norm, as norm::parameters_of() and norm::buffers_of() list them; undefined
/// where the norm has none.
struct NormTensors {
  at::Tensor gain, bias;
  at::Tensor alpha, shift, beta;           // dyt, derf, seed_norm
  at::Tensor running_mean, running_scale;  // [D]: of batch_norm the variance, of batch_renorm the
                                           // deviation; moved in place by a training pass
};

/// One norm of a model with its parameters: x -> out_scale * (gain * statistic(x) + bias). The
/// kind's facts are rows of norm/kinds.h and norm_path.h.
class NormLayer {
 public:
  /// \param variables  of its place: norm::variables_of()
  /// \param heads      vectors in the last axis of x that a norm of scope head sees apart
  /// \param fused      false: run the formulas of ops/reference.h
  NormLayer(const norm::Norm& norm, const norm::Variables& variables, std::int64_t width,
            std::int64_t heads, NormTensors tensors, bool fused);

  /// \param x  [..., width], of kinds that see other tokens [B, T, width]; floating point
  /// \return the same shape and dtype
  /// \throws Error (usage) for batch statistics of a single token
  at::Tensor operator()(const at::Tensor& x, Mode mode) const;

  /// (residual + branch, norm of the sum) by ops::add_rms_norm; nothing for other norms.
  /// \param residual, branch  [..., width]
  std::optional<std::tuple<at::Tensor, at::Tensor>> add_and_norm(const at::Tensor& residual,
                                                                 const at::Tensor& branch) const;

  /// Whether the backward pass recomputes the norm's output: not where a pass in training
  /// changes what a later pass computes.
  bool is_recomputed(Recompute recompute, Mode mode) const {
    const bool moves_a_state = tensors_.running_mean.defined();
    return recompute == Recompute::norms && mode == Mode::training && !moves_a_state;
  }

  /// The arguments of ops::qkv_norm_rope() for this norm; nothing unless it is an rms_norm of heads
  /// with one gain for all heads.
  /// \param rows  any tensor of the dtype of the heads
  std::optional<ops::HeadNorm> head_norm(const at::Tensor& rows) const;

  /// Evaluates the formulas of the norm anew.
  /// \param variables  of its block, or of the model; without `width`
  /// \return whether a formula names t, the step
  bool set_step(norm::Variables variables);

 private:
  NormPath path_for(const at::Tensor& rows, Mode mode) const;
  at::Tensor apply(NormPath path, const at::Tensor& rows, Mode mode) const;
  at::Tensor effective_gain() const;
  at::Tensor apply_row_operator(NormPath path, const at::Tensor& rows) const;
  FormulaInputs formula_inputs(const at::Tensor& rows) const;
  at::Tensor statistic(const at::Tensor& rows, Mode mode) const;
  at::Tensor seed_norm(const at::Tensor& rows) const;
  at::Tensor batch_statistic(const at::Tensor& rows, Mode mode) const;
  at::Tensor apply_column_operator(const at::Tensor& rows) const;
  struct RenormCorrection {
    at::Tensor rate, shift;
  };
  RenormCorrection renorm_correction(const ops::reference::BatchMoments& batch) const;
  void update_running_stats(const ops::reference::BatchMoments& batch, std::int64_t count) const;
  at::Tensor with_affine(const at::Tensor& rows) const;

  norm::Norm norm_;
  std::int64_t features_;    // D: values of one row
  std::int64_t heads_;       // rows in the last axis of x; 1 for scope token
  std::int64_t groups_ = 1;  // group_norm
  double gain_factor_ = 1;   // of the stored parameter: gain_init / stored_at
  double out_scale_ = 1;
  double rate_max_ = 1, shift_max_ = 0;  // batch_renorm
  NormTensors tensors_;
  bool fused_;
  const norm::KindRow* row_;
  const NormImplementation* implementation_;
  NormPath path_;
};

}  // namespace evenkeel::nn
