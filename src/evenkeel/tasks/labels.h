// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/tasks/task.h"

namespace evenkeel::tasks {

/// The prompts of an MMLU question.
enum class MmluPrompts {
  plain,          // the question alone
  five_shots,     // an instruction and five solved questions before it
  seven_prompts,  // plain; then an instruction and 0 to 5 solved questions: seven documents
};

/// A downstream task as OLMo names it. \source ai2-olmo-eval 0.9.0, LABEL_TO_TASK_MAP
struct Label {
  std::string name;
  std::string form;     // "requests": a request file; "mmlu"; else the prompt of a data set's rows
  std::string path;     // folder of the task or the data set; of mmlu: the group ("stem")
  std::string variant;  // of a request file ("rc_0shot"); else the split ("validation")
  Metric metric = Metric::acc;
  MmluPrompts prompts = MmluPrompts::plain;  // mmlu
  bool has_letters = false;                  // mmlu: the choices are the letters A to D
  bool is_fast = false;                      // each choice is one token
};

/// All 252 labels, in the order of labels.txt.
const std::vector<Label>& labels();

/// The names of all labels, in the order of labels.txt.
std::vector<std::string> list_labels();

/// The label of this name; nullptr if there is none.
const Label* find_label(std::string_view name);

/// The end of a message about a name that is no label: the nearest label or group, and where all of
/// them are listed.
std::string did_you_mean_label(std::string_view name);

/// The names of the groups of labels: all, core, paper_dense, paper_moe.
std::vector<std::string> label_groups();

/// Labels and paths in their order, each once; a group becomes its labels. Other names remain.
std::vector<std::string> expand_labels(const std::vector<std::string>& names);

/// The subjects of a group of MMLU ("stem"), in the order of their documents.
std::vector<std::string> mmlu_subjects(std::string_view group);

}  // namespace evenkeel::tasks
