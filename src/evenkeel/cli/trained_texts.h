// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/cli/verb.h"
#include "evenkeel/data/load_corpora.h"
#include "evenkeel/evaluate/task_suite.h"
#include "evenkeel/train/load_run.h"

namespace evenkeel::cli {

/// True if a --set names `key`, or a key in that table.
bool is_set(const CommonOptions& common, const std::string& key);

/// The texts of a run, as load_evaluation_corpora() reads them. Their paths in the run are as they
/// were typed, perhaps in another folder.
/// \throws Error as load_evaluation_corpora(); of a missing relative path with the keys that name
///         another one
data::Corpora corpora_of_run(const train::TrainedModel& loaded);

/// Compares the validation text and data.ood of --run with the digests of provenance.json: the
/// losses on a text that has changed are not those of the run. The validation text may also be that
/// of the checkpoint: provenance.json is newer after a resume. A text is not compared if the
/// command sets keys of [data] that choose it, or if provenance.json has no digest (imported
/// models).
/// \param corpora  as the command loads them
/// \throws Error (differs, exit code 78) for the first text that differs
void check_trained_texts(const CommonOptions& common, const train::TrainedModel& loaded,
                         const data::Corpora& corpora);

/// Warns, a line each, of texts of evaluate.texts and tasks that --run evaluates, too, but with
/// another digest in provenance.json: scores of before and now do not compare.
/// \param suite, named, texts  the tasks and texts of the command; `texts` may be empty: tasks only
void warn_of_changed_evaluation(const CommonOptions& common, const evaluate::TaskSuite& suite,
                                const std::vector<config::NamedText>& named,
                                const std::vector<data::Source>& texts);

}  // namespace evenkeel::cli
