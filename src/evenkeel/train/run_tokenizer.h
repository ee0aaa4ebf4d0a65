// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/data/text_encoding.h"
#include "evenkeel/store/directory.h"

/// The copy of the tokenizer in a run folder, so that the trained model can be used without the
/// original file.
namespace evenkeel::train {

/// Copies the file of the tokenizer: tokenizer.json, tokenizer.model, or a .tiktoken file under its
/// own name, which selects its pattern. No effect for the tokenizer "bytes".
/// \param replaces  a copy of another content is replaced: the run is trained with this tokenizer
void copy_tokenizer(const data::TextEncoding& encoding, const store::Directory& run, bool replaces);

/// The path of the copy; `configured`, the value of data.tokenizer, if there is none.
/// \throws Error (io, exit code 74) if the copy is no regular file
std::string tokenizer_of_run(const store::Directory& run, const std::string& configured);

}  // namespace evenkeel::train
