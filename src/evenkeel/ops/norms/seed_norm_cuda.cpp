// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "evenkeel/kernels/cuda/seed_norm.cuh"
#include "evenkeel/ops/common/cuda_adapter.h"
#include "evenkeel/ops/common/cuda_vector_gradient.h"
#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cuda::const_data;
using cuda::KernelType;
using cuda::mutable_data;
using kernels::cuda::OpMathType;
using kernels::cuda::SeedNormMoments;

/// The parameters, [D] each, on the device of x.
struct SeedVectors {
  SeedVectors(const Tensor& x, const Tensor& alpha_of, const Tensor& beta_of,
              const OptionalTensor& gain_of, const OptionalTensor& bias_of)
      : alpha(vector_or(alpha_of, 1, x)),
        beta(vector_or(beta_of, 0, x)),
        gain(vector_or(gain_of, 1, x)),
        bias(vector_or(bias_of, 0, x)) {}
  template <typename scalar_t>
  kernels::cuda::SeedNormParameters<KernelType<scalar_t>> raw(double epsilon) const {
    using F = OpMathType<KernelType<scalar_t>>;
    return {const_data<F>(alpha), const_data<F>(beta), const_data<F>(gain), const_data<F>(bias),
            epsilon};
  }
  Tensor alpha, beta, gain, bias;
};

Tensor seed_norm_forward_cuda(const Tensor& x, const Tensor& alpha, const Tensor& beta,
                              const OptionalTensor& gain, const OptionalTensor& bias,
                              double epsilon) {
  const c10::cuda::CUDAGuard on_device_of_x(x.device());
  const auto rows = x.contiguous();
  const SeedVectors vectors(x, alpha, beta, gain, bias);
  auto y = empty_contiguous_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "seed_norm_forward", [&] {
    cuda::check(kernels::cuda::seed_norm<KernelType<scalar_t>>(
        const_data<scalar_t>(rows), vectors.raw<scalar_t>(epsilon), mutable_data<scalar_t>(y),
        row_count(x), width_of(x), cuda::stream()));
  });
  return y;
}

using Vectors = std::array<OptionalTensor, 4>;
using SeedNormGradients = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;

/// Whether a vector is one value for all of several features.
bool has_one_value(const Vectors& vectors, const Tensor& x) {
  return width_of(x) != 1 && std::any_of(vectors.begin(), vectors.end(), [](const auto& vector) {
           return vector && vector->size(0) == 1;
         });
}

SeedNormGradients seed_norm_backward_cuda(const Tensor& dy, const Tensor& x, const Tensor& alpha,
                                          const Tensor& beta, const OptionalTensor& gain,
                                          const OptionalTensor& bias, double epsilon);

/// The gradients where all features add up to one value, and may cancel: by the kernel for double.
SeedNormGradients gradients_in_double(const Tensor& dy, const Tensor& x, const Vectors& vectors,
                                      double epsilon) {
  const auto wide = [](const OptionalTensor& tensor) {
    return tensor ? OptionalTensor(tensor->to(at::kDouble)) : tensor;
  };
  auto [dx, dalpha, dbeta, dgain, dbias] =
      seed_norm_backward_cuda(dy.to(at::kDouble), x.to(at::kDouble), *wide(vectors[0]),
                              *wide(vectors[1]), wide(vectors[2]), wide(vectors[3]), epsilon);
  const auto narrow = vectors[0]->scalar_type();
  return {dx.to(x.scalar_type()), dalpha.to(narrow), dbeta.to(narrow), dgain.to(narrow),
          dbias.to(narrow)};
}

SeedNormGradients seed_norm_backward_cuda(const Tensor& dy, const Tensor& x, const Tensor& alpha,
                                          const Tensor& beta, const OptionalTensor& gain,
                                          const OptionalTensor& bias, double epsilon) {
  const c10::cuda::CUDAGuard on_device_of_x(x.device());
  if (x.scalar_type() != at::kDouble && has_one_value({alpha, beta, gain, bias}, x)) {
    return gradients_in_double(dy, x, {alpha, beta, gain, bias}, epsilon);
  }
  const auto upstream = dy.contiguous(), rows = x.contiguous();
  const SeedVectors vectors(x, alpha, beta, gain, bias);
  const auto count = row_count(x), width = width_of(x);
  auto dx = empty_contiguous_like(x);
  const auto sums = [&](bool is_wanted) {
    return cuda::empty_block_sums(count, is_wanted ? width : 0, x);
  };
  const auto alpha_sums = sums(true), beta_sums = sums(true);
  const auto gain_sums = sums(gain.has_value()), bias_sums = sums(bias.has_value());
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "seed_norm_backward", [&] {
    using F = OpMathType<KernelType<scalar_t>>;
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(SeedNormMoments<F>) / sizeof(F));
    const auto moments = at::empty({count, kSize}, vectors.gain.options());
    cuda::check(kernels::cuda::seed_norm_backward<KernelType<scalar_t>>(
        {.dy = const_data<scalar_t>(upstream),
         .x = const_data<scalar_t>(rows),
         .dx = mutable_data<scalar_t>(dx),
         .moments = reinterpret_cast<SeedNormMoments<F>*>(mutable_data<F>(moments)),
         .dalpha = mutable_data<double>(alpha_sums),
         .dbeta = mutable_data<double>(beta_sums),
         .dgain = gain ? mutable_data<double>(gain_sums) : nullptr,
         .dbias = bias ? mutable_data<double>(bias_sums) : nullptr},
        vectors.raw<scalar_t>(epsilon), count, width, cuda::stream()));
  });
  return {dx, cuda::vector_gradient_from_blocks(alpha_sums, alpha),
          cuda::vector_gradient_from_blocks(beta_sums, beta),
          cuda::vector_gradient_from_blocks(gain_sums, gain),
          cuda::vector_gradient_from_blocks(bias_sums, bias)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("seed_norm_forward", seed_norm_forward_cuda);
  m.impl("seed_norm_backward", seed_norm_backward_cuda);
}

}  // namespace evenkeel::ops
