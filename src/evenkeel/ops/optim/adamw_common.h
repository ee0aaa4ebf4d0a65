// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/Dispatch.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "evenkeel/kernels/adamw_factors.h"
#include "evenkeel/ops/optim/adamw.h"

/// Shared by the CPU and CUDA adapters of adamw_.
namespace evenkeel::ops {

/// \throws c10::Error, which begins with [adamw_], if buffers do not fit each other or the step
void check_adamw(const AdamwBuffers& buffers, const AdamwStep& step);

/// check_adamw(), then bump_version() of all tensors that the step writes.
void begin_adamw(const AdamwBuffers& buffers, const AdamwStep& step);

/// The coefficients of the element-wise update, computed from the hyperparameters.
kernels::AdamwFactors factors_of(const AdamwStep& step);

/// Calls update.operator()<W, G>() with the types of weight and gradient.
template <typename Update>
void dispatch_adamw(const AdamwBuffers& buffers, const Update& update) {
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, buffers.gradient.scalar_type(), "adamw_", [&] {
    if (buffers.weight.scalar_type() == at::kDouble) {
      update.template operator()<double, scalar_t>();
    } else {
      update.template operator()<float, scalar_t>();
    }
  });
}

/// adamw_ with the arguments of its schema: one device's kernel, which takes them as two structs.
template <void (*kKernel)(const AdamwBuffers&, const AdamwStep&)>
void adamw_of_arguments(at::Tensor& weight, at::Tensor& first, at::Tensor& second,
                        const at::Tensor& gradient, const std::optional<at::Tensor>& copy,
                        double lr, double beta1, double beta2, double epsilon, double weight_decay,
                        double gradient_scale, std::int64_t step, bool take_over) {
  kKernel({weight, first, second, gradient, copy},
          {lr, beta1, beta2, epsilon, weight_decay, gradient_scale, step, take_over});
}

using AdamwSignature = decltype(adamw_of_arguments<nullptr>);

}  // namespace evenkeel::ops
