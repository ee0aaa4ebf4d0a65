// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/util/intrusive_ptr.h>

#include <utility>

/// What a node of autograd takes from its forward to its backward pass beside tensors that autograd
/// watches: any C++ value, in AutogradContext::saved_data.
namespace evenkeel::ops {

template <typename T>
struct Carrier : torch::CustomClassHolder {
  explicit Carrier(T it) : value(std::move(it)) {}
  T value;
};

template <typename T>
at::IValue carried(T value) {
  return at::IValue::make_capsule(c10::make_intrusive<Carrier<T>>(std::move(value)));
}

/// \param by  what carried<T>() gave
template <typename T>
T& carried_value(const at::IValue& by) {
  return static_cast<Carrier<T>&>(*by.toCapsule()).value;
}

}  // namespace evenkeel::ops
