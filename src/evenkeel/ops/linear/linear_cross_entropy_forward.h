// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <tuple>

/// The operators that compute the loss and its gradients in one pass, for the autograd function of
/// linear_cross_entropy(). `parts` is [2] in the dtype of the loss: the sums of LossSums.
namespace evenkeel::ops {

/// evenkeel::linear_cross_entropy_forward
/// \return loss, parts, dx and dweight; [0] for a gradient that is not required
using LinearCrossEntropyForwardSignature =
    std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>(
        const at::Tensor& x, const at::Tensor& weight, const at::Tensor& targets,
        std::int64_t vocabulary, double scale, std::optional<double> softcap, bool for_x,
        bool for_weight, double z_loss);

/// evenkeel::linear_cross_entropy_into, which overwrites dweight
/// \return loss, parts and dx
using LinearCrossEntropyIntoSignature = std::tuple<at::Tensor, at::Tensor, at::Tensor>(
    const at::Tensor& x, const at::Tensor& weight, const at::Tensor& targets,
    std::int64_t vocabulary, double scale, std::optional<double> softcap, const at::Tensor& dweight,
    double z_loss);

}  // namespace evenkeel::ops
