// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::nn {

/// A factor in the forward pass, fixed by an expression or trained: value * x.
class Factor {
 public:
  /// The fixed factor 1.
  Factor() : Factor(1) {}
  explicit Factor(double fixed) : number_(norm::Expression(fixed)), fixed_(fixed) {}
  /// \param variables  expression variables of the slot
  /// \param parameter  [1] or [n], float32 or float64: the tensor in parameter_specs() of a
  ///                   trained number; undefined for a fixed number
  Factor(norm::Number number, const norm::Variables& variables, at::Tensor parameter);

  /// True if the factor is trained.
  bool is_learned() const { return parameter_.defined(); }
  /// The value of a fixed factor.
  double fixed() const { return fixed_; }

  /// The value of a trained factor, differentiable:
  ///   min(at_most, transform(parameter * init / stored_at))
  /// \return [1] or [n], float32 or wider
  at::Tensor value() const;

  /// value * x.
  /// \param x  [..., D], D = n
  /// \return the shape and dtype of x
  at::Tensor operator()(const at::Tensor& x) const;

  /// Re-evaluates the expressions.
  /// \return true if an expression names t, the step
  bool set_step(const norm::Variables& variables);

 private:
  norm::Number number_;
  at::Tensor parameter_;
  double fixed_ = 1;
  double stored_factor_ = 1;  // init / stored_at
  std::optional<double> at_most_;
};

}  // namespace evenkeel::nn
