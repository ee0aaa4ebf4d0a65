// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/run_cache.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "evenkeel/base/file.h"
#include "evenkeel/config/keys.h"
#include "evenkeel/study/runs/successive_halving.h"

namespace evenkeel::study {
namespace {

config::Config configuration(const std::vector<std::string>& sets) {
  return config::resolve({.preset = {}, .files = {}, .scheme = {}, .sets = sets});
}

std::string cache_key(const std::vector<std::string>& sets,
                      const std::string& precision = "float32") {
  static RunCacheKeys cache_keys;  // the built-in text is made once
  return cache_keys.key(configuration(sets), precision);
}

TEST(RunCacheKeys, DependOnWhatChangesNumbers) {
  const auto usual = cache_key({});
  EXPECT_EQ(usual.find("hybrid_norm_star-"), 0U);
  for (const char* const set :
       {"seed=2", "train.steps=401", "schedule.peak=1e-3", "scheme=keel", "model.init=normal",
        "evaluate.sequences=8", "probe.steps=[1]", "data.ood=builtin:addition"}) {
    EXPECT_NE(cache_key({set}), usual) << set;
  }
  EXPECT_NE(cache_key({}, "bfloat16"), usual);
}

// A pool of runs outlives a version: a new key at its default is no part of a cache key, a reworded
// title changes none (config/scheme/released_titles.h), and kNumericsVersion rises with the
// numbers.
TEST(RunCacheKeys, AreStable) {
  EXPECT_EQ(cache_key({"scheme=pre_norm"}), "pre_norm-da16a22a44dab306");
  EXPECT_EQ(cache_key({"scheme=hybrid_norm", "model.layers=8", "seed=3"}),
            "hybrid_norm-1fe96dffaadab1d0");
}

// A cache key leaves out a later key at its default, so a changed default would find runs of the
// old one: a change of one of these defaults has to raise kNumericsVersion.
TEST(RunCacheKeys, LeaveOutTheseDefaults) {
  const std::map<std::string, std::string> defaults = {{"data.special_in_text", "true"},
                                                       {"data.end_of_text", "\"auto\""},
                                                       {"data.begin", "\"auto\""},
                                                       {"data.token_type", "\"auto\""},
                                                       {"data.order", "\"shuffled\""},
                                                       {"train.gradient_shards", "\"auto\""},
                                                       {"train.deterministic", "true"},
                                                       {"train.cuda_graphs", "false"},
                                                       {"evaluate.task_every", "0"},
                                                       {"evaluate.task_documents", "0"},
                                                       {"evaluate.max_context", "\"auto\""},
                                                       {"evaluate.rule", "\"olmo\""},
                                                       {"evaluate.score_precision", "\"float32\""},
                                                       {"evaluate.task_folder", "\"auto\""},
                                                       {"checkpoint.background", "false"}};
  std::size_t found = 0;
  for (const auto& section : config::sections()) {
    for (const auto& key : section.keys) {
      const auto wanted = defaults.find(config::full_name(section, key));
      if (wanted == defaults.end()) continue;
      ++found;
      EXPECT_EQ(key.write(config::Config{}), wanted->second) << wanted->first;
    }
  }
  EXPECT_EQ(found, defaults.size());
}

// run_cache_keys.json has the key of each scheme with defaults in float32. The schemes are those of
// version 0.1.0; only kNumericsVersion has changed since.
TEST(RunCacheKeys, OfTheCatalogueAreStable) {
  const auto keys = nlohmann::json::parse(read_file(EK_TESTS "/golden/run_cache_keys.json"));
  EXPECT_EQ(keys.size(), 91U);
  for (const auto& [scheme, key] : keys.items())
    EXPECT_EQ(cache_key({"scheme=" + scheme}), key.get<std::string>());
}

// { extends = "pre_norm", norm = "layer_norm" } copies a title of the catalogue.
TEST(RunCacheKeys, OfAnInlineSchemeHoldTheReleasedTitleOfItsParent) {
  EXPECT_EQ(cache_key({"scheme={ extends = \"pre_norm\", norm = \"layer_norm\" }"}),
            "pre_norm+layer_norm-02d284feef9760ff");
}

TEST(RunCacheKeys, IgnoreWhatDoesNotChangeNumbers) {
  const auto usual = cache_key({});
  for (const char* const set : {"train.threads=1", "checkpoint.every=7", "checkpoint.keep=5",
                                "train.precision=float32", "model.recompute=block"}) {
    EXPECT_EQ(cache_key({set}), usual) << set;
  }
}

// The time of a step does not depend on the configuration alone.
TEST(RunCacheKeys, OfTimedRunsDependOnAllThatChangesTheirTime) {
  RunCacheKeys cache_keys;
  const auto timed = [&](const std::vector<std::string>& sets, const std::string& with) {
    return cache_keys.key(configuration(sets), "float32", with);
  };
  const auto usual = timed({}, "evenkeel (abc) on a processor");
  EXPECT_NE(usual, cache_key({}));
  EXPECT_NE(usual, timed({}, "evenkeel (def) on a processor"));
  for (const char* const set :
       {"train.threads=1", "checkpoint.every=7", "model.recompute=block", "seed=2"}) {
    EXPECT_NE(timed({set}, "evenkeel (abc) on a processor"), usual) << set;
  }
  EXPECT_EQ(timed({"train.precision=float32"}, "evenkeel (abc) on a processor"), usual);
}

TEST(RunCacheKeys, DependOnTheTextNotOnItsPath) {
  const auto folder = std::filesystem::path(::testing::TempDir());
  std::string book;
  for (int i = 0; i < 2000; ++i) book += "The old baker sees the river.\n";
  write_file(folder / "one.txt", book);
  write_file(folder / "copy.txt", book);
  write_file(folder / "other.txt", book + "A cat.\n");
  const auto set = [&](const char* name) { return "data.train=" + (folder / name).string(); };
  const auto one = cache_key({set("one.txt")});
  EXPECT_EQ(cache_key({set("copy.txt")}), one);
  EXPECT_NE(cache_key({set("other.txt")}), one);
}

TEST(RunStatus, IsReadFromTheFilesOfTheRun) {
  const auto run = std::filesystem::path(::testing::TempDir()) / "standing";
  std::filesystem::remove_all(run);
  EXPECT_EQ(run_status(run).state, RunStatus::State::absent);
  std::filesystem::create_directory(run);
  write_file(run / "run.toml", "");
  EXPECT_EQ(run_status(run).state, RunStatus::State::started);
  write_file(run / "status.json", "{\"state\": \"training\", \"step\": 3, \"steps\": 9}");
  EXPECT_EQ(run_status(run).state, RunStatus::State::started);
  EXPECT_EQ(run_status(run).steps, 9);
  write_file(run / "status.json", "{\"state\": \"finished\", \"step\": 9, \"steps\": 9}");
  for (const char* const damaged :
       {"", "{\"step\": 6, \"val_loss\": 1}", "{\"step\": 9, \"val_loss\": \"one\"}"}) {
    write_file(run / "metrics.jsonl", damaged);
    EXPECT_EQ(run_status(run).state, RunStatus::State::damaged) << damaged;
  }
  for (const char* const whole : {"{\"step\": 9, \"val_loss\": 1}\n{\"step\": 9, \"loss\": 1}\n",
                                  "{\"step\": 9, \"val_loss\": null}\n"}) {
    write_file(run / "metrics.jsonl", whole);
    EXPECT_EQ(run_status(run).state, RunStatus::State::finished) << whole;
  }
  write_file(run / "status.json", "{\"state\": \"div");
  EXPECT_EQ(run_status(run).state, RunStatus::State::started);
}

TEST(Shortened, IsTheWholeRecipeInAShareOfTheSteps) {
  const auto whole = configuration({"train.steps=400", "schedule.warmup=60", "probe.steps=[1]"});
  const auto quarter = shortened(whole, 400, 0.25);
  EXPECT_EQ(quarter.train.steps, 100);
  EXPECT_EQ(quarter.schedule.warmup, (config::Length{50}));  // 60 is more than half of the steps
  EXPECT_EQ(shortened(whole, 400, 0.5).schedule.warmup, (config::Length{60}));
  EXPECT_TRUE(quarter.probe.steps.empty());
  EXPECT_EQ(quarter.evaluate.every, 0);
  const auto tokens = shortened(configuration({"train.tokens=204800"}), 100, 0.5);
  EXPECT_EQ(tokens.train.steps, 50);
  EXPECT_EQ(tokens.train.tokens, 0);
}

// A trial has the warm-up of the whole run, in any unit.
TEST(Shortened, HasTheWholeScheduleAndNoFurtherEvaluations) {
  auto config = configuration({"train.steps=400", "schedule.steps=800", "schedule.warmup=\"5%\""});
  config.evaluate.tasks = {"copa"};
  config.evaluate.texts = {{"more", {"more.txt"}}};
  const auto quarter = shortened(config, 400, 0.25);
  EXPECT_EQ(quarter.train.steps, 100);
  EXPECT_EQ(quarter.schedule.steps, 200);
  EXPECT_EQ(quarter.schedule.warmup, (config::Length{40}));  // of 800 steps
  EXPECT_EQ(quarter.evaluate.every, 0);
  EXPECT_TRUE(quarter.evaluate.tasks.empty());
  EXPECT_TRUE(quarter.evaluate.texts.empty());
  config.schedule.steps = 0;
  EXPECT_EQ(shortened(config, 400, 0.25).schedule.steps, 0);
}

TEST(Shortened, KeepsTheWarmupOfTheWholeRun) {
  const auto percent = configuration({"schedule.warmup=\"5%\""});
  EXPECT_EQ(shortened(percent, 400, 0.25).schedule.warmup, (config::Length{20}));
  const auto tokens =
      configuration({"schedule.warmup=\"2000t\"", "train.batch=2", "model.context=100"});
  EXPECT_EQ(shortened(tokens, 400, 0.25).schedule.warmup, (config::Length{10}));
}

// A quarter of the run decays for a quarter of the steps or tokens; percent are of any run.
TEST(Shortened, ShortensTheDecayWithTheSteps) {
  using Unit = config::Length::Unit;
  const auto decay = [](const std::string& length, double share) {
    const auto whole =
        configuration({"train.steps=400", "schedule.kind=wsd", "schedule.decay=" + length});
    return shortened(whole, 400, share).schedule.decay;
  };
  EXPECT_EQ(decay("80", 0.25), (config::Length{20, Unit::steps}));
  EXPECT_EQ(decay("80", 0.5), (config::Length{40, Unit::steps}));
  EXPECT_EQ(decay("79", 0.25), (config::Length{20, Unit::steps}));  // 19.75
  EXPECT_EQ(decay("1", 0.25), (config::Length{1, Unit::steps}));    // at least one step
  EXPECT_EQ(decay("\"2000t\"", 0.25), (config::Length{500, Unit::tokens}));
  EXPECT_EQ(decay("\"10%\"", 0.25), (config::Length{10, Unit::percent}));
}

}  // namespace
}  // namespace evenkeel::study
