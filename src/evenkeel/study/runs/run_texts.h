// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "evenkeel/data/tokens.h"

namespace evenkeel::config {
struct Config;
struct Evaluate;
}  // namespace evenkeel::config

/// The texts and tasks of the runs of a study. The process of the study and the process of each run
/// read them separately, so a file may change in between.
namespace evenkeel::study {

/// One text, as the process of the study read it; or the tasks, which are compared likewise.
struct RunText {
  std::string name;                       // "data.train", "evaluate.texts", "evaluate.tasks"
  std::string field;                      // of "data" in provenance.json: "train_digest"
  std::string digest;                     // data::digest(); of tasks tasks::digest_of_tasks()
  std::string files_field;                // likewise: "files"; "" if a run records no files
  std::vector<data::Tokens::File> files;  // that were read; empty for a builtin
};

/// The texts of a run, shared by all runs that read them.
using SharedTexts = std::shared_ptr<const std::vector<RunText>>;

/// Reads the texts of a configuration: data.train, data.validation, data.ood, evaluate.texts.
/// \throws Error (data, exit code 65) if a text cannot be read
std::vector<RunText> run_texts(const config::Config& config);

/// Reads the tasks of evaluate.tasks, whose files are the files of the result.
/// \throws Error (data, exit code 65; usage, 64) as tasks::load_task()
RunText run_tasks(const config::Evaluate& evaluate);

/// The digests as cache keys have them, one after another: of each text, and of each task.
std::string digests_in_key(const std::vector<RunText>& texts);

/// "data.train 0123456789abcdef...", one for each text.
std::vector<std::string> text_lines(const std::vector<RunText>& texts);

/// Compares texts with those that a run has read, by its provenance.json. A digest that the run
/// does not record counts as equal: older versions recorded fewer.
/// \param run  folder of the run
/// \return "book.txt (data.train) has the digest 01.. here, but 23.. in the run", of the first text
///         that differs; "" if none does
std::string text_difference(const std::filesystem::path& run, const std::vector<RunText>& texts);

}  // namespace evenkeel::study
