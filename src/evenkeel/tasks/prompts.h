// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "evenkeel/tasks/arrow_stream.h"
#include "evenkeel/tasks/labels.h"
#include "evenkeel/tasks/task.h"

namespace evenkeel::tasks {

/// The names of the prompts that form_document() knows (Label::form), sorted.
std::vector<std::string> prompt_forms();

/// The document that a prompt makes of a row of a data set, with all choices. Its id is 0.
/// \param form  one of prompt_forms()
/// \source OLMo, olmo/eval/downstream.py
/// \throws Error (data, exit code 65), with the file and the row, for a missing column, a null, or
///         an answer that is no choice
Document form_document(const std::string& form, const ArrowRow& row);

/// A question of MMLU.
struct MmluQuestion {
  std::string subject;  // "abstract_algebra"
  std::string question;
  std::vector<std::string> choices;
  std::size_t answer = 0;
};

/// \throws Error (data, exit code 65), with the file and the row, as form_document() does, and for
///         letters also if there are not four choices
MmluQuestion mmlu_question(const ArrowRow& row, bool has_letters);

/// The solved questions of each subject.
using MmluShots = std::map<std::string, std::vector<MmluQuestion>>;

/// The documents of a question: one, or seven with MmluPrompts::seven_prompts. Their ids are 0.
std::vector<Document> mmlu_documents(const MmluQuestion& question, const Label& label,
                                     const MmluShots& shots);

/// Leaves the gold choice alone.
void reduce_to_gold(Document& document);

}  // namespace evenkeel::tasks
