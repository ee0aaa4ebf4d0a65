// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/kernels/cpu/portable/seed_norm.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/rows_view.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cpu::const_data;
using cpu::KernelType;
using cpu::mutable_data;
using kernels::cpu::OpMathType;

/// The parameters, [D] each.
struct SeedNormVectors {
  SeedNormVectors(const Tensor& x, const Tensor& alpha_of, const Tensor& beta_of,
                  const OptionalTensor& gain_of, const OptionalTensor& bias_of)
      : alpha(vector_or(alpha_of, 1, x)),
        beta(vector_or(beta_of, 0, x)),
        gain(vector_or(gain_of, 1, x)),
        bias(vector_or(bias_of, 0, x)) {}
  template <typename scalar_t>
  kernels::cpu::SeedNormParameters<KernelType<scalar_t>> raw(double epsilon,
                                                             std::int64_t width) const {
    using F = OpMathType<KernelType<scalar_t>>;
    return {const_data<F>(alpha, width), const_data<F>(beta, width), const_data<F>(gain, width),
            const_data<F>(bias, width), epsilon};
  }
  Tensor alpha, beta, gain, bias;
};

Tensor seed_norm_forward_cpu(const Tensor& x, const Tensor& alpha, const Tensor& beta,
                             const OptionalTensor& gain, const OptionalTensor& bias,
                             double epsilon) {
  const auto rows = rows_view(x);
  const SeedNormVectors vectors(x, alpha, beta, gain, bias);
  const auto width = width_of(x);
  auto y = empty_contiguous_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "seed_norm_forward", [&] {
    const auto parameters = vectors.raw<scalar_t>(epsilon, width);
    const auto* const from = const_data<scalar_t>(rows.tensor);
    auto* const to = mutable_data<scalar_t>(y);
    cpu::for_each_row(row_count(x), [&](std::int64_t row) {
      kernels::cpu::seed_norm_row(from + rows.offset(row), parameters, to + row * width, width);
    });
  });
  return y;
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> seed_norm_backward_cpu(
    const Tensor& dy, const Tensor& x, const Tensor& alpha, const Tensor& beta,
    const OptionalTensor& gain, const OptionalTensor& bias, double epsilon) {
  const auto upstream = dy.contiguous();
  const auto rows = rows_view(x);
  const SeedNormVectors vectors(x, alpha, beta, gain, bias);
  const auto width = width_of(x);
  auto dx = empty_contiguous_like(x);
  const auto alpha_sums = zero_block_sums(x), beta_sums = zero_block_sums(x),
             gain_sums = zero_block_sums(x);
  const auto bias_sums = bias ? zero_block_sums(x) : Tensor();
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "seed_norm_backward", [&] {
    const auto parameters = vectors.raw<scalar_t>(epsilon, width);
    const auto* const dy_rows = const_data<scalar_t>(upstream, x.numel());
    const auto* const x_rows = const_data<scalar_t>(rows.tensor);
    auto* const to = mutable_data<scalar_t>(dx);
    auto* const dalpha = mutable_data<double>(alpha_sums);
    auto* const dbeta = mutable_data<double>(beta_sums);
    auto* const dgain = mutable_data<double>(gain_sums);
    auto* const dbias = bias ? mutable_data<double>(bias_sums) : nullptr;
    cpu::for_each_row_of_blocks(row_count(x), [&](std::int64_t row, std::int64_t block) {
      kernels::cpu::seed_norm_row_backward<KernelType<scalar_t>>(
          {.dy = dy_rows + row * width,
           .x = x_rows + rows.offset(row),
           .dx = to + row * width,
           .dalpha = dalpha + block * width,
           .dbeta = dbeta + block * width,
           .dgain = dgain + block * width,
           .dbias = dbias == nullptr ? nullptr : dbias + block * width},
          parameters, width);
    });
  });
  return {dx, cpu::vector_gradient_from_blocks(alpha_sums, alpha),
          cpu::vector_gradient_from_blocks(beta_sums, beta),
          cpu::vector_gradient_from_blocks(gain_sums, gain),
          cpu::vector_gradient_from_blocks(bias_sums, bias)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("seed_norm_forward", seed_norm_forward_cpu);
  m.impl("seed_norm_backward", seed_norm_backward_cpu);
}

}  // namespace evenkeel::ops
