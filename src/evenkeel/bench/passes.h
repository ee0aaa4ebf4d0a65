// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "evenkeel/bench/buffers.h"
#include "evenkeel/bench/timing.h"

/// Makes arms of a benchmark from functions of tensors.
namespace evenkeel::bench {

/// An operator: inputs to outputs.
using Function = std::function<Tensors(const Tensors&)>;

/// Times f without recording an autograd graph; the inputs rotate, so that they are not in cache.
Arm forward_arm(const std::string& name, const Function& f,
                std::shared_ptr<RotatingBuffers<Tensors>> inputs);

/// Times the gradients of f with respect to all its inputs. The graphs are recorded beforehand.
/// \param make   gives new inputs
/// \param bytes  memory traffic of one pass; so many graphs are made that none is in cache
Arm backward_arm(const std::string& name, const Function& f, const std::function<Tensors()>& make,
                 double bytes);

}  // namespace evenkeel::bench
