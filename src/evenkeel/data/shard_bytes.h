// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "evenkeel/data/corpus.h"
#include "evenkeel/data/shard_manifest.h"
#include "evenkeel/data/text_encoding.h"
#include "evenkeel/data/token_inputs.h"

/// What the manifests of shards say about their text.
namespace evenkeel::data {

/// The entry of a file in the manifest of an input; nullptr: there is none.
const Shard* shard_of(const TokenInput& input, const std::string& path);

/// The bytes of the text of the files of an input, with their end-of-text tokens: one byte each.
/// nullopt: a file is in no manifest, the manifest is of an earlier version, or the run has another
/// tokenizer.
std::optional<TextBytes> text_bytes_of(const TokenInput& input, const TextEncoding& encoding);

}  // namespace evenkeel::data
