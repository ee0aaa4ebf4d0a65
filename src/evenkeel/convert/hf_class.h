// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/config/config.h"
#include "evenkeel/convert/hf_folder.h"
#include "evenkeel/convert/model_class.h"

namespace evenkeel::convert {

/// The class of a config.json; nullptr: EvenkeelForCausalLM.
/// \throws Error (data, exit code 65) for an unknown `model_type`
const ModelClass* imported_class(const HfConfig& hf);

/// Takes sizes and scheme of a native class from its config.json.
/// \param config  the defaults, or the configuration of an exported run: experts.balance and
///                experts.router_z of a mixture stay
/// \throws Error (data, exit code 65) for what our models do not have, by its key: scaled rotary
///         embedding, short windows, biases, other activations, quantized weights, ...
void take_class(const HfConfig& hf, const ModelClass& model_class, config::Config& config);

}  // namespace evenkeel::convert
