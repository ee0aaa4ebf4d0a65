// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <cstddef>
#include <optional>
#include <vector>

/// Helpers for registration. An operator with a gradient has up to three source files:
///
///   X.cpp        schemas; evenkeel::X, one implementation for all dispatch keys: an
///                autograd::Function that calls evenkeel::X_forward and evenkeel::X_backward; Meta
///                kernels of both (shapes only); the C++ function ops::X()
///   X_cpu.cpp    CPU kernels of X_forward and X_backward, over raw pointers
///   X_cuda.cpp   CUDA kernels of both, in builds with CUDA
namespace evenkeel::ops {

/// Looks up an operator by name. Store the handle in a static variable.
template <typename Signature>
c10::TypedOperatorHandle<Signature> registered_operator(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

/// Converts an undefined tensor, as autograd returns it for absent saved tensors, to nullopt.
inline std::optional<at::Tensor> defined_or_none(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

/// The saved tensors of a backward pass. While it exists, operators of this thread are called
/// without autograd's dispatch, which takes some microseconds a call; not where gradients are
/// recorded (create_graph). The tensors are unpacked before: torch.utils.checkpoint then repeats a
/// forward pass, which must be recorded.
class SavedTensors {
 public:
  explicit SavedTensors(torch::autograd::AutogradContext* ctx)
      : tensors_(ctx->get_saved_variables()) {
    if (!at::GradMode::is_enabled()) guard_.emplace();
  }

  const at::Tensor& operator[](std::size_t i) const { return tensors_.at(i); }

 private:
  std::vector<at::Tensor> tensors_;
  std::optional<at::AutoDispatchBelowADInplaceOrView> guard_;
};

/// The autograd kernel of operators without a gradient: backward() throws.
inline torch::CppFunction autograd_not_implemented() {
  return torch::autograd::autogradNotImplementedFallback();
}

}  // namespace evenkeel::ops
