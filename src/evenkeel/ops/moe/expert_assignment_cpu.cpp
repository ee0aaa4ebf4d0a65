// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include <tuple>
#include <utility>
#include <vector>

#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/moe/expert_assignment_common.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

/// Writes the indices of the k largest scores. A comparison with NaN is false, so that any k are
/// distinct.
template <typename T>
void select_top_k(const T* scores, std::int64_t experts, std::int64_t k, std::int64_t* chosen) {
  for (std::int64_t j = 0; j < k; ++j) {
    const auto is_free = [&](std::int64_t e) {
      for (std::int64_t i = 0; i < j; ++i) {
        if (chosen[i] == e) return false;
      }
      return true;
    };
    std::int64_t best = -1;
    for (std::int64_t e = 0; e < experts; ++e) {
      if ((best < 0 || scores[e] > scores[best]) && is_free(e)) best = e;
    }
    chosen[j] = best;
  }
}

/// Sorts the choices by expert with a stable counting sort. Blocks of choices are counted in
/// parallel, and sorted in parallel: the rows of an expert's choices in a block follow those in
/// earlier blocks.
void sort_by_expert(const ExpertAssignment& assignment) {
  constexpr std::int64_t kBlock = 4096;
  const auto choices = assignment.top_experts.numel();
  const auto k = assignment.top_k(), experts = assignment.experts();
  const auto* const expert = assignment.top_experts.const_data_ptr<std::int64_t>();
  const auto blocks = kernels::blocks_of(choices, kBlock);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(blocks * experts));
  auto* const next = counts.data();  // [blocks, experts]: the number, then the next row
  cpu::for_each_block(choices, kBlock,
                      [&](std::int64_t block, std::int64_t begin, std::int64_t end) {
                        for (auto i = begin; i < end; ++i) ++next[block * experts + expert[i]];
                      });
  auto* const offsets = assignment.offsets.mutable_data_ptr<std::int64_t>();
  std::int64_t row = 0;
  for (std::int64_t e = 0; e < experts; ++e) {
    for (std::int64_t block = 0; block < blocks; ++block) {
      const auto count = std::exchange(next[block * experts + e], row);
      row += count;
    }
    offsets[e + 1] = row;
  }
  auto* const permutation = assignment.permutation.mutable_data_ptr<std::int64_t>();
  auto* const token_of_row = assignment.token_of_row.mutable_data_ptr<std::int64_t>();
  auto* const inverse = assignment.inverse_permutation.mutable_data_ptr<std::int64_t>();
  cpu::for_each_block(choices, kBlock,
                      [&](std::int64_t block, std::int64_t begin, std::int64_t end) {
                        for (auto i = begin; i < end; ++i) {
                          const auto at = next[block * experts + expert[i]]++;
                          permutation[at] = i;
                          token_of_row[at] = i / k;
                          inverse[i] = at;
                        }
                      });
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> expert_assignment_cpu(const Tensor& scores_any,
                                                                         std::int64_t k) {
  const auto scores = scores_any.contiguous();
  const auto assignment = empty_expert_assignment(scores, k);
  const auto tokens = scores.size(0), experts = scores.size(1);
  auto* const top_experts = assignment.top_experts.mutable_data_ptr<std::int64_t>();
  AT_DISPATCH_FLOATING_TYPES(scores.scalar_type(), "expert_assignment", [&] {
    const auto* const from = scores.const_data_ptr<scalar_t>();
    cpu::for_each_row(tokens, [&](std::int64_t n) {
      select_top_k(from + n * experts, experts, k, top_experts + n * k);
    });
  });
  sort_by_expert(assignment);
  return {assignment.top_experts, assignment.permutation, assignment.token_of_row,
          assignment.inverse_permutation, assignment.offsets};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("expert_assignment", expert_assignment_cpu);
}

}  // namespace evenkeel::ops
