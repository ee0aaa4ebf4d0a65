// SPDX-License-Identifier: Apache-2.0
#include <torch/library.h>

#include "evenkeel/kernels/cpu/portable/adamw.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/optim/adamw_common.h"

namespace evenkeel::ops {

namespace {

/// Values that one task updates and then rounds, while they are still in the cache.
constexpr std::int64_t kChunk = 4096;

template <typename W, typename G>
void update(const AdamwBuffers& buffers, const kernels::AdamwFactors& factors, bool take_over) {
  auto* const weight = cpu::mutable_data<W>(buffers.weight);
  auto* const first = cpu::mutable_data<W>(buffers.first);
  auto* const second = cpu::mutable_data<W>(buffers.second);
  const auto* const gradient = cpu::const_data<G>(buffers.gradient, buffers.weight.numel());
  auto* const copy = buffers.copy ? cpu::mutable_data<at::BFloat16>(*buffers.copy) : nullptr;
  cpu::for_each_block(buffers.weight.numel(), kChunk,
                      [&](std::int64_t /*block*/, std::int64_t begin, std::int64_t end) {
                        if (take_over) {
                          kernels::cpu::take_over_bf16(copy + begin, weight + begin, end - begin);
                        }
                        kernels::cpu::adamw(weight + begin, first + begin, second + begin,
                                            gradient + begin, end - begin, factors);
                        if (copy == nullptr) return;
                        kernels::cpu::round_to_bf16(weight + begin, copy + begin, end - begin);
                      });
}

void adamw_cpu(const AdamwBuffers& buffers, const AdamwStep& step) {
  begin_adamw(buffers, step);
  const auto factors = factors_of(step);
  dispatch_adamw(buffers,
                 [&]<typename W, typename G>() { update<W, G>(buffers, factors, step.take_over); });
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("adamw_", adamw_of_arguments<adamw_cpu>);
}

}  // namespace evenkeel::ops
