// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "evenkeel/cli/tokenize_options.h"
#include "evenkeel/data/text_encoding.h"
#include "evenkeel/data/text_files.h"
#include "evenkeel/data/token_writer.h"

namespace evenkeel::cli {

/// The manifest of shards, and what their texts have apart from documents.
struct WrittenShards {
  data::ShardManifest manifest;
  data::JsonCounts counts;
};

/// Encodes the files of `tokenize`, and completes the shards. Prints the progress. Catches SIGINT,
/// SIGTERM and SIGHUP.
/// \param data  as find_text_files() took it
/// \throws Error (data, exit code 65) as encode_files(), and if no line can be used; (stopped, exit
///         code 130) after a signal: the complete shards stay, and the message says so
WrittenShards encode_shards(data::TokenWriter& writer, const TokenizeOptions& options,
                            const std::vector<data::TextFile>& files, const config::Data& data,
                            const data::TextEncoding& encoding);

}  // namespace evenkeel::cli
