// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "evenkeel/base/error.h"
#include "evenkeel/base/replace_all.h"
#include "evenkeel/tasks/prompts.h"
#include "evenkeel/tasks/python_text.h"

namespace evenkeel::tasks {

namespace {

constexpr std::string_view kMmluLetters = "ABCD";
constexpr int kMostShots = 5;
constexpr int kNoInstruction = -1;  // in place of a number of shots

std::string letter_of(std::size_t choice) {
  return std::string(1, kMmluLetters.at(choice));
}

/// A question, up to the answer.
std::string unsolved(const MmluQuestion& question, bool has_letters) {
  std::string prompt = has_letters ? "" : "Question: ";
  prompt.append(strip(question.question)) += '\n';
  if (has_letters) {
    for (std::size_t i = 0; i < question.choices.size(); ++i) {
      prompt += letter_of(i) + ". " + question.choices[i] + "\n";
    }
  }
  return prompt + "Answer:";
}

/// The instruction and the first `shots` solved questions.
std::string mmlu_instruction(const MmluQuestion& question, bool has_letters, int shots,
                             const MmluShots& solved) {
  auto prefix = "The following are multiple choice questions (with answers) about " +
                replace_all(question.subject, "_", " ") + ":\n\n";
  const auto found = solved.find(question.subject);
  if (found == solved.end()) return prefix;
  const auto& examples = found->second;
  for (std::size_t i = 0; i < std::min<std::size_t>(examples.size(), shots); ++i) {
    const auto& each = examples[i];
    prefix += unsolved(each, has_letters) + " " +
              (has_letters ? letter_of(each.answer) : each.choices[each.answer]) + "\n\n";
  }
  return prefix;
}

Document mmlu_document(const MmluQuestion& question, bool has_letters, int shots,
                       const MmluShots& solved) {
  auto context = unsolved(question, has_letters);
  if (shots != kNoInstruction) {
    context = mmlu_instruction(question, has_letters, shots, solved) + context;
  }
  Document document = {.gold = question.answer};
  for (std::size_t i = 0; i < question.choices.size(); ++i) {
    document.rows.push_back({context, " " + (has_letters ? letter_of(i) : question.choices[i])});
  }
  return document;
}

}  // namespace

MmluQuestion mmlu_question(const ArrowRow& row, bool has_letters) {
  MmluQuestion question = {.subject = row.string("subject"),
                           .question = row.string("question"),
                           .choices = row.strings("choices")};
  const auto choices = static_cast<std::int64_t>(question.choices.size());
  const auto answer = row.integer("answer");
  if (has_letters && question.choices.size() != kMmluLetters.size()) {
    row.refuse(text("column \"choices\" must have 4 choices, but has ", choices));
  }
  if (answer < 0 || answer >= choices) {
    row.refuse(text("the answer must be one of ", choices, " choices, but is the choice ", answer));
  }
  question.answer = static_cast<std::size_t>(answer);
  return question;
}

std::vector<Document> mmlu_documents(const MmluQuestion& question, const Label& label,
                                     const MmluShots& shots) {
  const auto document = [&](int count) {
    return mmlu_document(question, label.has_letters, count, shots);
  };
  if (label.prompts == MmluPrompts::plain) return {document(kNoInstruction)};
  if (label.prompts == MmluPrompts::five_shots) return {document(kMostShots)};
  std::vector<Document> documents;
  for (int count = kNoInstruction; count <= kMostShots; ++count) {
    documents.push_back(document(count));
  }
  return documents;
}

}  // namespace evenkeel::tasks
