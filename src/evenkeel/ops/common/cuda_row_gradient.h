// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <cstdint>

#include "evenkeel/kernels/cuda/row_gradient.cuh"
#include "evenkeel/ops/common/cuda_adapter.h"
#include "evenkeel/ops/common/operands.h"

/// Shared by the CUDA adapters of norms: partial sums of the gradients of gains and biases.
namespace evenkeel::ops::cuda {

/// const_data(), or null for an undefined tensor.
template <typename T>
const KernelType<T>* data_or_null(const at::Tensor& tensor) {
  return tensor.defined() ? const_data<T>(tensor) : nullptr;
}

/// A contiguous tensor, or an undefined one.
inline at::Tensor contiguous_or_undefined(const OptionalTensor& tensor) {
  return tensor ? tensor->contiguous() : at::Tensor();
}

/// Uninitialized partial sums over the rows of x.
/// \param scalar_t  the dtype of x; or double, for partial sums in double of any x
template <typename scalar_t>
struct PartialSums {
  using T = KernelType<scalar_t>;
  using Sum = kernels::cuda::OpMathType<T>;

  std::int64_t count;
  at::Tensor dgain,
      dbias;  // [count, D], dtype of gains; undefined where the gradient is not needed

  PartialSums(const at::Tensor& x, bool has_gain, bool has_bias)
      : count(kernels::cuda::row_gradient_partials<T>(row_count(x), width_of(x))) {
    const auto options = x.options().dtype(c10::CppTypeToScalarType<Sum>::value);
    if (has_gain) dgain = at::empty({count, width_of(x)}, options);
    if (has_bias) dbias = at::empty({count, width_of(x)}, options);
  }
  kernels::cuda::RowGradientPartials<T> pointers() const {
    return {.count = count,
            .dgain = dgain.defined() ? mutable_data<Sum>(dgain) : nullptr,
            .dbias = dbias.defined() ? mutable_data<Sum>(dbias) : nullptr};
  }
};

/// The sum of partial sums [count, D], rounded to `dtype`: [D].
/// \param partials  float32 or float64
/// \param dtype     of partials, or float64
inline at::Tensor total_of(const at::Tensor& partials, at::ScalarType dtype) {
  auto total = at::empty({partials.size(1)}, partials.options().dtype(dtype));
  const auto add = [&]<typename P, typename G>() {
    check(kernels::cuda::row_gradient_total(const_data<P>(partials), partials.size(0),
                                            partials.size(1), mutable_data<G>(total), stream()));
  };
  if (partials.scalar_type() == at::kDouble) {
    add.operator()<double, double>();
  } else if (dtype == at::kDouble) {
    add.operator()<float, double>();
  } else {
    add.operator()<float, float>();
  }
  return total;
}

/// The gradient of a vector [D] from its partial sums; [0] if there is no vector.
/// \param partials  undefined if there is no vector
inline at::Tensor vector_gradient_from(const at::Tensor& partials, const OptionalTensor& vector,
                                       const at::Tensor& x) {
  return vector ? total_of(partials, vector->scalar_type()) : empty_vector_gradient(vector, x);
}

}  // namespace evenkeel::ops::cuda
