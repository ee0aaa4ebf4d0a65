// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

/// Changes of the settings of a run at a resume, as `changes` in provenance.json lists them.
namespace evenkeel::store {

struct RunChange {
  std::int64_t step = 0;           // of the checkpoint from which the run was resumed
  std::string key, before, after;  // a key as in TOML, or "isa", "the digest of ..."
};

/// The list `changes` of a provenance.json or MANIFEST.json. Damaged entries are left out.
std::vector<RunChange> run_changes(const nlohmann::json& provenance);

/// Keys and tables that may change on resume, because they do not affect the weights.
const std::vector<std::string>& free_keys();

/// True for a key that sets the length of a run.
bool is_run_length(const std::string& key);

}  // namespace evenkeel::store
