// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tasks/prompts.h"

#include <array>
#include <string_view>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/printable.h"
#include "evenkeel/base/replace_all.h"
#include "evenkeel/tasks/python_text.h"

namespace evenkeel::tasks {

namespace {

/// A document of one context. The choices get a leading space.
Document choices_document(const ArrowRow& row, const std::string& context,
                          const std::vector<std::string>& choices, std::int64_t gold) {
  const auto count = static_cast<std::int64_t>(choices.size());
  if (gold < 0 || gold >= count) {
    row.refuse(text("the answer must be one of ", count, " choices, but is the choice ", gold));
  }
  Document document = {.gold = static_cast<std::size_t>(gold)};
  for (const auto& choice : choices) document.rows.push_back({context, " " + choice});
  return document;
}

std::string with_question(const std::string& question) {
  return "Question: " + question + "\nAnswer:";
}

/// The number in a column of texts.
std::int64_t number_in(const ArrowRow& row, const std::string& name) {
  const auto text_of_number = row.string(name);
  const auto number = integer_of(text_of_number);
  if (!number) {
    row.refuse(text("column \"", name, "\" must be a number, but is \"",
                    printable_line(text_of_number), "\""));
  }
  return *number;
}

/// The index of a letter A to E.
std::int64_t letter_index(const ArrowRow& row, std::string_view letter) {
  constexpr std::string_view kLetters = "ABCDE";
  const auto at = letter.size() == 1 ? kLetters.find(letter) : std::string_view::npos;
  if (at == std::string_view::npos) {
    row.refuse(text("column \"answerKey\" must be a letter A to E, but is \"",
                    printable_line(letter), "\""));
  }
  return static_cast<std::int64_t>(at);
}

Document piqa(const ArrowRow& row) {
  return choices_document(row, with_question(row.string("goal")),
                          {row.string("sol1"), row.string("sol2")}, row.integer("label"));
}

/// Removes "[...]", which HellaSwag has from the pages of WikiHow: re.sub(r"\[.*?\]", "", text).
std::string without_brackets(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto end = text[at] == '[' ? text.find_first_of("]\n", at) : std::string_view::npos;
    if (end != std::string_view::npos && text[end] == ']') {
      at = end;
    } else {
      out += text[at];
    }
  }
  return out;
}

std::string clean_hellaswag(std::string_view text) {
  return replace_all(without_brackets(replace_all(strip(text), " [title]", ". ")), "  ", " ");
}

Document hellaswag(const ArrowRow& row) {
  const auto context = clean_hellaswag(row.string("activity_label") + ": " + row.string("ctx_a") +
                                       " " + capitalize(row.string("ctx_b")));
  auto endings = row.strings("endings");
  for (auto& ending : endings) ending = clean_hellaswag(ending);
  return choices_document(row, context, endings, number_in(row, "label"));
}

/// The choices are two contexts of one continuation.
Document winogrande(const ArrowRow& row) {
  const auto sentence = row.string("sentence");
  const auto blank = sentence.find('_');
  if (blank == std::string::npos) row.refuse("column \"sentence\" must have a \"_\", but has none");
  const std::string rest(strip(std::string_view(sentence).substr(blank + 1)));
  auto document = choices_document(row, "", {rest, rest}, number_in(row, "answer") - 1);
  document.rows[0].context = sentence.substr(0, blank) + row.string("option1");
  document.rows[1].context = sentence.substr(0, blank) + row.string("option2");
  return document;
}

Document openbook_qa(const ArrowRow& row) {
  return choices_document(row, row.string("question_stem"), row.strings("choices.text"),
                          letter_index(row, strip(row.string("answerKey"))));
}

Document boolq(const ArrowRow& row) {
  const auto context =
      row.string("passage") + "\nQuestion: " + row.string("question") + "?\nAnswer:";
  return choices_document(row, context, {"yes", "no"}, row.boolean("answer") ? 0 : 1);
}

Document sciq(const ArrowRow& row) {
  const auto context =
      std::string(strip(row.string("support"))) + "\n" + with_question(row.string("question"));
  return choices_document(row, context,
                          {row.string("distractor1"), row.string("distractor2"),
                           row.string("distractor3"), row.string("correct_answer")},
                          3);
}

/// ARC, CommonsenseQA and BasicArithmetic. Some keys of ARC are numbers. BasicArithmetic has tags.
Document question(const ArrowRow& row) {
  auto key = row.string("answerKey");
  constexpr char kToLetter = 'A' - '1';
  const bool is_digit = key.size() == 1 && key[0] >= '1' && key[0] <= '5';
  if (is_digit) key[0] = static_cast<char>(key[0] + kToLetter);
  auto document = choices_document(row, with_question(row.string("question")),
                                   row.strings("choices.text"), letter_index(row, key));
  if (row.has("type_tag")) document.tag = row.string("type_tag");
  return document;
}

/// The first choice of question(), right or not. OLMo's arc_easy_ppl takes it: its class asks for
/// the label, which it has set to 0, before it selects the answer.
/// \source OLMo, ArcEasyCELoss in olmo/eval/downstream.py
Document first_choice(const ArrowRow& row) {
  auto document = question(row);
  document.gold = 0;
  document.rows.resize(1);
  return document;
}

Document social_iqa(const ArrowRow& row) {
  return choices_document(row, with_question(row.string("context") + " " + row.string("question")),
                          {row.string("answerA"), row.string("answerB"), row.string("answerC")},
                          number_in(row, "label") - 1);
}

Document copa(const ArrowRow& row) {
  const auto premise = row.string("premise");
  const auto* const connector = row.string("question") == "cause" ? " because" : " therefore";
  const auto choice1 = row.string("choice1"), choice2 = row.string("choice2");
  if (choice1.empty() || choice2.empty()) row.refuse("a choice must be a text, but is empty");
  return choices_document(row, std::string(without_last(strip(premise))) + connector,
                          {first_lower(choice1), first_lower(choice2)}, row.integer("label"));
}

Document rte(const ArrowRow& row) {
  const auto context = row.string("sentence1") + "\nQuestion: " + row.string("sentence2") +
                       " True or False?\nAnswer:";
  return choices_document(row, context, {"True", "False"}, row.integer("label"));
}

Document commitment_bank(const ArrowRow& row) {
  const auto context = row.string("premise") + "\nQuestion: " + row.string("hypothesis") +
                       ". True, False or Neither?\nAnswer:";
  return choices_document(row, context, {"True", "False", "Neither"}, row.integer("label"));
}

/// Joins the marks that GLUE's texts have apart from their words.
std::string join_marks(std::string joined) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kJoins = {{{" n't", "n't"},
                                                                                    {" )", ")"},
                                                                                    {"( ", "("},
                                                                                    {"\" ", "\""},
                                                                                    {" \"", "\""},
                                                                                    {" '", "'"},
                                                                                    {" .", "."},
                                                                                    {" ,", ","}}};
  for (const auto& [from, to] : kJoins) joined = replace_all(joined, from, to);
  return joined;
}

Document mrpc(const ArrowRow& row) {
  const auto context = "Sentence 1: " + join_marks(row.string("sentence1")) +
                       "\nSentence 2: " + join_marks(row.string("sentence2")) +
                       "\nQuestion: Do both sentences mean the same thing?\nAnswer:";
  return choices_document(row, context, {"yes", "no"}, row.integer("label") != 0 ? 0 : 1);
}

Document sst2(const ArrowRow& row) {
  const auto context = join_marks(row.string("sentence")) +
                       "\nQuestion: Is this sentence positive or negative?\nAnswer:";
  return choices_document(row, context, {"negative", "positive"}, row.integer("label"));
}

Document trivia_qa(const ArrowRow& row) {
  return choices_document(row, "\n" + with_question(row.string("question")),
                          {row.string("answer.value")}, 0);
}

Document natural_questions(const ArrowRow& row) {
  const auto answers = row.strings("answer");
  if (answers.empty()) row.refuse("column \"answer\" must have an answer, but is empty");
  return choices_document(row, "\n" + with_question(row.string("question")), {answers[0]}, 0);
}

struct PromptForm {
  std::string_view name;
  Document (*document)(const ArrowRow& row);
};

constexpr std::array<PromptForm, 16> kPromptForms = {{{"boolq", boolq},
                                                      {"commitment_bank", commitment_bank},
                                                      {"copa", copa},
                                                      {"first_choice", first_choice},
                                                      {"hellaswag", hellaswag},
                                                      {"mrpc", mrpc},
                                                      {"natural_questions", natural_questions},
                                                      {"openbook_qa", openbook_qa},
                                                      {"piqa", piqa},
                                                      {"question", question},
                                                      {"rte", rte},
                                                      {"sciq", sciq},
                                                      {"social_iqa", social_iqa},
                                                      {"sst2", sst2},
                                                      {"trivia_qa", trivia_qa},
                                                      {"winogrande", winogrande}}};

}  // namespace

std::vector<std::string> prompt_forms() {
  std::vector<std::string> names;
  names.reserve(kPromptForms.size());
  for (const auto& each : kPromptForms) names.emplace_back(each.name);
  return names;
}

Document form_document(const std::string& form, const ArrowRow& row) {
  for (const auto& each : kPromptForms) {
    if (each.name == form) return each.document(row);
  }
  EK_ASSERT(false);
}

void reduce_to_gold(Document& document) {
  document.rows = {std::move(document.rows.at(document.gold))};
  document.gold = 0;
}

}  // namespace evenkeel::tasks
