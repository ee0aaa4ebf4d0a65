// SPDX-License-Identifier: Apache-2.0
#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <torch/library.h>

#include <vector>

/// Operators that have no CUDA kernel run on the CPU when they are called with CUDA tensors: right,
/// and slow. `evenkeel bench step` shows what they cost.
namespace evenkeel::ops {

namespace {

at::IValue moved(const at::IValue& value, at::Device device) {
  if (!value.isTensor() || !value.toTensor().defined()) return value;
  return value.toTensor().to(device);
}

/// Calls the CPU kernel with copies of the tensors; copies what the operator writes back.
void call_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& schema = op.schema();
  TORCH_CHECK_NOT_IMPLEMENTED(schema.getNamespace() == "evenkeel", schema.name(),
                              " has no kernel for CUDA tensors");
  const auto count = schema.arguments().size();
  const auto given = torch::jit::last(*stack, count).vec();
  at::Device device = at::kCUDA;
  std::vector<at::IValue> on_cpu;
  for (const auto& value : given) {
    if (value.isTensor() && value.toTensor().is_cuda()) device = value.toTensor().device();
    on_cpu.push_back(moved(value, at::kCPU));
  }
  torch::jit::drop(*stack, count);
  for (const auto& value : on_cpu) stack->push_back(value);
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  for (std::size_t i = 0; i < count; ++i) {
    const auto* const alias = schema.arguments()[i].alias_info();
    const bool is_written = alias != nullptr && alias->isWrite() && given[i].isTensor();
    if (is_written) given[i].toTensor().copy_(on_cpu[i].toTensor());
  }
  const auto results = schema.returns().size();
  for (std::size_t i = stack->size() - results; i < stack->size(); ++i) {
    (*stack)[i] = moved((*stack)[i], device);
  }
}

}  // namespace

// For every library: LibTorch calls it only for operators without a kernel for CUDA tensors.
TORCH_LIBRARY_IMPL(_, CUDA, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&call_on_cpu>());
}

}  // namespace evenkeel::ops
