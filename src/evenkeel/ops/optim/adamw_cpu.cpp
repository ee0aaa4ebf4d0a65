// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include "evenkeel/kernels/cpu/portable/adamw.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/optim/adamw_common.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

/// Values that one task updates and then rounds, while they still lie in the cache.
constexpr std::int64_t kChunk = 4096;

template <typename W, typename G>
void update(const AdamwBuffers& buffers, const kernels::AdamwFactors& factors) {
  auto* const weight = cpu::mutable_data<W>(buffers.weight);
  auto* const first = cpu::mutable_data<W>(buffers.first);
  auto* const second = cpu::mutable_data<W>(buffers.second);
  const auto* const gradient = cpu::const_data<G>(buffers.gradient, buffers.weight.numel());
  auto* const copy = buffers.copy ? cpu::mutable_data<at::BFloat16>(*buffers.copy) : nullptr;
  cpu::for_each_block(buffers.weight.numel(), kChunk,
                      [&](std::int64_t /*block*/, std::int64_t begin, std::int64_t end) {
                        kernels::cpu::adamw(weight + begin, first + begin, second + begin,
                                            gradient + begin, end - begin, factors);
                        if (copy == nullptr) return;
                        kernels::cpu::round_to_bf16(weight + begin, copy + begin, end - begin);
                      });
}

void adamw_in_place_cpu(Tensor& weight, Tensor& first, Tensor& second, const Tensor& gradient,
                        const std::optional<Tensor>& copy, double lr, double beta1, double beta2,
                        double epsilon, double weight_decay, double gradient_scale,
                        std::int64_t step) {
  const AdamwBuffers buffers{weight, first, second, gradient, copy};
  const AdamwStep options{lr, beta1, beta2, epsilon, weight_decay, gradient_scale, step};
  check_adamw(buffers, options);
  for (const auto& written : {weight, first, second}) bump_version(written);
  if (copy) bump_version(*copy);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, gradient.scalar_type(), "adamw_", [&] {
    if (weight.scalar_type() == at::kDouble) {
      update<double, scalar_t>(buffers, factors_of(options));
    } else {
      update<float, scalar_t>(buffers, factors_of(options));
    }
  });
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("adamw_", adamw_in_place_cpu);
}

}  // namespace evenkeel::ops
