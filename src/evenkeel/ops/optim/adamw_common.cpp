// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/optim/adamw_common.h"

#include <cmath>

#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

void check_flat(const char* name, const at::Tensor& buffer, const at::Tensor& weight) {
  TORCH_CHECK(buffer.dim() == 1 && buffer.is_contiguous(), "[adamw_] ", name,
              " must be flat and contiguous, but is ", buffer.sym_sizes(), " with strides ",
              buffer.sym_strides());
  TORCH_CHECK(buffer.sym_size(0) == weight.sym_size(0) && buffer.device() == weight.device(),
              "[adamw_] ", name, " must be [", weight.sym_size(0), "] on ", weight.device(),
              " like weight, but is ", buffer.sym_sizes(), " on ", buffer.device());
}

}  // namespace

void check_adamw(const AdamwBuffers& buffers, const AdamwStep& step) {
  const auto& weight = buffers.weight;
  check_flat("weight", weight, weight);
  TORCH_CHECK(weight.scalar_type() == opmath_dtype(weight.scalar_type()),
              "[adamw_] weight must be float32 or float64, but is ",
              dtype_name(weight.scalar_type()));
  check_same("adamw_", "first", buffers.first, "weight", weight);
  check_same("adamw_", "second", buffers.second, "weight", weight);
  check_flat("first", buffers.first, weight);
  check_flat("second", buffers.second, weight);
  check_dtype("adamw_", "gradient", buffers.gradient);
  check_flat("gradient", buffers.gradient, weight);
  if (buffers.copy) {
    TORCH_CHECK(buffers.copy->scalar_type() == at::kBFloat16,
                "[adamw_] copy must be bfloat16, but is ", dtype_name(buffers.copy->scalar_type()));
    check_flat("copy", *buffers.copy, weight);
  }
  TORCH_CHECK(buffers.copy || !step.take_over,
              "[adamw_] take_over needs a copy in bfloat16, but copy is None; pass the copy");
  TORCH_CHECK(step.step >= 1, "[adamw_] step must be >= 1, but is ", step.step);
}

void begin_adamw(const AdamwBuffers& buffers, const AdamwStep& step) {
  check_adamw(buffers, step);
  for (const auto& written : {buffers.weight, buffers.first, buffers.second}) bump_version(written);
  if (buffers.copy) bump_version(*buffers.copy);
}

kernels::AdamwFactors factors_of(const AdamwStep& step) {
  const auto steps = static_cast<double>(step.step);
  return {.gradient_scale = step.gradient_scale,
          .beta1 = step.beta1,
          .beta2 = step.beta2,
          .decay = 1 - step.lr * step.weight_decay,
          .step_size = step.lr / (1 - std::pow(step.beta1, steps)),
          .root_scale = 1 / std::sqrt(1 - std::pow(step.beta2, steps)),
          .epsilon = step.epsilon};
}

}  // namespace evenkeel::ops
