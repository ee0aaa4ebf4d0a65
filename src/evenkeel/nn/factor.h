// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "evenkeel/norm/scheme.h"

namespace evenkeel::nn {

/// A number of a rule in the forward pass: fixed by a formula, or read from a parameter.
class Factor {
 public:
  Factor() = default;
  explicit Factor(double fixed) : fixed_(fixed) {}
  /// \param parameter  [1] or [n], what parameter_specs() lists under the number's name; undefined
  /// for a
  ///                   number that is not learned
  Factor(const norm::Number& number, const norm::Variables& variables, at::Tensor parameter);

  bool is_learned() const { return parameter_.defined(); }
  /// Of a number that is not learned.
  double fixed() const { return fixed_; }

  /// Of a learned one, with its gradient: transform(parameter * init / stored_at), at most at_most.
  /// [1] or [n], float32 or wider
  at::Tensor value() const;

  /// value * x, for x [..., D] and n = D. The shape and dtype of x.
  at::Tensor operator()(const at::Tensor& x) const;

 private:
  double fixed_ = 1;
  at::Tensor parameter_;
  norm::Learned::Transform transform_ = norm::Learned::Transform::identity;
  double stored_factor_ = 1;  // init / stored_at
  std::optional<double> at_most_;
};

}  // namespace evenkeel::nn
