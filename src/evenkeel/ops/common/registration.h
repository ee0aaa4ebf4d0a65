// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <optional>

/// What every operator file needs to register itself. An operator with a gradient is four files:
///
///   X.cpp        schemas; evenkeel::X, one body for all keys around an autograd::Function, which
///                calls evenkeel::X_forward and evenkeel::X_backward; the C++ entry ops::X()
///   X_cpu.cpp    kernels of X_forward and X_backward, over raw pointers
///   X_cuda.cpp   the same, where CUDA is built in
///   X_meta.cpp   the same, shapes only
namespace evenkeel::ops {

/// The operator of this name; look it up once, into a static.
template <typename Signature>
c10::TypedOperatorHandle<Signature> registered_operator(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

/// The tensor, or none if it is undefined: as saved tensors and gradients come back from autograd.
inline std::optional<at::Tensor> defined_or_none(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

/// For operators without a gradient of their own: calls the kernel, and refuses in backward().
inline torch::CppFunction autograd_not_implemented() {
  return torch::autograd::autogradNotImplementedFallback();
}

}  // namespace evenkeel::ops
