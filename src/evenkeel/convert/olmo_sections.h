// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/config/config.h"
#include "evenkeel/convert/olmo_keys.h"

/// The parts of an OLMo configuration. Each function reads its keys, fills in their values and
/// those of OLMo's defaults, and notes what it does with each key.
/// All throw Error (data, exit code 65) for a value that this program does not have, by key.
namespace evenkeel::convert {

/// `model`: sizes, scheme, initial weights.
void take_olmo_model(OlmoKeys& keys, config::Config& config);

/// `optimizer`, `scheduler` and the keys at the top level; after take_olmo_model(), whose context
/// is the length of a sequence.
void take_olmo_training(OlmoKeys& keys, config::Config& config);

/// `data`, `tokenizer`, `evaluators`.
void take_olmo_data(OlmoKeys& keys, config::Config& config);

}  // namespace evenkeel::convert
