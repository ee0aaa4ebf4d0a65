// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/data/shard_manifest.h"

namespace evenkeel::data {

/// Compares the files of a folder of shards with its manifest: sizes, digests, numbers of documents
/// and tokens, ids below the vocabulary, document bounds.
/// \throws Error (data, exit code 65) for the first difference
ShardManifest check_shards(const std::string& folder);

}  // namespace evenkeel::data
