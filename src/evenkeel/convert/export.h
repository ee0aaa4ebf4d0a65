// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/store/safetensors.h"

/// Checkpoints as Hugging Face models.
namespace evenkeel::convert {

/// The options of `export`.
struct ExportRequest {
  std::filesystem::path run, output;
  std::optional<std::string> checkpoint;  // "120", "step-120", "best"; nullopt: newest
  std::string as = "auto";                // "auto", a name of model_classes(), "evenkeel", "gguf"
  std::string dtype = "float32";
  std::uint64_t shard_bytes = 0;  // the most tensor bytes of a file; 0: one file
  std::int64_t average = 1;       // checkpoints whose mean is exported
  bool padded = false;            // native classes: the embedding keeps its padding rows
  bool overwrite = false;
  std::string command;                // for the model card
  std::function<bool()> stop_wanted;  // true: stop, and remove what was written
  /// Called after each tensor.
  std::function<void(std::uint64_t done, std::uint64_t all)> progress;
};

/// What was exported.
struct ExportResult {
  std::string architecture;  // "LlamaForCausalLM"
  std::string reason;        // why this class
  std::int64_t step = 0;
  std::vector<std::int64_t> averaged;  // the steps of the checkpoints; empty: one
  std::int64_t tensors = 0;
  std::uint64_t bytes = 0;            // of the tensors
  std::vector<std::string> files;     // names, sorted
  std::vector<std::string> warnings;  // for people: leaks, damaged checkpoints
};

/// The names that --as takes.
std::vector<std::string> export_formats();

/// A size: "5G" is 5e9 bytes, "300M", "20K" or a plain number.
/// \throws Error (usage, exit code 64) for another word
std::uint64_t parse_size(const std::string& word);

/// Exports a checkpoint. Tensors are read and written in parts.
/// \throws Error (usage, exit code 64) if the model does not fit --as, with the first difference;
///         (no_checkpoint, 77) without a valid checkpoint; (data, 65) if it is damaged; (io, 74);
///         (stopped, 130)
ExportResult export_model(const ExportRequest& request);

}  // namespace evenkeel::convert
