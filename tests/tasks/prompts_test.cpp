// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tasks/prompts.h"

#include "data/refusal.h"
#include "data/temporary_folder.h"
#include "tasks/arrow_writer.h"

namespace evenkeel::tasks {

/// For messages of tests.
void PrintTo(const Document& document, std::ostream* out) {
  *out << "gold " << document.gold << ", tag \"" << document.tag << "\"";
  for (const auto& row : document.rows) *out << "\n[" << row.context << "][" << row.continuation;
}

bool operator==(const Row& a, const Row& b) {
  return a.context == b.context && a.continuation == b.continuation;
}

bool operator==(const Document& a, const Document& b) {
  return a.rows == b.rows && a.gold == b.gold && a.tag == b.tag;
}

namespace {

/// A document of one context.
Document expected(const std::string& context, const Texts& continuations, std::size_t gold,
                  const std::string& tag = "") {
  Document document = {.gold = gold, .tag = tag};
  for (const auto& each : continuations) document.rows.push_back({context, each});
  return document;
}

class Prompts : public data::TemporaryFolder {
 protected:
  /// The document of the only row.
  Document made(const std::string& form, const std::vector<TestColumn>& columns) const {
    const ArrowStream stream(file("a.arrow", arrow_bytes({columns})));
    Document found;
    stream.each_row([&](const ArrowRow& row) { found = form_document(form, row); });
    return found;
  }
  std::string refused(const std::string& form, const std::vector<TestColumn>& columns) const {
    return data::refusal([&] { made(form, columns); }).substr(path("").size());
  }
};

TestColumn choices(const Texts& texts) {
  return struct_column(
      "choices", {list_column("text", {texts}), list_column("label", {Texts(texts.size(), "?")})});
}

TEST_F(Prompts, OfPiqa) {
  EXPECT_EQ(made("piqa", {utf8_column("goal", {"Boil an egg"}), utf8_column("sol1", {"Use water."}),
                          utf8_column("sol2", {"Use sand. "}), int_column("label", 64, {1})}),
            expected("Question: Boil an egg\nAnswer:", {" Use water.", " Use sand. "}, 1));
}

std::vector<TestColumn> hellaswag_row(const std::string& activity, const std::string& a,
                                      const std::string& b, const Texts& endings) {
  return {utf8_column("activity_label", {activity}), utf8_column("ctx_a", {a}),
          utf8_column("ctx_b", {b}), list_column("endings", {endings}),
          utf8_column("label", {"1"})};
}

TEST_F(Prompts, OfHellaswagAreCleaned) {
  EXPECT_EQ(made("hellaswag", hellaswag_row("Roofing", "A man sits.", "he NAILS it", {"a", "b"})),
            expected("Roofing: A man sits. He nails it", {" a", " b"}, 1));
  // Brackets vanish up to the next "]" of the line; pairs of spaces become one space, once.
  EXPECT_EQ(made("hellaswag", hellaswag_row(" Tea", "[header] How [title] To [step] pour.", "",
                                            {" [substeps] x ", "[a\nb] [c", "y    z"})),
            expected("Tea: How. To pour.", {"  x", " [a\nb] [c", " y  z"}, 1));
}

TEST_F(Prompts, OfWinograndeHaveTwoContexts) {
  Document document = {.gold = 1};
  document.rows = {{"Ann thanked Bea", " left_ early."}, {"Ann thanked Cleo", " left_ early."}};
  EXPECT_EQ(made("winogrande", {utf8_column("sentence", {"Ann thanked _  left_ early. "}),
                                utf8_column("option1", {"Bea"}), utf8_column("option2", {"Cleo"}),
                                utf8_column("answer", {"2"})}),
            document);
  EXPECT_EQ(
      refused("winogrande", {utf8_column("sentence", {"No blank"}), utf8_column("answer", {"2"})}),
      "a.arrow, row 1: column \"sentence\" must have a \"_\", but has none");
}

TEST_F(Prompts, OfOpenbookQaAreTheStemAlone) {
  EXPECT_EQ(made("openbook_qa", {utf8_column("question_stem", {"The sun is"}),
                                 choices({"cold", "hot"}), utf8_column("answerKey", {" B\n"})}),
            expected("The sun is", {" cold", " hot"}, 1));
}

TEST_F(Prompts, OfBoolqAnswerYesFirst) {
  const auto row = [](bool answer) {
    return std::vector<TestColumn>{utf8_column("passage", {"Ice is cold."}),
                                   utf8_column("question", {"is ice cold"}),
                                   bool_column("answer", {answer})};
  };
  const std::string context = "Ice is cold.\nQuestion: is ice cold?\nAnswer:";
  EXPECT_EQ(made("boolq", row(true)), expected(context, {" yes", " no"}, 0));
  EXPECT_EQ(made("boolq", row(false)), expected(context, {" yes", " no"}, 1));
}

TEST_F(Prompts, OfSciqHaveTheCorrectAnswerLast) {
  const auto row = [](const std::string& support) {
    return std::vector<TestColumn>{
        utf8_column("support", {support}), utf8_column("question", {"Who?"}),
        utf8_column("distractor1", {"a"}), utf8_column("distractor2", {"b"}),
        utf8_column("distractor3", {"c"}), utf8_column("correct_answer", {"d"})};
  };
  EXPECT_EQ(made("sciq", row(" Text.\n")),
            expected("Text.\nQuestion: Who?\nAnswer:", {" a", " b", " c", " d"}, 3));
  EXPECT_EQ(made("sciq", row("")),
            expected("\nQuestion: Who?\nAnswer:", {" a", " b", " c", " d"}, 3));
}

TEST_F(Prompts, OfQuestionsTakeLettersDigitsAndTags) {
  const auto row = [](const std::string& key) {
    return std::vector<TestColumn>{utf8_column("question", {"2 + 5 ="}), choices({"6", "7", "8"}),
                                   utf8_column("answerKey", {key})};
  };
  const std::string context = "Question: 2 + 5 =\nAnswer:";
  EXPECT_EQ(made("question", row("B")), expected(context, {" 6", " 7", " 8"}, 1));
  EXPECT_EQ(made("question", row("3")), expected(context, {" 6", " 7", " 8"}, 2));
  auto tagged = row("A");
  tagged.push_back(utf8_column("type_tag", {"easy"}));
  EXPECT_EQ(made("question", tagged), expected(context, {" 6", " 7", " 8"}, 0, "easy"));
  EXPECT_EQ(refused("question", row("D")),
            "a.arrow, row 1: the answer must be one of 3 choices, but is the choice 3");
  EXPECT_EQ(refused("question", row("F")),
            "a.arrow, row 1: column \"answerKey\" must be a letter A to E, but is \"F\"");
}

TEST_F(Prompts, OfArcEasyPplAreTheFirstChoice) {
  EXPECT_EQ(made("first_choice", {utf8_column("question", {"Q"}), choices({"6", "7"}),
                                  utf8_column("answerKey", {"B"})}),
            expected("Question: Q\nAnswer:", {" 6"}, 0));
}

TEST_F(Prompts, OfSocialIqaCountLabelsFromOne) {
  const auto row = [](const std::string& label) {
    return std::vector<TestColumn>{
        utf8_column("context", {"Jo left."}), utf8_column("question", {"How does Jo feel?"}),
        utf8_column("answerA", {"glad"}),     utf8_column("answerB", {"sad"}),
        utf8_column("answerC", {"old"}),      utf8_column("label", {label})};
  };
  EXPECT_EQ(
      made("social_iqa", row("3\n")),
      expected("Question: Jo left. How does Jo feel?\nAnswer:", {" glad", " sad", " old"}, 2));
  EXPECT_EQ(refused("social_iqa", row("0")),
            "a.arrow, row 1: the answer must be one of 3 choices, but is the choice -1");
  EXPECT_EQ(refused("social_iqa", row("x")),
            "a.arrow, row 1: column \"label\" must be a number, but is \"x\"");
}

TEST_F(Prompts, OfCopaNameTheConnection) {
  const auto row = [](const std::string& premise, const std::string& question,
                      const std::string& choice) {
    return std::vector<TestColumn>{
        utf8_column("premise", {premise}), utf8_column("question", {question}),
        utf8_column("choice1", {choice}), utf8_column("choice2", {"It RAINED."}),
        int_column("label", 64, {0})};
  };
  EXPECT_EQ(made("copa", row("The road was wet. ", "cause", "\xc3\x89mile drove.")),
            expected("The road was wet because", {" \xc3\xa9mile drove.", " it RAINED."}, 0));
  EXPECT_EQ(made("copa", row("Wet\xe2\x80\xa6", "effect", "A")),
            expected("Wet therefore", {" a", " it RAINED."}, 0));
  EXPECT_EQ(refused("copa", row("Wet.", "cause", "")),
            "a.arrow, row 1: a choice must be a text, but is empty");
}

TEST_F(Prompts, OfGlue) {
  EXPECT_EQ(
      made("rte", {utf8_column("sentence1", {"It rains."}),
                   utf8_column("sentence2", {"It is wet."}), int_column("label", 64, {0})}),
      expected("It rains.\nQuestion: It is wet. True or False?\nAnswer:", {" True", " False"}, 0));
  const std::string apart = "He did n't say ( \" no \" ) , it 's late .";
  const std::string joined = "He didn't say (\"no\"), it's late.";
  EXPECT_EQ(made("mrpc", {utf8_column("sentence1", {apart}), utf8_column("sentence2", {"Yes ."}),
                          int_column("label", 64, {1}), int_column("idx", 32, {5})}),
            expected("Sentence 1: " + joined +
                         "\nSentence 2: Yes.\nQuestion: Do both sentences mean the same "
                         "thing?\nAnswer:",
                     {" yes", " no"}, 0));
  EXPECT_EQ(made("sst2", {utf8_column("sentence", {apart + " "}), int_column("label", 64, {1})}),
            expected(joined + " \nQuestion: Is this sentence positive or negative?\nAnswer:",
                     {" negative", " positive"}, 1));
}

TEST_F(Prompts, OfCommitmentBankHaveThreeChoices) {
  const auto row = [](std::int64_t label) {
    return std::vector<TestColumn>{utf8_column("premise", {"He may come."}),
                                   utf8_column("hypothesis", {"he comes"}),
                                   int_column("label", 64, {label})};
  };
  EXPECT_EQ(made("commitment_bank", row(2)),
            expected("He may come.\nQuestion: he comes. True, False or Neither?\nAnswer:",
                     {" True", " False", " Neither"}, 2));
  EXPECT_EQ(refused("commitment_bank", row(-1)),
            "a.arrow, row 1: the answer must be one of 3 choices, but is the choice -1");
}

TEST_F(Prompts, OfOpenQuestionsHaveOneAnswer) {
  EXPECT_EQ(made("trivia_qa", {utf8_column("question", {"Who?"}),
                               struct_column("answer", {list_column("aliases", {{"x"}}),
                                                        utf8_column("value", {"Ann"})})}),
            expected("\nQuestion: Who?\nAnswer:", {" Ann"}, 0));
  EXPECT_EQ(made("natural_questions",
                 {utf8_column("question", {"who"}), list_column("answer", {{"Bea", "Cleo"}})}),
            expected("\nQuestion: who\nAnswer:", {" Bea"}, 0));
  EXPECT_EQ(
      refused("natural_questions", {utf8_column("question", {"who"}), list_column("answer", {{}})}),
      "a.arrow, row 1: column \"answer\" must have an answer, but is empty");
}

const MmluQuestion kQuestion = {.subject = "formal_logic",
                                .question = " What is P? \n",
                                .choices = {"p", "q", "r", "s"},
                                .answer = 2};

/// Two solved questions, of which `two` is the second.
MmluShots two_shots() {
  return {{"formal_logic",
           {{.subject = "", .question = "One?", .choices = {"1", "2", "3", "4"}, .answer = 1},
            {.subject = "", .question = "Two?", .choices = {"5", "6", "7", "8"}, .answer = 3}}}};
}

constexpr const char* kInstruction =
    "The following are multiple choice questions (with answers) about formal logic:\n\n";

TEST(MmluPrompt, IsTheQuestion) {
  EXPECT_EQ(mmlu_documents(kQuestion, {}, {}),
            (std::vector{expected("Question: What is P?\nAnswer:", {" p", " q", " r", " s"}, 2)}));
}

TEST(MmluPrompt, WithLettersListsTheChoices) {
  EXPECT_EQ(mmlu_documents(kQuestion, {.prompts = MmluPrompts::five_shots, .has_letters = true},
                           two_shots()),
            (std::vector{expected(std::string(kInstruction) +
                                      "One?\nA. 1\nB. 2\nC. 3\nD. 4\nAnswer: B\n\n"
                                      "Two?\nA. 5\nB. 6\nC. 7\nD. 8\nAnswer: D\n\n"
                                      "What is P?\nA. p\nB. q\nC. r\nD. s\nAnswer:",
                                  {" A", " B", " C", " D"}, 2)}));
}

TEST(MmluPrompt, HasSevenVariations) {
  const auto documents =
      mmlu_documents(kQuestion, {.prompts = MmluPrompts::seven_prompts}, two_shots());
  ASSERT_EQ(documents.size(), 7U);
  const std::string question = "Question: What is P?\nAnswer:", instruction = kInstruction,
                    one = "Question: One?\nAnswer: 2\n\n", two = "Question: Two?\nAnswer: 8\n\n";
  const Texts contexts = {question, instruction + question, instruction + one + question,
                          instruction + one + two + question};
  for (std::size_t i = 0; i < documents.size(); ++i) {
    EXPECT_EQ(documents[i],
              expected(contexts[std::min<std::size_t>(i, 3)], {" p", " q", " r", " s"}, 2))
        << i;
  }
}

class MmluRow : public Prompts {
 protected:
  std::string refused_row(const Texts& texts, std::int64_t answer) const {
    const auto name =
        file("a.arrow",
             arrow_bytes({{utf8_column("question", {"Q"}), utf8_column("subject", {"s"}),
                           list_column("choices", {texts}), int_column("answer", 64, {answer})}}));
    return data::refusal([&] {
             ArrowStream(name).each_row([](const ArrowRow& row) { mmlu_question(row, true); });
           })
        .substr(path("").size());
  }
};

TEST_F(MmluRow, HasFourChoicesOfWhichOneIsRight) {
  EXPECT_EQ(refused_row({"a", "b", "c"}, 0),
            "a.arrow, row 1: column \"choices\" must have 4 choices, but has 3");
  EXPECT_EQ(refused_row({"a", "b", "c", "d"}, 4),
            "a.arrow, row 1: the answer must be one of 4 choices, but is the choice 4");
}

TEST(Gold, IsLeftAlone) {
  auto document = expected("Q", {" a", " b"}, 1);
  reduce_to_gold(document);
  EXPECT_EQ(document, expected("Q", {" b"}, 0));
}

}  // namespace
}  // namespace evenkeel::tasks
