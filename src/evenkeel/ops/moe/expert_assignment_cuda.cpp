// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/kernels/cuda/expert_assignment.cuh"
#include "evenkeel/kernels/reduction_order.h"
#include "evenkeel/ops/common/cuda_adapter.h"
#include "evenkeel/ops/moe/expert_assignment_common.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> expert_assignment_cuda(const Tensor& scores_any,
                                                                          std::int64_t k) {
  const c10::cuda::CUDAGuard on_device_of_scores(scores_any.device());
  const auto scores = scores_any.contiguous();
  const auto [top_experts, permutation, token_of_row, inverse, offsets] =
      empty_expert_assignment(scores, k);
  const auto choices = top_experts.numel(), experts = scores.size(1);
  if (choices == 0) return {top_experts, permutation, token_of_row, inverse, offsets};
  auto* const expert = top_experts.mutable_data_ptr<std::int64_t>();
  AT_DISPATCH_FLOATING_TYPES(scores.scalar_type(), "expert_assignment", [&] {
    cuda::check(kernels::cuda::top_k(scores.const_data_ptr<scalar_t>(), scores.size(0), experts, k,
                                     expert, cuda::stream()));
  });
  const auto tiles = kernels::blocks_of(choices, kernels::cuda::kChoicesPerTile);
  const auto counts = at::empty({experts * tiles}, scores.options().dtype(at::kInt));
  cuda::check(kernels::cuda::count_choices(
      expert, choices, experts, counts.mutable_data_ptr<std::int32_t>(), cuda::stream()));
  const auto ends = at::cumsum(counts, 0, at::kLong);
  cuda::check(kernels::cuda::scatter_choices(
      {.expert = expert,
       .ends = ends.const_data_ptr<std::int64_t>(),
       .permutation = permutation.mutable_data_ptr<std::int64_t>(),
       .token_of_row = token_of_row.mutable_data_ptr<std::int64_t>(),
       .inverse_permutation = inverse.mutable_data_ptr<std::int64_t>(),
       .offsets = offsets.mutable_data_ptr<std::int64_t>(),
       .choices = choices,
       .experts = experts,
       .k = k},
      cuda::stream()));
  return {top_experts, permutation, token_of_row, inverse, offsets};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("expert_assignment", expert_assignment_cuda);
}

}  // namespace evenkeel::ops
