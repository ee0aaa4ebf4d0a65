// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <optional>

#include "evenkeel/kernels/cpu/portable/linear_cross_entropy.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cpu::KernelType;
using cpu::mutable_data;

/// The two losses of each row, [2, n], double; with its gradient written over the logits [n, V].
Tensor cross_entropy_rows_cpu(const Tensor& logits, const Tensor& targets, double scale,
                              std::optional<double> softcap, bool with_gradient, double z_loss) {
  TORCH_CHECK(logits.is_contiguous() && logits.dim() == 2,
              "[cross_entropy_rows_] logits must be [n, V] and contiguous");
  const auto width = logits.size(1);
  bump_version(logits);
  const auto contiguous_targets = targets.contiguous();
  const auto losses = at::empty({2, logits.size(0)}, logits.options().dtype(at::kDouble));
  const auto* const target_data = cpu::const_data<std::int64_t>(contiguous_targets, logits.size(0));
  auto* const loss = losses.mutable_data_ptr<double>();
  auto* const squared_lse = loss + logits.size(0);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, logits.scalar_type(), "cross_entropy_rows_", [&] {
    auto* const values = mutable_data<scalar_t>(logits);
    cpu::for_each_row(logits.size(0), [&](std::int64_t row) {
      TORCH_CHECK(target_data[row] < width, "[linear_cross_entropy] target ", target_data[row],
                  " is not below the vocabulary of ", width);
      const auto [cross_entropy, square] =
          kernels::cpu::cross_entropy_row<KernelType<scalar_t>>({.logits = values + row * width,
                                                                 .width = width,
                                                                 .target = target_data[row],
                                                                 .scale = scale,
                                                                 .cap = softcap.value_or(0),
                                                                 .z_loss = z_loss},
                                                                with_gradient);
      loss[row] = cross_entropy;
      squared_lse[row] = square;
    });
  });
  return losses;
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("cross_entropy_rows_", cross_entropy_rows_cpu);
}

}  // namespace evenkeel::ops
