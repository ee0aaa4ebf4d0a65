// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>

namespace evenkeel::bench {

/// Self time in seconds by operator ("aten::mm", "evenkeel::rms_norm_forward"), without callees.
using OperatorSeconds = std::map<std::string, double>;

/// Runs `work` and records the self time of each LibTorch operator on the calling thread.
OperatorSeconds seconds_by_operator(const std::function<void()>& work);

/// The part of a training step to which an operator belongs: "products" (GEMMs), "attention",
/// "norms", "activation", "loss", "optimizer" or "other".
std::string step_part_of(const std::string& name);

}  // namespace evenkeel::bench
