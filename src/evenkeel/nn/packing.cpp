// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/packing.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "evenkeel/nn/positions.h"
#include "evenkeel/ops/common/cpu_adapter.h"

namespace evenkeel::nn {

namespace {

/// Attention of one segment to its sequence. [1, h, count, dk]
at::Tensor segment_attention(const AttentionInputs& all, const Packing& packing, std::size_t index,
                             const std::function<at::Tensor(const AttentionInputs&)>& attend) {
  const auto& segment = packing.segments[index];
  auto inputs = all;
  inputs.k = packing.gather(all.k, index, 2);
  inputs.v = packing.gather(all.v, index, 2);
  // The operator sums the keys of a single query in another order than those of several. So the
  // token before it is a query, too.
  const bool takes_previous = segment.count == 1 && segment.parent.has_value();
  if (takes_previous) {
    const auto& parent = packing.segments[*segment.parent];
    const auto previous = parent.first + segment.position - parent.position - 1;
    const auto pair = at::tensor({previous, segment.first}, all.q.options().dtype(at::kLong));
    inputs.q = all.q.index_select(2, pair);
    if (all.document_starts.defined()) {
      inputs.document_starts = all.document_starts.index_select(1, pair);
    }
    return attend(inputs).narrow(2, 1, 1);
  }
  inputs.q = all.q.narrow(2, segment.first, segment.count);
  if (all.document_starts.defined()) {
    inputs.document_starts = all.document_starts.narrow(1, segment.first, segment.count);
  }
  return attend(inputs);
}

}  // namespace

at::Tensor Packing::positions(std::int64_t tokens) const {
  auto result = at::zeros({tokens}, at::kLong);
  auto* const position = result.mutable_data_ptr<std::int64_t>();
  for (const auto& segment : segments) {
    for (std::int64_t i = 0; i < segment.count; ++i) {
      position[segment.first + i] = segment.position + i;
    }
  }
  return result;
}

at::Tensor Packing::gather(const at::Tensor& x, std::size_t segment, std::int64_t dim) const {
  std::vector<at::Tensor> parts;
  auto end = segments[segment].position + segments[segment].count;
  for (std::optional<std::size_t> at = segment; at; at = segments[*at].parent) {
    const auto& [first, count, position, parent] = segments[*at];
    parts.push_back(x.narrow(dim, first, end - position));
    end = position;
  }
  if (parts.size() == 1) return parts.front();
  std::reverse(parts.begin(), parts.end());
  return at::cat(parts, dim);
}

at::Tensor Packing::document_starts(const at::Tensor& ids, std::int64_t end) const {
  auto result = at::zeros(ids.sizes(), ids.options().dtype(at::kInt));
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const auto& [first, count, position, parent] = segments[i];
    const auto starts = find_document_starts(gather(ids, i, 1), end, 0, {}).of_tokens;
    result.narrow(1, first, count).copy_(starts.narrow(1, position, count));
  }
  return result;
}

at::Tensor packed_attention(const AttentionInputs& inputs, const Packing& packing,
                            const std::function<at::Tensor(const AttentionInputs&)>& attend) {
  const auto& q = inputs.q;
  // Token by token in memory, as the output projection reads it.
  const auto y = at::zeros({1, q.size(2), q.size(1), q.size(3)}, q.options()).transpose(1, 2);
  const auto one = [&](std::int64_t index) {
    const auto& segment = packing.segments[static_cast<std::size_t>(index)];
    y.narrow(2, segment.first, segment.count)
        .copy_(segment_attention(inputs, packing, static_cast<std::size_t>(index), attend));
  };
  const auto several = [&](std::int64_t begin, std::int64_t end) {
    const at::NoGradGuard no_grad;  // of this thread
    for (auto index = begin; index < end; ++index) one(index);
  };
  const auto segments = static_cast<std::int64_t>(packing.segments.size());
  if (q.is_cpu()) {
    ops::cpu::parallel_for(0, segments, /*grain=*/1, several);
  } else {
    several(0, segments);
  }
  return y;
}

}  // namespace evenkeel::nn
