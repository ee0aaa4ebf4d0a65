// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/convert/weights.h"
#include "evenkeel/data/text_encoding.h"
#include "evenkeel/data/token_corpus.h"
#include "evenkeel/norm/parameter_specs.h"
#include "evenkeel/norm/scheme.h"
#include "evenkeel/store/checkpoint.h"

namespace evenkeel::convert {

/// A run whose checkpoints are exported.
struct RunSource {
  std::filesystem::path folder;
  std::string run_toml;   // the configuration in the manifest of the checkpoint
  config::Config config;  // data.tokenizer is the copy in the run folder
  std::shared_ptr<const data::TextEncoding> encoding;
  data::TrainedOn training;
  norm::Steps steps;                                   // of the last checkpoint, and planned
  norm::Scheme scheme;                                 // bound
  std::int64_t rows = 0;                               // of the embedding, padding rows included
  std::vector<norm::ParameterSpec> specs;              // all tensors
  std::vector<store::VerifiedCheckpoint> checkpoints;  // the last one, or several to be averaged
  std::vector<std::string> skipped;                    // newer checkpoints that are damaged
  Weights weights;                                     // the mean over `checkpoints`

  /// False: trained on token files of an unknown tokenizer.
  bool has_tokenizer() const { return training.knows_tokenizer; }
};

/// Opens a run and verifies its checkpoints. No tensor is read.
/// \param checkpoint  "120" or "step-120"; "best": the lowest validation loss; nullopt: the newest
///                    valid one
/// \param average     number of checkpoints, the last one included; more than 1 leaves out random
///                    weights at step 0
/// \throws Error (usage, exit code 64) for another word; (no_checkpoint, 77) if the folder is no
///         run, or lacks a valid checkpoint; (data, 65) if the tensors differ from the model;
///         (differs, 78) if the tokenizer in the folder is not that of the training
RunSource open_run_source(const std::filesystem::path& run,
                          const std::optional<std::string>& checkpoint, std::int64_t average);

/// Rows of an embedding: the vocabulary, rounded up to a multiple of model.pad_vocabulary_to.
std::int64_t padded_rows(const config::Model& model, std::int64_t vocabulary);

}  // namespace evenkeel::convert
