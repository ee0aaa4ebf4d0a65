// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/data/stop_wanted.h"
#include "evenkeel/data/text_encoding.h"
#include "evenkeel/data/text_files.h"

namespace evenkeel::data {

/// True if a text is so large that its tokens are not kept in memory.
bool is_large_text(const std::vector<TextFile>& files);

/// The paths of text files, with the digests of their content. Reads the files.
/// \throws Error (data, exit code 65) for a file that cannot be read
std::vector<Tokens::File> digests_of(const std::vector<TextFile>& files);

/// The folder with the tokens of a text: .evenkeel-cache/KEY in the current folder, or KEY in the
/// folder of the environment variable EVENKEEL_CACHE. If it is missing or damaged, the text is
/// encoded and the folder written first, as a PartFolder until it is complete; an error leaves none
/// of it, and what a killed process has left is removed. A process that finds another one at that
/// work waits for it (CacheLock). Where files cannot be locked, processes may encode the same text
/// at once: the first complete folder stays. KEY is a digest of the content of the files, of the
/// tokenizer, and of the keys of [data] that change the tokens.
/// \param digests  digests_of(files)
/// \param stop     asked after each block of the text; may be empty
/// \throws Error (data, exit code 65) as encode_files(); Error (io, exit code 74); Error (stopped,
///         exit code 130) where `stop` is true
std::string cached_tokens(const std::vector<TextFile>& files,
                          const std::vector<Tokens::File>& digests, const config::Data& data,
                          const TextEncoding& encoding, const StopWanted& stop = {});

/// The bytes of the text whose tokens a folder has, without end-of-text tokens.
/// \param folder  cached_tokens()
/// \throws Error (data, exit code 65; io, 74) if they are missing or damaged
TextBytes cached_text_bytes(const std::string& folder);

}  // namespace evenkeel::data
