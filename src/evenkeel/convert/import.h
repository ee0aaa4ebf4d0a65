// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

/// Hugging Face models as runs.
namespace evenkeel::convert {

/// The options of `import`.
struct ImportRequest {
  std::filesystem::path folder;  // the Hugging Face model
  std::filesystem::path output;  // the new run
  bool overwrite = false;
  std::function<bool()> stop_wanted;  // true: stop, and remove what was written
};

/// What was imported.
struct ImportResult {
  std::string architecture, scheme;
  std::int64_t tensors = 0, parameters = 0;
  std::string tokenizer;  // "bytes", or the name of its file
  std::string recipe;     // one line: learning rate, warm-up, steps, batch, context
  std::vector<std::string> warnings;
};

/// Makes a run with one checkpoint, of step 0, from a Hugging Face model.
/// \throws Error (data, exit code 65) for a damaged model, or one that our models cannot express,
///         by file and key; (usage, 64) if the output exists; (io, 74); (stopped, 130)
ImportResult import_model(const ImportRequest& request);

}  // namespace evenkeel::convert
