// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/run_provenance.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace evenkeel::train {
namespace {

/// The field "data" of a provenance.json.
nlohmann::json recorded_evaluation() {
  return nlohmann::json::parse(R"({
    "evaluate_texts": [{"name": "wiki", "inputs": ["wiki", "more.txt"], "digest": "aa", "files": [
                         {"path": "wiki/a.txt", "digest": "11"},
                         {"path": "more.txt", "digest": "22"}]},
                       {"name": "code", "inputs": ["wiki"], "digest": "bb", "files": [
                         {"path": "wiki/a.txt", "digest": "11"}]}],
    "evaluate_ood": [{"name": "other.txt", "inputs": ["other.txt"], "digest": "ff", "files": [
                       {"path": "other.txt", "digest": "44"}]}],
    "evaluate_tasks": [{"label": "quiz.jsonl", "path": "quiz.jsonl", "digest": "cc"},
                       {"label": "mmlu_stem", "path": "/tasks/mmlu", "digest": "dd"},
                       {"label": "mmlu_other", "path": "/tasks/mmlu", "digest": "ee"}]})");
}

/// "KEY BEFORE AFTER" of each change.
std::vector<std::string> changes_to(const nlohmann::json& now) {
  std::vector<std::string> out;
  for (const auto& each : changed_evaluation(recorded_evaluation(), now)) {
    out.push_back(each.key + " " + each.before + " " + each.after);
  }
  return out;
}

using Changes = std::vector<std::string>;

TEST(ChangedEvaluation, IsNoneOfEqualDigests) {
  EXPECT_EQ(changes_to(recorded_evaluation()), Changes{});
}

TEST(ChangedEvaluation, NamesTheTextAndItsFile) {
  auto now = recorded_evaluation();
  auto& wiki = now["evaluate_texts"][0];
  wiki["digest"] = "ab";
  wiki["files"][1]["digest"] = "23";
  EXPECT_EQ(changes_to(now), Changes{R"(evaluate.texts wiki (more.txt) "aa" "ab")"});
  wiki["files"] = recorded_evaluation()["evaluate_texts"][0]["files"];
  wiki["files"].push_back({{"path", "wiki/b.txt"}, {"digest", "33"}});
  EXPECT_EQ(changes_to(now), Changes{R"(evaluate.texts wiki (wiki/b.txt, new) "aa" "ab")"});
}

TEST(ChangedEvaluation, NamesTheTextOfDataOod) {
  auto now = recorded_evaluation();
  auto& ood = now["evaluate_ood"][0];
  ood["digest"] = "gg";
  ood["files"][0]["digest"] = "55";
  EXPECT_EQ(changes_to(now), Changes{R"(data.ood other.txt "ff" "gg")"});
  ood["files"][0] = {{"path", "more/a.txt"}, {"digest", "44"}};
  EXPECT_EQ(changes_to(now), Changes{R"(data.ood other.txt (more/a.txt) "ff" "gg")"});
  ood["inputs"] = {"more"};
  EXPECT_EQ(changes_to(now), Changes{}) << "another text";
}

TEST(ChangedEvaluation, NamesTheTask) {
  auto now = recorded_evaluation();
  now["evaluate_tasks"][0]["digest"] = "cd";
  now["evaluate_tasks"][2]["digest"] = "ef";
  EXPECT_EQ(changes_to(now), (Changes{R"(evaluate.tasks quiz.jsonl "cc" "cd")",
                                      R"(evaluate.tasks mmlu_other (/tasks/mmlu) "ee" "ef")"}));
}

TEST(ChangedEvaluation, ComparesNoOtherTextOrTask) {
  auto now = recorded_evaluation();
  now["evaluate_texts"][0]["digest"] = "ab";
  now["evaluate_texts"][0]["inputs"] = {"other"};
  now["evaluate_texts"][1]["digest"] = "bc";
  now["evaluate_texts"][1]["name"] = "source";
  now["evaluate_tasks"][0]["digest"] = "cd";
  now["evaluate_tasks"][0]["path"] = "folder/quiz.jsonl";
  EXPECT_EQ(changes_to(now), Changes{});
  EXPECT_EQ(changes_to(nlohmann::json::object()), Changes{});
}

TEST(ChangedEvaluation, IsUnknownWithoutARecord) {
  const auto now = recorded_evaluation();
  for (const auto* const before :
       {"{}", "null", R"({"evaluate_texts_digest": "aa", "evaluate_tasks": [
                          {"path": "quiz.jsonl", "digest": "c"}]})",
        R"({"evaluate_texts": 3, "evaluate_tasks": [3]})",
        R"({"evaluate_texts": [{"name": "wiki", "inputs": ["wiki", "more.txt"], "digest": "ab",
                                "files": [{}]}]})"}) {
    EXPECT_TRUE(changed_evaluation(nlohmann::json::parse(before), now).empty()) << before;
  }
}

// A damaged provenance.json says nothing about the checkpoint. Each record is of the text "wiki".
TEST(ChangedEvaluation, IsUnknownForADamagedRecord) {
  const auto changes_after = [](const std::string& record) {
    const auto entry = R"({"name": "wiki", "inputs": ["wiki", "more.txt"], )" + record + "}";
    const nlohmann::json before = {
        {"evaluate_texts", nlohmann::json::array({nlohmann::json::parse(entry)})}};
    return changed_evaluation(before, recorded_evaluation()).size();
  };
  EXPECT_EQ(changes_after(R"("digest": "ab", "files": [{"path": "a", "digest": "1"}])"), 1U);
  for (const auto* const damaged :
       {R"("digest": "ab", "files": [{}])", R"("digest": "ab", "files": 3)",
        R"("digest": "ab", "files": [3])", R"("digest": "ab", "files": [{"path": 3}])",
        R"("digest": 3)", R"("files": [])"}) {
    EXPECT_EQ(changes_after(damaged), 0U) << damaged;
  }
}

}  // namespace
}  // namespace evenkeel::train
