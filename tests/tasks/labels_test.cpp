// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tasks/labels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "evenkeel/tasks/metric.h"
#include "evenkeel/tasks/prompts.h"

namespace evenkeel::tasks {
namespace {

using Names = std::vector<std::string>;

TEST(Labels, AreThoseOfOlmo) {
  EXPECT_EQ(labels().size(), 252U);
  const auto names = list_labels();
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), 252U);
  std::map<std::string, int> counts;
  for (const auto& label : labels()) ++counts[name_of(label.metric)];
  EXPECT_EQ(counts, (std::map<std::string, int>{
                        {"acc", 64}, {"bpb", 102}, {"ce_loss", 3}, {"f1", 1}, {"len_norm", 82}}));
}

TEST(Labels, HaveAFormThatIsKnown) {
  auto forms = prompt_forms();
  forms.insert(forms.end(), {"mmlu", "requests"});
  for (const auto& label : labels()) {
    EXPECT_EQ(std::count(forms.begin(), forms.end(), label.form), 1) << label.name;
    EXPECT_EQ(label.form == "mmlu", label.name.starts_with("mmlu_")) << label.name;
    EXPECT_EQ(label.form == "mmlu", !mmlu_subjects(label.path).empty()) << label.name;
  }
}

TEST(Labels, OfMmluSayPromptsLettersAndSplit) {
  const auto* const plain = find_label("mmlu_stem");
  ASSERT_NE(plain, nullptr);
  EXPECT_EQ(plain->path, "stem");
  EXPECT_EQ(plain->variant, "validation");
  EXPECT_EQ(plain->prompts, MmluPrompts::plain);
  EXPECT_FALSE(plain->has_letters);
  const auto* const var = find_label("mmlu_other_var");
  ASSERT_NE(var, nullptr);
  EXPECT_EQ(var->prompts, MmluPrompts::seven_prompts);
  const auto* const fast = find_label("mmlu_humanities_test_mc_5shot_fast");
  ASSERT_NE(fast, nullptr);
  EXPECT_EQ(fast->variant, "test");
  EXPECT_EQ(fast->prompts, MmluPrompts::five_shots);
  EXPECT_TRUE(fast->has_letters && fast->is_fast);
  EXPECT_EQ(fast->metric, Metric::len_norm);
}

TEST(Labels, HaveGroups) {
  EXPECT_EQ(label_groups(), (Names{"all", "core", "paper_dense", "paper_moe"}));
  for (const auto& group : label_groups()) {
    for (const auto& label : expand_labels({group})) {
      EXPECT_NE(find_label(label), nullptr) << group << ": " << label;
    }
  }
  EXPECT_EQ(expand_labels({"all"}), list_labels());
  EXPECT_EQ(expand_labels({"core"}),
            (Names{"basic_arithmetic", "hellaswag_rc_0shot", "socialiqa_rc_0shot",
                   "arc_challenge_rc_0shot", "arc_easy_rc_0shot", "piqa_rc_0shot",
                   "openbookqa_rc_0shot", "copa", "winogrande_rc_0shot", "boolq_rc_0shot"}));
  EXPECT_EQ(expand_labels({"paper_moe"}).size(), 23U);
  EXPECT_EQ(expand_labels({"paper_dense"}).size(), 27U);
}

TEST(Labels, AreExpandedInOrderWithoutDuplicates) {
  const auto names = expand_labels({"copa", "my/file.jsonl", "core", "copa"});
  EXPECT_EQ(names.size(), 11U);
  EXPECT_EQ((Names{names.begin(), names.begin() + 3}),
            (Names{"copa", "my/file.jsonl", "basic_arithmetic"}));
}

TEST(Labels, ThatAreUnknownHaveANearestOne) {
  EXPECT_EQ(find_label("helaswag"), nullptr);
  EXPECT_EQ(did_you_mean_label("helaswag"),
            "; did you mean \"hellaswag\"? `evenkeel eval --list-tasks` lists all");
  EXPECT_EQ(did_you_mean_label("paper_dens"),
            "; did you mean \"paper_dense\"? `evenkeel eval --list-tasks` lists all");
}

TEST(MmluSubjects, Are57InFourGroups) {
  EXPECT_EQ(mmlu_subjects("stem").size(), 18U);
  EXPECT_EQ(mmlu_subjects("humanities").size(), 13U);
  EXPECT_EQ(mmlu_subjects("social_sciences").size(), 12U);
  EXPECT_EQ(mmlu_subjects("other").size(), 14U);
  EXPECT_EQ(mmlu_subjects("stem").front(), "astronomy");
}

TEST(Metrics, HaveNamesOfOursAndOfOlmes) {
  EXPECT_EQ(metric_names(), (Names{"acc", "len_norm", "ce_loss", "bpb", "f1"}));
  EXPECT_EQ(find_metric("acc_per_char"), Metric::len_norm);
  EXPECT_EQ(find_metric("logits_per_byte"), Metric::bpb);
  EXPECT_EQ(find_metric("len_norm"), Metric::len_norm);
  EXPECT_EQ(find_metric("acc_uncond"), std::nullopt);
  EXPECT_EQ(find_metric(""), std::nullopt);
}

}  // namespace
}  // namespace evenkeel::tasks
