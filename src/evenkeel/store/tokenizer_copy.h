// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "evenkeel/store/directory.h"

namespace evenkeel::store {

/// The copy of a tokenizer in a run folder, so that the trained model can be used without the
/// original file. Its name is tokenizer.json, tokenizer.model, or that of a .tiktoken file, which
/// selects its pattern.
struct TokenizerCopy {
  std::string name, content;
};

/// Reads the file of a tokenizer.
/// \throws Error (io, exit code 74), as all functions here do
TokenizerCopy read_tokenizer(const std::filesystem::path& file);

/// Writes the copy, unless the run folder has a copy of any tokenizer.
void add_tokenizer(const Directory& run, const TokenizerCopy& copy);

/// Writes the copy. Another file of its name is renamed to earlier-tokenizer-DIGEST, with the first
/// 8 digits of its XXH3 digest and the ending of its kind; one of ranks to
/// NAME.earlier-tokenizer-DIGEST.
void write_tokenizer(const Directory& run, const TokenizerCopy& copy);

/// write_tokenizer(), then renames the copies of other names that have a digest: those of the
/// tokenizer before this one. Other files stay: a user may have put them there.
/// \param earlier_digest  XXH3 of the file; "": unknown
void replace_tokenizer(const Directory& run, const TokenizerCopy& copy,
                       const std::string& earlier_digest);

/// The path of a renamed copy with this digest; "": there is none.
std::string earlier_tokenizer(const Directory& run, const std::string& digest);

/// The path of the copy: that of the name that a copy of `configured` has, else that of another
/// name; `configured`, the value of data.tokenizer, if there is none.
std::string tokenizer_of_run(const Directory& run, const std::string& configured);

/// The path where tokenizer_of_run() finds a copy of `configured` first, for messages.
std::string tokenizer_copy_path(const Directory& run, const std::string& configured);

}  // namespace evenkeel::store
