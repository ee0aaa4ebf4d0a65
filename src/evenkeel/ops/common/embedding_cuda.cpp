// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sort.h>
#include <torch/library.h>

#include <type_traits>

#include "evenkeel/kernels/cuda/embedding_gradient.cuh"
#include "evenkeel/ops/common/cuda_adapter.h"
#include "evenkeel/ops/common/embedding_common.h"
#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

/// \param id     [n], sorted
/// \param place  [n]: the row of `dy` of each id
template <typename T, typename To>
void add_sorted_rows(const Tensor& gradient, const Tensor& dy, const Tensor& id,
                     const Tensor& place) {
  using Kernel = cuda::KernelType<T>;
  const auto count = dy.size(0), width = dy.size(1);
  const auto pieces = at::empty({kernels::cuda::embedding_gradient_scratch<Kernel>(count, width)},
                                dy.options().dtype(at::kByte));
  cuda::check(kernels::cuda::add_embedding_gradient<Kernel, cuda::KernelType<To>>(
      {.dy = cuda::const_data<T>(dy),
       .id = id.const_data_ptr<std::int64_t>(),
       .place = place.const_data_ptr<std::int64_t>(),
       .pieces = pieces.mutable_data_ptr(),
       .gradient = cuda::mutable_data<To>(gradient),
       .count = count,
       .rows = gradient.size(0),
       .width = width},
      cuda::stream()));
}

void add_embedding_gradient_cuda(const Tensor& gradient, const Tensor& dy_any, const Tensor& ids) {
  check_embedding_gradient(gradient, dy_any, ids);
  const c10::cuda::CUDAGuard on_device_of_dy(dy_any.device());
  const auto dy = dy_any.contiguous();
  const auto [id, place] = at::sort(ids, /*stable=*/true, /*dim=*/0, /*descending=*/false);
  bump_version(gradient);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, dy.scalar_type(), "embedding_backward", [&] {
    if constexpr (std::is_same_v<scalar_t, at::BFloat16>) {
      if (gradient.scalar_type() == at::kFloat) {
        return add_sorted_rows<scalar_t, float>(gradient, dy, id, place);
      }
    }
    add_sorted_rows<scalar_t, scalar_t>(gradient, dy, id, place);
  });
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("add_embedding_gradient_", add_embedding_gradient_cuda);
}

}  // namespace evenkeel::ops
