// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/config/config.h"

namespace evenkeel::data {

/// Refuses keys of [data] that have no effect on its inputs: data.text_key without text files,
/// data.token_type without token files, and data.begin for token files whose tokenizer is unknown,
/// so that neither a text nor a prompt is encoded.
/// \throws Error (usage, exit code 64)
void check_unused_keys(const config::Data& data);

}  // namespace evenkeel::data
