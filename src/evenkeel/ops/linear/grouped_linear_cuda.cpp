// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/_grouped_mm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <tuple>
#include <vector>

#include "evenkeel/kernels/cuda/grouped_weight_gradient.cuh"
#include "evenkeel/ops/common/cuda_adapter.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/linear/grouped_linear_common.h"
#include "evenkeel/ops/linear/weight_gradient.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

/// The addresses and sizes that at::_grouped_mm takes: rows of whole 16 bytes, below 1,024 groups.
bool takes_grouped_mm(const Tensor& x, const Tensor& weight) {
  constexpr std::int64_t kMultiple = 8, kMostGroups = 1023;
  const auto is_aligned = [](const Tensor& each) {
    return reinterpret_cast<std::uintptr_t>(each.const_data_ptr()) % 16 == 0;
  };
  return x.scalar_type() == at::kBFloat16 && x.size(0) > 0 && weight.size(0) > 0 &&
         weight.size(0) <= kMostGroups && weight.size(1) > 0 && weight.size(2) > 0 &&
         weight.size(1) % kMultiple == 0 && weight.size(2) % kMultiple == 0 && is_aligned(x) &&
         is_aligned(weight);
}

/// Whether gradients of experts' weights use add_warpgroup_gradient(). Off: no GPU has run it yet.
std::atomic<bool> uses_warpgroup_gradient = false;

/// For tests and benchmarks: sets the above for all later calls of the process. Returns what it
/// was.
bool warpgroup_gradient(bool is_used) {
  return uses_warpgroup_gradient.exchange(is_used);
}

/// The last row of each group and one, as at::_grouped_mm takes them. [E], int32
Tensor ends_of_groups(const Tensor& offsets) {
  return offsets.narrow(0, 1, offsets.size(0) - 1).to(at::kInt);
}

/// Offsets on the host. This waits for the device.
std::vector<std::int64_t> host_offsets(const Tensor& offsets, std::int64_t rows) {
  const auto copy = offsets.contiguous().cpu();
  const auto* const start = copy.const_data_ptr<std::int64_t>();
  TORCH_CHECK(start[0] == 0 && start[copy.size(0) - 1] == rows &&
                  std::is_sorted(start, start + copy.size(0)),
              "[grouped_linear] offsets must begin with 0, end with ", rows,
              ", the rows of x, and never fall");
  return {start, start + copy.size(0)};
}

/// y = x w[e] for the rows of each group e.
/// \param w  [E, depth, columns]
Tensor multiply_groups(const Tensor& x, const Tensor& w, const Tensor& offsets) {
  if (takes_grouped_mm(x, w)) {
    return at::_grouped_mm(x, w, ends_of_groups(offsets)).contiguous();
  }
  const auto y = at::empty({x.size(0), w.size(2)}, x.options());
  const auto start = host_offsets(offsets, x.size(0));
  for (std::int64_t e = 0; e < w.size(0); ++e) {
    const auto begin = start[static_cast<std::size_t>(e)];
    const auto rows = start[static_cast<std::size_t>(e) + 1] - begin;
    if (rows == 0) continue;
    auto to = y.narrow(0, begin, rows);
    at::mm_out(to, x.narrow(0, begin, rows), w.select(0, e));
  }
  return y;
}

Tensor grouped_linear_forward_cuda(const Tensor& x_any, const Tensor& weight,
                                   const Tensor& offsets) {
  check_grouped_linear(x_any, weight, offsets);
  const c10::cuda::CUDAGuard on_device_of_x(x_any.device());
  return multiply_groups(x_any.contiguous(), weight.contiguous().transpose(1, 2), offsets);
}

/// sum[e] (+)= dy^T x over the rows of each group e.
void add_group_gradients(const Tensor& sum, const Tensor& dy, const Tensor& x,
                         const Tensor& offsets, bool is_first) {
  const auto start = host_offsets(offsets, x.size(0));
  for (std::int64_t e = 0; e < sum.size(0); ++e) {
    const auto begin = start[static_cast<std::size_t>(e)];
    const auto rows = start[static_cast<std::size_t>(e) + 1] - begin;
    const auto to = sum.select(0, e);
    if (rows == 0) {
      if (is_first) to.zero_();
      continue;
    }
    add_weight_gradient(to, dy.narrow(0, begin, rows), x.narrow(0, begin, rows), is_first);
  }
}

std::tuple<Tensor, Tensor> grouped_linear_backward_cuda(const Tensor& dy_any, const Tensor& x_any,
                                                        const Tensor& weight, const Tensor& offsets,
                                                        bool for_x, bool for_weight) {
  check_grouped_linear(x_any, weight, offsets);
  check_grouped_upstream(dy_any, x_any, weight);
  const c10::cuda::CUDAGuard on_device_of_x(x_any.device());
  const auto dy = dy_any.contiguous(), x = x_any.contiguous();
  const auto none = at::empty({0}, x.options());
  const auto dx = for_x ? multiply_groups(dy, weight.contiguous(), offsets) : none;
  if (!for_weight) return {dx, none};
  if (takes_grouped_mm(x, weight) && takes_grouped_mm(dy, weight)) {
    return {dx, at::_grouped_mm(dy.t(), x, ends_of_groups(offsets)).contiguous()};
  }
  const auto dweight = at::empty(weight.sizes(), weight.options());
  add_group_gradients(dweight, dy, x, offsets, /*is_first=*/true);
  return {dx, dweight};
}

void add_grouped_weight_gradient_cuda(const Tensor& sum, const Tensor& dy_any, const Tensor& x_any,
                                      const Tensor& offsets_any, bool is_first) {
  check_grouped_gradient(sum, dy_any, x_any, offsets_any);
  const c10::cuda::CUDAGuard on_device_of_x(x_any.device());
  const auto dy = dy_any.contiguous(), x = x_any.contiguous(), offsets = offsets_any.contiguous();
  bump_version(sum);
  if (x.scalar_type() == at::kBFloat16 && sum.scalar_type() == at::kFloat && sum.is_contiguous()) {
    const kernels::cuda::GroupedWeightGradient args = {
        .dy = cuda::const_data<at::BFloat16>(dy),
        .x = cuda::const_data<at::BFloat16>(x),
        .offsets = offsets.const_data_ptr<std::int64_t>(),
        .sum = cuda::mutable_data<float>(sum),
        .groups = sum.size(0),
        .rows = sum.size(1),
        .columns = sum.size(2),
        .is_first = is_first};
    if (uses_warpgroup_gradient && kernels::cuda::takes_warpgroup_gradient(args)) {
      return cuda::check(kernels::cuda::add_warpgroup_gradient(args, cuda::stream()));
    }
    if (kernels::cuda::takes_grouped_weight_gradient(args)) {
      return cuda::check(kernels::cuda::add_grouped_weight_gradient(args, cuda::stream()));
    }
  }
  add_group_gradients(sum, dy, x, offsets, is_first);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def("warpgroup_gradient(bool is_used) -> bool", warpgroup_gradient);
}

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("grouped_linear_forward", grouped_linear_forward_cuda);
  m.impl("grouped_linear_backward", grouped_linear_backward_cuda);
  m.impl("add_grouped_weight_gradient_", add_grouped_weight_gradient_cuda);
}

}  // namespace evenkeel::ops
