// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/train/open_run.h"
#include "evenkeel/train/run_setup.h"

namespace evenkeel::train {

/// The provenance of a run: program, machine, model and texts, and the changes that --override
/// allowed since the start.
class RunProvenance {
 public:
  /// Both must outlive it.
  RunProvenance(const config::Config& config, const RunSetup& setup)
      : config_(config), setup_(setup) {}

  /// The content of provenance.json.
  nlohmann::ordered_json json() const;

  /// The fields of MANIFEST.json besides the digests: everything that the continuation depends on.
  /// \param cursor  sequences read so far
  nlohmann::ordered_json manifest(std::int64_t cursor) const;

  /// Takes over the changes of a checkpoint, adds those of this call, and compares text and
  /// arithmetic: with other ones the continuation would be another run.
  /// \param changes    of the configuration (OpenRun::changes)
  /// \param overrides  what may differ: "data", "numerics", "train.precision"
  /// \throws Error (differs) that names the first difference which is not allowed;
  ///         Error (no_checkpoint) for a manifest without provenance
  void resume(const store::VerifiedCheckpoint& checkpoint, const std::vector<ConfigChange>& changes,
              const std::vector<std::string>& overrides, const std::filesystem::path& folder);

  /// Writes run.toml, provenance.json and scheme.txt, at the start of a run and when it is resumed.
  void write(const std::filesystem::path& folder) const;

 private:
  const config::Config& config_;
  const RunSetup& setup_;
  nlohmann::ordered_json changes_ = nlohmann::ordered_json::array();
};

}  // namespace evenkeel::train
