// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>

namespace evenkeel::bench {

/// Seconds by operator ("aten::mm", "evenkeel::rms_norm_forward"), what it calls not included.
using OperatorSeconds = std::map<std::string, double>;

/// Runs `work` and asks LibTorch how long each of its operators took, on the calling thread.
OperatorSeconds seconds_by_operator(const std::function<void()>& work);

/// The part of a training step that an operator belongs to: "products", "attention", "norms",
/// "activation", "loss", "optimizer" or "other".
std::string step_part_of(const std::string& name);

}  // namespace evenkeel::bench
