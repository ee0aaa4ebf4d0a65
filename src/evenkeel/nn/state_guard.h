// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <map>
#include <string>

#include "evenkeel/nn/parameters.h"

namespace evenkeel::nn {

/// Copies the states of a model (PyTorch: buffers) and restores them in its destructor. Forward
/// passes in training update states, such as running means.
class StateGuard {
 public:
  /// \param parameters  must outlive the guard
  explicit StateGuard(const Parameters& parameters) : parameters_(parameters) {
    for (const auto& [name, state] : parameters.states()) copies_[name] = state.clone();
  }
  StateGuard(const StateGuard&) = delete;
  StateGuard& operator=(const StateGuard&) = delete;
  ~StateGuard() { restore(); }

  /// Sets the states to their copies, bit for bit.
  void restore() const {
    const at::NoGradGuard no_grad;
    for (const auto& [name, copy] : copies_) parameters_.find_state(name).copy_(copy);
  }

  /// Drops the copies: the destructor then restores nothing.
  void release() { copies_.clear(); }

 private:
  const Parameters& parameters_;
  std::map<std::string, at::Tensor> copies_;  // by the name of the state
};

}  // namespace evenkeel::nn
