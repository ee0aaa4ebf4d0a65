// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "evenkeel/bench/buffers.h"
#include "evenkeel/bench/timing.h"

/// Arms out of functions of tensors.
namespace evenkeel::bench {

using Function = std::function<Tensors(const Tensors&)>;

/// f without a graph.
Arm forward_arm(const std::string& name, const Function& f,
                std::shared_ptr<RotatingBuffers<Tensors>> inputs);

/// The gradient of f with respect to all its inputs, of graphs that were made before.
/// \param make   inputs
/// \param bytes  that one pass moves: there are so many graphs that none is in cache
Arm backward_arm(const std::string& name, const Function& f, const std::function<Tensors()>& make,
                 double bytes);

}  // namespace evenkeel::bench
