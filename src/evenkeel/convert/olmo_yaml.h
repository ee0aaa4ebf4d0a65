// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "evenkeel/convert/olmo_keys.h"

/// Configurations of OLMo (github.com/allenai/OLMo) and of the HybridNorm authors' code, which
/// extends it, as configurations of this program.
namespace evenkeel::convert {

/// The options of the import of a configuration.
struct YamlImportRequest {
  std::filesystem::path file;
  std::vector<std::string> arguments;  // of OLMo's program: "--model.d_model=64"; later ones win
};

/// An imported configuration.
struct YamlImport {
  std::string scheme;  // its name
  std::string toml;    // a file for --config, which ends with the keys that are not taken
  std::vector<ImportedKey> keys;  // all keys of the file, in its order
};

/// Reads a YAML file of OLMo's TrainConfig.
/// \throws Error (data, exit code 65) for a file that is not YAML or of OLMo-core, and for a value
///         that this program does not have, by file, line and key; (usage, 64) for an argument;
///         (io, 74)
YamlImport import_yaml(const YamlImportRequest& request);

/// "differs from OLMo", "unknown", ...: the use of a key in words.
const char* name_of(KeyUse use);

}  // namespace evenkeel::convert
