// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>
#include <string>
#include <vector>

#include "support/close.h"

namespace evenkeel::testing {

using Tensors = std::vector<at::Tensor>;

/// Results of an operator as a function of its tensors.
using Function = std::function<Tensors(const Tensors&)>;

/// The gradients of sum(upstream * outputs) with respect to `inputs`.
inline Tensors gradients(const Function& function, const Tensors& inputs, const Tensors& upstream) {
  Tensors leaves;
  for (const auto& input : inputs) leaves.push_back(input.detach().requires_grad_());
  return torch::autograd::grad(function(leaves), leaves, upstream);
}

/// Passes if both functions have the same gradients to 1e-10.
inline void expect_equal_gradients(const Function& fused, const Function& formula,
                                   const Tensors& inputs, const Tensors& upstream) {
  const auto actual = gradients(fused, inputs, upstream);
  const auto expected = gradients(formula, inputs, upstream);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_TRUE(close(actual[i], expected[i], 1e-10, 1e-12)) << "with respect to input " << i;
  }
}

/// Compares the gradients in float64 with central differences along one direction of each input.
inline void expect_finite_differences(const Function& function, const Tensors& inputs,
                                      const Tensors& upstream) {
  constexpr double kStep = 1e-5;  // error of the difference about step^2, of rounding 1e-16 / step
  const auto value = [&](const Tensors& at) {
    const auto outputs = function(at);
    double sum = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      sum += (outputs[i] * upstream[i]).sum().item<double>();
    }
    return sum;
  };
  const auto analytic = gradients(function, inputs, upstream);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto direction = at::randn_like(inputs[i]);
    auto above = inputs;
    auto below = inputs;
    above[i] = inputs[i] + kStep * direction;
    below[i] = inputs[i] - kStep * direction;
    const double numeric = (value(above) - value(below)) / (2 * kStep);
    const double along = (analytic[i] * direction).sum().item<double>();
    EXPECT_NEAR(along, numeric, 1e-6 * (1 + std::abs(numeric))) << "input " << i;
  }
}

/// What `call` throws, without the backtrace; empty if it throws nothing.
inline std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "";
}

}  // namespace evenkeel::testing
