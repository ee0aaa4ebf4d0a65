// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/config/config.h"

/// What the inputs of data.train, data.validation and data.ood are, from their names and folders.
namespace evenkeel::data {

/// True if an input is text, of files or builtin, which a tokenizer encodes.
/// \throws Error (data, exit code 65) as builtin_of()
bool has_text(const config::Data& data);

/// Refuses keys of [data] that have no effect on its inputs: data.text_key without files of JSON or
/// parquet, data.token_type without token files, data.begin for token files whose tokenizer is
/// unknown, so that neither a text nor a prompt is encoded, and data.validation_fraction unless the
/// validation text is a part of files.
/// \throws Error (usage, exit code 64)
void check_unused_keys(const config::Data& data);

/// Refuses data.format where all texts of the run are builtin.
/// \throws Error (usage, exit code 64)
void check_unused_format(const config::Config& config);

}  // namespace evenkeel::data
