// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/train/open_run.h"
#include "evenkeel/train/run_setup.h"

namespace evenkeel::train {

/// The configuration of a run as TOML, from the manifest of a checkpoint.
/// \throws Error (no_checkpoint, exit code 77) if the manifest has none
std::string config_text_of(const store::VerifiedCheckpoint& checkpoint);

/// The texts of evaluate.texts, the text data.ood and the tasks that `before` and `now` both have,
/// and whose digests differ: {"evaluate.texts wiki (wiki.txt)", "\"DIGEST\"", "\"DIGEST\""}.
/// Another list of files under the name of a text is another text; a task of another path is
/// another task.
/// \param before, now  the field "data" of provenance.json; what an older version did not record
///                     and what is damaged in `before` is not compared
std::vector<ConfigChange> changed_evaluation(const nlohmann::json& before,
                                             const nlohmann::json& now);

/// The provenance of a run: program, machine, model, texts, and all changes by --override.
class RunProvenance {
 public:
  /// \param config, setup  must outlive the RunProvenance
  RunProvenance(const config::Config& config, const RunSetup& setup);

  /// The content of provenance.json.
  nlohmann::ordered_json json() const;

  /// The MANIFEST.json fields other than digests: all inputs that affect the run after this
  /// step.
  /// \param cursor  sequences read so far
  nlohmann::ordered_json manifest(std::int64_t cursor) const;

  /// Takes the earlier changes from a checkpoint, appends the new ones, and compares text and
  /// arithmetic with those of the checkpoint, the texts and tasks of the evaluation with those of
  /// provenance.json. A difference would make the resumed run a different run. One that an earlier
  /// call permitted for this checkpoint needs no second override.
  /// \param overrides   permitted differences: "data", "numerics", "train.precision"
  /// \param evaluation  Evaluator::provenance()
  /// \throws Error (differs, exit code 78), with the first difference that is not permitted;
  ///         (no_checkpoint, 77) if the manifest has no provenance
  void resume(const store::VerifiedCheckpoint& checkpoint, const OpenRun& run,
              const std::vector<std::string>& overrides, const nlohmann::ordered_json& evaluation);

  /// Writes run.toml, provenance.json and scheme.txt. The caller calls it at the start of a run and
  /// after each resume.
  /// \param more  more fields of provenance.json: provenance_of_ranks(), Evaluator::provenance().
  ///              They do not affect the training, so no manifest has them
  void write(const store::Directory& run, const nlohmann::ordered_json& more) const;

 private:
  void compare_with(const store::VerifiedCheckpoint& checkpoint, const OpenRun& run,
                    const std::vector<std::string>& overrides);
  void compare_evaluation(std::int64_t step, const OpenRun& run,
                          const std::vector<std::string>& overrides,
                          const nlohmann::ordered_json& evaluation);

  const config::Config& config_;
  const RunSetup& setup_;
  nlohmann::ordered_json training_text_;  // computed once: no checkpoint reads its files
  nlohmann::ordered_json changes_ = nlohmann::ordered_json::array();
};

}  // namespace evenkeel::train
