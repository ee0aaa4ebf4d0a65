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

/// The tensors of one norm: norm::parameters_of() and norm::buffers_of(). Tensors that the norm
/// does not have are undefined.
struct NormTensors {
  at::Tensor gain, bias;
  at::Tensor alpha, shift, beta;           // dyt, derf, seed_norm
  at::Tensor running_mean, running_scale;  // [D]: running_scale is the running variance
                                           // (batch_norm) or running std (batch_renorm); updated
                                           // in place in training
};

/// One norm of a model with its parameters: x -> out_scale * (gain * normalized(x) + bias).
/// norm/kinds.h and nn/norm_path.h have one row per norm kind.
class NormLayer {
 public:
  /// \param variables  expression variables of the slot, from norm::variables_of()
  /// \param width      size of the last dimension of x
  /// \param heads      number of heads in the last dimension, for norms of scope head
  /// \param fused      false: reference implementations (ops/common/reference.h)
  NormLayer(const norm::Norm& norm, const norm::Variables& variables, std::int64_t width,
            std::int64_t heads, NormTensors tensors, bool fused);

  /// \param x  [..., width]; [B, T, width] for norms over a batch or a sequence; floating point
  /// \return the shape and dtype of x
  /// \throws Error (usage) for batch statistics of a single token
  at::Tensor operator()(const at::Tensor& x, Mode mode) const;

  /// (residual + branch, norm of the sum) by ops::add_rms_norm; nullopt unless that operator
  /// supports the norm.
  /// \param residual, branch  [..., width]
  std::optional<std::tuple<at::Tensor, at::Tensor>> add_and_norm(const at::Tensor& residual,
                                                                 const at::Tensor& branch) const;

  /// True if the backward pass recomputes the output of the norm. False for norms with running
  /// statistics: a second forward pass would update them twice.
  bool is_recomputed(Recompute recompute, Mode mode) const {
    const bool moves_a_state = tensors_.running_mean.defined();
    return recompute == Recompute::norms && mode == Mode::training && !moves_a_state;
  }

  /// The arguments of ops::qkv_norm_rope() for this norm; nullopt unless it is an rms_norm of scope
  /// head with one gain for all heads.
  /// \param rows  any tensor of the dtype of the heads
  std::optional<ops::HeadNorm> head_norm(const at::Tensor& rows) const;

  /// Re-evaluates the expressions of the norm.
  /// \param variables  expression variables of the block or the model, without `width`
  /// \return true if an expression names t, the step
  bool set_step(norm::Variables variables);

 private:
  NormPath path_for(const at::Tensor& rows, Mode mode) const;
  at::Tensor apply(NormPath path, const at::Tensor& rows, Mode mode) const;
  at::Tensor effective_gain(const at::Tensor& rows) const;
  at::Tensor gain_of_norm(const at::Tensor& rows) const;
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
  std::int64_t features_;    // D: values per row
  std::int64_t heads_;       // rows in the last dimension of x; 1 for scope token
  std::int64_t groups_ = 1;  // group_norm
  double gain_factor_ = 1;   // gain_init / stored_at, factor of the stored gain
  double out_scale_ = 1;
  double rate_max_ = 1, shift_max_ = 0;  // batch_renorm
  NormTensors tensors_;
  bool fused_;
  const norm::KindRow* row_;
  const NormImplementation* implementation_;
  NormPath path_;
};

}  // namespace evenkeel::nn
