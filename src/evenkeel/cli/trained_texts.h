// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/cli/verb.h"
#include "evenkeel/data/load_corpora.h"

namespace evenkeel::cli {

/// True if a --set names `key`, or a key in that table.
bool is_set(const CommonOptions& common, const std::string& key);

/// Compares the validation text and data.ood of --run with the digests of provenance.json: the
/// losses on a text that has changed are not those of the run. A text is not compared if the
/// command sets keys of [data] that choose it, or if provenance.json has no digest (imported
/// models).
/// \param corpora  as the command loads them
/// \throws Error (differs, exit code 78) for the first text that differs
void check_trained_texts(const CommonOptions& common, const data::Corpora& corpora);

}  // namespace evenkeel::cli
