// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <tuple>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::nn {

/// One norm of a model with its parameters: x -> out_scale * (gain * statistic(x) + bias).
class NormLayer {
 public:
  /// \param norm       of a kind that not_run_yet() accepts
  /// \param variables  of its place; `width` is set here
  /// \param heads      vectors in the last axis of x that a norm of scope head sees apart
  /// \param gain, bias parameters as declare() lists them; undefined where the norm has none
  /// \param fused      false: run the formulas of ops/reference.h, as norms without a fused
  ///                   operator always do
  NormLayer(const norm::Norm& norm, norm::Variables variables, std::int64_t width,
            std::int64_t heads, at::Tensor gain, at::Tensor bias, bool fused);

  /// \param x  [..., width]; floating point
  /// \return the same shape and dtype
  at::Tensor operator()(const at::Tensor& x) const;

  /// (residual + branch, norm of it) in one pass, where the norm allows it.
  std::optional<std::tuple<at::Tensor, at::Tensor>> after_add(const at::Tensor& residual,
                                                              const at::Tensor& branch) const;

 private:
  std::optional<at::Tensor> gain_per_feature() const;
  at::Tensor statistic(const at::Tensor& x) const;
  bool is_plain_rms() const;

  norm::Norm norm_;
  std::int64_t features_;   // D: values that one statistic covers
  std::int64_t heads_;      // 1 for scope token
  double gain_factor_ = 1;  // of the stored parameter: gain_init / stored_at
  double out_scale_ = 1;
  at::Tensor gain_, bias_;
  bool fused_;
};

}  // namespace evenkeel::nn
