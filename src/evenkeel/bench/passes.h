// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "evenkeel/bench/buffers.h"
#include "evenkeel/bench/timing.h"

/// Converts functions of tensors to benchmark arms.
namespace evenkeel::bench {

/// An operator as a function from inputs to outputs.
using Function = std::function<Tensors(const Tensors&)>;

/// Times f without autograd. The inputs rotate, so that they are not in the cache.
Arm forward_arm(const std::string& name, const Function& f,
                const std::shared_ptr<RotatingBuffers<Tensors>>& inputs);

/// Times the backward pass of f for all inputs. The autograd graphs are recorded beforehand.
/// \param make   creates new inputs
/// \param bytes  memory traffic of one pass; it sets the number of graphs, so that none is in the
///               cache
Arm backward_arm(const std::string& name, const Function& f, const std::function<Tensors()>& make,
                 double bytes);

}  // namespace evenkeel::bench
