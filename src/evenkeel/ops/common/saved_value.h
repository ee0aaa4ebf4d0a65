// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/util/intrusive_ptr.h>

#include <utility>

/// Any C++ value that an autograd node saves for its backward pass, in AutogradContext::saved_data;
/// for tensors there is save_for_backward().
namespace evenkeel::ops {

template <typename T>
struct SavedValue : torch::CustomClassHolder {
  explicit SavedValue(T initial) : value(std::move(initial)) {}
  T value;
};

template <typename T>
at::IValue saved_value(T value) {
  return at::IValue::make_capsule(c10::make_intrusive<SavedValue<T>>(std::move(value)));
}

/// \param saved  the result of saved_value<T>()
template <typename T>
T& saved_value_as(const at::IValue& saved) {
  return static_cast<SavedValue<T>&>(*saved.toCapsule()).value;
}

}  // namespace evenkeel::ops
