// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/definition/definition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/study/analysis/multiple_testing.h"
#include "evenkeel/study/analysis/statistics.h"
#include "evenkeel/study/definition/catalogue.h"
#include "evenkeel/study/definition/grid.h"
#include "study/definition/study_text.h"
#include "support/sanitizers.h"

namespace evenkeel::study {
namespace {

TEST(Definition, CrossesAxesAndTheFirstChangesSlowest) {
  const auto study = read(std::string(kGrid) + "model.layers = [2, 4]\nschedule.peak = [1e-3]\n");
  const auto arms = grid_points(study);
  ASSERT_EQ(arms.size(), 4U);
  EXPECT_EQ(arms[0].name, "pre_norm, layers 2");
  EXPECT_EQ(arms[1].name, "pre_norm, layers 4");
  EXPECT_EQ(arms[3].name, "hybrid_norm, layers 4");
  EXPECT_EQ(arms[3].labels.at("schedule.peak"), "0.001");
  const auto config = config_of(study, arms[3], 7, {});
  EXPECT_EQ(config.scheme.name, "hybrid_norm");
  EXPECT_EQ(config.model.layers, 4);
  EXPECT_EQ(config.seed, 7);
  EXPECT_EQ(config.schedule.peak, 1e-3);
}

TEST(Definition, RecordsLossesAfterRisingSharesOfTheSteps) {
  const auto with = [](const std::string& shares) {
    return "val_loss_at = " + shares + "\n" + kGrid;
  };
  EXPECT_EQ(read(with("[0.1, 0.5, 1]")).loss_shares, (std::vector<double>{0.1, 0.5, 1}));
  EXPECT_TRUE(read(kGrid).loss_shares.empty());
  EXPECT_EQ(error_of(with("[0.5, 0.2]")),
            "my.toml:1: val_loss_at must be a rising list of shares in (0, 1], but is 0.2");
  EXPECT_EQ(error_of(with("[1.5]")),
            "my.toml:1: val_loss_at must be a rising list of shares in (0, 1], but is 1.5");
  EXPECT_EQ(error_of(with("0.5")), "my.toml:1: val_loss_at must be a list of shares, but is 0.5");
}

TEST(Definition, RefusesMoreThan10000Arms) {
  std::string hundred = "[0";
  for (int value = 1; value < 100; ++value) hundred += text(", ", value);
  hundred += "]\n";
  std::string toml = "[grid]\n";
  for (const auto* const key : {"a", "b"}) toml += text(key, " = ", hundred);
  EXPECT_EQ(read(toml).axes.size(), 2u);
  for (const auto* const key : {"c", "d"}) toml += text(key, " = ", hundred);
  EXPECT_EQ(
      error_of(toml),
      "my.toml: the grid must have at most 10,000 arms, but has 100,000,000; split the study");
  std::string many = "[grid]\na = [0";
  for (int value = 1; value <= 10000; ++value) many += text(", ", value);
  EXPECT_EQ(error_of(many + "]\n"),
            "my.toml:2: the grid must have at most 10,000 arms, but has 10,001; split the study");
}

TEST(Definition, AValueMayBeATableOfKeysWithAName) {
  const auto study = read(
      "[[grid.arm]]\nname = \"Pre, normal\"\nscheme = \"pre_norm\"\nmodel.init = \"normal\"\n"
      "[[grid.arm]]\nname = \"dense\"\nmodel.experts.count = 0\n");
  const auto arms = grid_points(study);
  ASSERT_EQ(arms.size(), 2U);
  EXPECT_EQ(arms[0].name, "Pre, normal");
  EXPECT_EQ(config_of(study, arms[0], 1, {}).model.init, "normal");
  EXPECT_EQ(config_of(study, arms[1], 1, {}).scheme.name, "hybrid_norm_star");
}

TEST(Definition, ASizeOverridesTheFileKeyByKey) {
  const std::string toml = std::string("seeds = [1, 2]\n[settings]\ntrain.batch = 4\n") + kGrid +
                           "[tune]\nvalues = [1e-3, 2e-3]\n"
                           "[sizes.small]\nseeds = [5]\nsettings.train.steps = 3\ntune = false\n"
                           "[sizes.large]\ngrid.scheme = [\"keel\", \"pre_norm\", \"post_norm\"]\n";
  const auto small = read(toml, "small"), large = read(toml, "large");
  EXPECT_EQ(small.seeds, (std::vector<std::int64_t>{5}));
  EXPECT_EQ(small.settings, (std::vector<std::string>{"train.batch=4", "train.steps=3"}));
  EXPECT_FALSE(small.tune.has_value());
  ASSERT_TRUE(large.tune.has_value());
  EXPECT_EQ(large.tune->values, (std::vector<std::string>{"0.001", "0.002"}));
  EXPECT_EQ(large.axes.front().values.size(), 3U);
  EXPECT_EQ(sizes_of(toml, "my.toml"), (std::vector<std::string>{"small", "large"}));
  EXPECT_EQ(error_of(toml, "tiny"),
            "my.toml: --size must be one of its sizes, but is \"tiny\"; known: large, small");
}

TEST(Definition, RefusesUnknownSettingsWhereTheyStand) {
  const auto size = std::string(kGrid) + "[sizes.small]\nsettings = { train.stesp = 3 }\n";
  for (const auto& toml : {size, size + "[sizes.large]\nseeds = [1]\n"}) {
    EXPECT_EQ(error_of(toml, toml == size ? "small" : "large").substr(0, 73),
              "my.toml:4: settings.train.stesp: unknown key; did you mean \"train.steps\"?");
  }
  EXPECT_EQ(error_of(std::string("[settings]\n\"train.steps\" = 3\n") + kGrid).substr(0, 50),
            "my.toml:2: settings.\"train.steps\": unknown key; di");
  EXPECT_EQ(error_of(std::string("[settings]\noptimizer.lr = 1e-3\n") + kGrid).substr(0, 75),
            "my.toml:2: settings.optimizer.lr: unknown key; did you mean \"schedule.peak\"");
  const auto good = std::string(
      "[settings]\npreset = \"nano\"\nscheme = { extends = \"pre_norm\" }\nmodel.experts.count = "
      "4\n"
      "data.train = [{ path = \"a\", weight = 2 }]\nevaluate.texts = { a = \"b\" }\n"
      "[grid]\nmodel.layers = [1]\n");
  EXPECT_EQ(error_of(good), "no error");
}

TEST(Definition, RefusesSizesThatCannotNameAFolder) {
  EXPECT_EQ(error_of(std::string(kGrid) + "[sizes.\"a/b\"]\nseeds = [1]\n", "a/b").substr(0, 56),
            "my.toml:3: the name of a size must have letters, digits,");
  EXPECT_EQ(error_of(std::string(kGrid) + "[sizes.\"1.2b\"]\nseeds = [1]\n", "1.2b"), "no error");
}

TEST(Definition, SettingsOverrideThePreset) {
  const auto study = read(std::string("[settings]\npreset = \"nano\"\ntrain.batch = 3\n") + kGrid);
  const auto config = config_of(study, grid_points(study)[0], 1, {});
  EXPECT_EQ(config.preset, "nano");
  EXPECT_EQ(config.train.batch, 3);
  EXPECT_EQ(config.model.context, 64);
}

TEST(Definition, NamesWhatIsWrongWithAGrid) {
  EXPECT_EQ(error_of("title = \"x\"\n"),
            "my.toml: the grid is empty; it must have at least one axis: [grid] scheme = "
            "[\"pre_norm\", \"hybrid_norm\"]");
  EXPECT_EQ(error_of("[grid]\nscheme = []\n"),
            "my.toml:2: grid.scheme must be a list of at least one value, but is an empty list");
  EXPECT_EQ(error_of("[grid]\nscheme = [\"keel\", \"keel\"]\n"),
            "my.toml:2: grid.scheme has \"keel\" twice; leave one out");
  EXPECT_EQ(error_of("[grid]\nseed = [1]\n"),
            "my.toml:2: the seeds of a study are a key above [grid]: seeds = [1, 2, 3]");
  EXPECT_EQ(error_of("seeds = [1, 1]\n" + std::string(kGrid)),
            "my.toml:1: seeds must be a list without repetitions, but is the list [1, 1]");
}

TEST(Definition, NamesSettingsThatConflict) {
  const std::string settings = "[settings]\nscheme = \"keel\"\n";
  EXPECT_EQ(error_of(settings + kGrid),
            "my.toml: scheme is set by the settings and by grid.scheme; keep one of them");
  EXPECT_EQ(
      error_of(std::string(kGrid) + "schedule.peak = [1e-3]\n[tune]\nvalues = [1e-3, 2e-3]\n"),
      "my.toml: schedule.peak is set by grid.schedule.peak and by [tune]; keep one of them");
  auto study = read(kGrid);
  EXPECT_THROW(add_setting(study, "scheme=keel"), Error);
  EXPECT_THROW(add_setting(study, "seed=3"), Error);
  add_setting(study, "train.steps=3");
  add_setting(study, "train.steps=4");
  EXPECT_EQ(study.settings, (std::vector<std::string>{"train.steps=4"}));
}

TEST(Definition, ThreadsAreSetOnlyForExclusiveRuns) {
  const std::string axis = std::string(kGrid) + "train.threads = [1, 2]\n";
  EXPECT_EQ(error_of(axis),
            "my.toml: train.threads has no effect in grid.train.threads: parallel runs share "
            "the cores; set alone = true, or leave it out");
  EXPECT_EQ(grid_points(read("alone = true\n" + axis)).size(), 4U);
  auto study = read(kGrid);
  EXPECT_THROW(add_setting(study, "train.threads=1"), Error);
}

TEST(Definition, ASchemesNormCanBeAnAxis) {
  const auto study = read(
      "[settings]\nscheme = \"pre_norm\"\n[grid]\nscheme.norm = [\"rms_norm\", \"layer_norm\"]\n");
  const auto arms = grid_points(study);
  EXPECT_EQ(config_of(study, arms[1], 1, {}).scheme.name, "pre_norm+layer_norm");
}

TEST(Definition, AnErrorInAnArmNamesIt) {
  const auto study = read("[grid]\nscheme = [\"pre_nrm\"]\n");
  try {
    config_of(study, grid_points(study)[0], 1, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("study my, arm \"pre_nrm\": "), 0U) << error.what();
  }
}

TEST(Definition, RefusesOneNumberTwice) {
  EXPECT_EQ(error_of("[grid]\nschedule.peak = [1, 1.0]\n"),
            "my.toml:2: grid.schedule.peak has \"1.0\" twice; leave one out");
  EXPECT_NE(error_of(std::string("seeds = [1001]\n") + kGrid + "[tune]\nvalues = [1e-3, 2e-3]\n")
                .find("tune.seed must be none"),
            std::string::npos);
}

TEST(Definition, SeedsOfTheCommandReplaceThoseOfTheFile) {
  auto study =
      read(std::string("seeds = [7]\n") + kGrid + "[tune]\nvalues = [1e-3, 2e-3]\nseed = 4\n");
  set_seeds(study, "3");
  EXPECT_EQ(study.seeds, (std::vector<std::int64_t>{1, 2, 3}));
  set_seeds(study, "9-11");
  EXPECT_EQ(study.seeds, (std::vector<std::int64_t>{9, 10, 11}));
  const auto refusal = [&](const char* argument) -> std::string {
    try {
      set_seeds(study, argument);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::usage);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal("4"), "--seeds 4: tune.seed must be none of the study's seeds, but is 4");
  for (const char* const argument : {"0", "", "-3", "3-2", "1-2000", "two", "3-", "1-2-3"}) {
    EXPECT_EQ(refusal(argument),
              "--seeds must be a number from 1 to 1000 or a range such as 9-16, but "
              "is \"" +
                  std::string(argument) + "\"");
  }
}

TEST(Definition, KnowsWhatCanBeMeasured) {
  const auto measure_of = [](const std::string& word) {
    return read("alone = true\nmeasure = \"" + word + "\"\n" + kGrid).measure;
  };
  EXPECT_EQ(measure_of("step_time").kind, Measure::Kind::step_time);
  EXPECT_EQ(measure_of("ood_loss").unit(), "nats per token");
  EXPECT_EQ(measure_of("ood_wrong").name(), "share of wrong answers out of distribution");
  EXPECT_TRUE(read(std::string("alone = true\n") + kGrid).exclusive);
  EXPECT_FALSE(read(kGrid).exclusive);
  EXPECT_NE(error_of(std::string("measure = \"speed\"\n") + kGrid).find("step_time"),
            std::string::npos);
}

TEST(Studies, OfTheCatalogueAreValidAtEverySize) {
  EXPECT_GE(catalogue().size(), 17U);
  for (const auto& name : catalogue()) {
    const auto file = find_study(name);
    const auto sizes = sizes_of(file.toml, file.path);
    ASSERT_GE(sizes.size(), 3U) << name;  // `main` has a second one of the paper
    EXPECT_EQ(std::vector(sizes.begin(), sizes.begin() + 3),
              (std::vector<std::string>{"smoke", "desk", "paper"}))
        << name;
    for (const auto& size : sizes) {
      if (is_sanitized() && size != "smoke") continue;  // the same code, with other numbers
      const auto study = parse_study(file.toml, file.path, size);
      EXPECT_FALSE(study.question.empty()) << name;
      for (const auto& arm : grid_points(study)) {
        EXPECT_NO_THROW(config_of(study, arm, 1, {})) << name << ", " << size;
      }
    }
  }
}

// After Holm's correction, if all agree.
TEST(Studies, WithFurtherClaimsHaveEnoughSeeds) {
  for (const auto& name : catalogue()) {
    const auto file = find_study(name);
    for (const auto& size : sizes_of(file.toml, file.path)) {
      if (!size.starts_with("desk")) continue;  // others are for a look, or too dear
      const auto study = parse_study(file.toml, file.path, size);
      const bool asks =
          std::any_of(study.claims.begin(), study.claims.end(),
                      [](const Claim& each) { return each.kind == Claim::Kind::further; });
      if (!asks) continue;
      const auto needed =
          sign_test_required_pairs(0.05 / static_cast<double>(hypothesis_count(study)));
      EXPECT_GE(static_cast<std::int64_t>(study.seeds.size()), needed) << name << ", " << size;
    }
  }
}

TEST(Studies, OfAdditionStartAllArmsFromTheSameKindOfWeights) {
  const auto file = find_study("addition");
  const auto study = parse_study(file.toml, file.path, "desk");
  for (const auto& arm : grid_points(study)) {
    EXPECT_EQ(config_of(study, arm, 1, {}).model.init, "megatron") << arm.name;
  }
}

TEST(Studies, HaveNoSizeThatTheDocumentationDoesNotName) {
  const auto page = read_file(EK_TESTS "/../docs/studies.md");
  for (const auto& name : catalogue()) {
    const auto file = find_study(name);
    for (const auto& size : sizes_of(file.toml, file.path)) {
      EXPECT_NE(page.find("`" + size + "`"), std::string::npos) << name << ", " << size;
    }
  }
}

}  // namespace
}  // namespace evenkeel::study
