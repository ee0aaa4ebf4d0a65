// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// Words of PyTorch, Hugging Face and Megatron for our keys and schemes. Messages suggest the key
/// or the scheme; nothing is replaced silently.
namespace evenkeel::config {

/// The key with the meaning of an unknown one: "schedule.peak" for "optimizer.lr" and "lr". Only
/// the last part of the name counts, without case, '-' and '_'. A last part of exactly one key is
/// this key, whatever its table: "schedule.warmup" for "optimizer.warmup".
/// \return `name` where no synonym is known
std::string key_of_synonym(std::string_view name);

/// The catalogue scheme that a name is common for: "pre_norm" for "RMSNorm", "peri_ln" for
/// "Peri-LN". Case, '-', '_' and spaces do not count.
/// \return `name` where no synonym is known
std::string scheme_of_synonym(const std::string& name);

}  // namespace evenkeel::config
