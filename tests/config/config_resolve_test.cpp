// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "config/config_fixture.h"
#include "evenkeel/base/version.h"
#include "evenkeel/config/keys.h"

namespace evenkeel::config {
namespace {

class Resolve : public TemporaryFolderTest {};

TEST_F(Resolve, StartsFromThePresetTiny) {
  const auto config = resolve({});
  EXPECT_EQ(config.preset, "tiny");
  EXPECT_EQ(config.scheme.name, "hybrid_norm_star");
  EXPECT_EQ(config.train.steps, 400);
}

TEST_F(Resolve, MergesFilesOverThePresetAndSettingsOverFiles) {
  write_file("a.toml", "[model]\nlayers = 6\nwidth = 64\ncontext = 32\n[train]\nbatch = 8");
  write_file("b.toml", "[model]\nwidth = 96\ncontext = 48");
  const auto config = resolve({.preset = "nano",
                               .files = {"a.toml", "b.toml"},
                               .scheme = {},
                               .sets = {"model.context=8", "model.context=16"}});
  EXPECT_EQ(config.model.inner, 352);  // preset
  EXPECT_EQ(config.schedule.warmup, (Length{100, Length::Unit::steps}));
  EXPECT_EQ(config.model.layers, 6);  // first file
  EXPECT_EQ(config.train.batch, 8);
  EXPECT_EQ(config.model.width, 96);    // second file
  EXPECT_EQ(config.model.context, 16);  // the last of the settings
}

TEST_F(Resolve, ReadsEveryKindOfValueFromASetting) {
  const auto config = config_of_sets(
      {"train.steps=2_000", "data.train=a.txt", "schedule.warmup=5%", "schedule.kind=wsd",
       "schedule.decay=100Mt", "optimizer.betas=[0.8, 0.9]", "model.vocabulary=300",
       "data.validation=[\"a b.txt\", \"c\"]", "train.threads=2", "kernels.fused=false", "seed=7"});
  EXPECT_EQ(config.train.steps, 2000);
  EXPECT_EQ(config.data.train, std::vector<std::string>{"a.txt"});
  EXPECT_EQ(config.schedule.warmup, (Length{5, Length::Unit::percent}));
  EXPECT_EQ(config.schedule.decay, (Length{1e8, Length::Unit::tokens}));
  EXPECT_EQ(config.optimizer.beta1, 0.8);
  EXPECT_EQ(config.optimizer.beta2, 0.9);
  EXPECT_EQ(config.model.vocabulary, 300);
  EXPECT_EQ(config.data.validation, (std::vector<std::string>{"a b.txt", "c"}));
  EXPECT_EQ(config.train.threads, 2);
  EXPECT_FALSE(config.kernels.fused);
  EXPECT_EQ(config.seed, 7);
}

TEST_F(Resolve, TakesAWholeTableFromASettingKeyByKey) {
  const auto config = config_of_sets({"model={ layers = 2, width = 64 }", "model.layers=3"});
  EXPECT_EQ(config.model.layers, 3);
  EXPECT_EQ(config.model.width, 64);
  EXPECT_EQ(config.model.heads, 4);
}

/// The keys of a section as messages list them.
std::string known_keys(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& section : sections()) {
    for (const auto& key : section.keys) {
      if (section.name == name) names.emplace_back(key.name);
    }
  }
  std::sort(names.begin(), names.end());
  std::string out;
  for (const auto& each : names) out += (out.empty() ? "" : ", ") + each;
  return out;
}

TEST_F(Resolve, NamesAMisspeltKeyAtEachLevel) {
  EXPECT_EQ(file_error("\n\ntrain.stesp = 3"),
            "mine.toml:3: train.stesp: unknown key; did you mean \"steps\"? known: " +
                known_keys("train"));
  EXPECT_EQ(set_error({"train.stesp=3"}),
            "--set train.stesp=3: train.stesp: unknown key; did you mean \"steps\"? known: " +
                known_keys("train"));
  EXPECT_EQ(file_error("sede = 3"),
            "mine.toml:1: sede: unknown key; did you mean \"seed\"? known: checkpoint, data, "
            "distributed, evaluate, health, kernels, log, model, optimizer, preset, probe, "
            "schedule, scheme, "
            "seed, train");
  for (const auto* const section :
       {"model", "data", "train", "optimizer", "schedule", "evaluate", "checkpoint", "probe",
        "health", "log", "kernels", "distributed"}) {
    const auto message = file_error(text("[", section, "]\nqqqqqq = 1"));
    EXPECT_EQ(message.rfind(text("mine.toml:2: ", section, ".qqqqqq: unknown key; known: "), 0), 0U)
        << message;
  }
}

TEST_F(Resolve, SaysThatAnotherVersionWroteARunWithAnUnknownKey) {
  std::filesystem::create_directory("up");
  std::ofstream("up/run.toml") << "[train]\nqqqqqq = 3\n";
  const auto refusal = [] {
    return message_of(
        [] { resolve({.preset = {}, .files = {"up/run.toml"}, .scheme = {}, .sets = {}}); });
  };
  const auto plain = refusal();
  EXPECT_EQ(plain.rfind("up/run.toml:2: train.qqqqqq: unknown key; known: ", 0), 0U) << plain;
  std::ofstream("up/provenance.json") << R"({"evenkeel": "99.0.0", "commit": "abc"})";
  EXPECT_EQ(
      refusal(),
      text(plain,
           "; unless you added the key: evenkeel 99.0.0 (abc) wrote this run, and this program is ",
           kVersion, " (", commit(),
           "): use that version (for a new run with --config, remove the key)"));
  std::ofstream("up/provenance.json")
      << text(R"({"evenkeel": ")", kVersion, R"(", "commit": ")", commit(), R"("})");
  EXPECT_EQ(refusal(), plain);
  std::ofstream("up/provenance.json") << "[damaged";
  EXPECT_EQ(refusal(), plain);
}

TEST_F(Resolve, SaysThatAnotherVersionWroteACheckpointWithAnUnknownKey) {
  const auto refusal = [](const std::string& name) {
    return message_of([&] { read_back("[train]\nqqqqqq = 3\n", name); });
  };
  const auto plain = refusal("MANIFEST.json");
  EXPECT_EQ(plain.rfind("MANIFEST.json:2: train.qqqqqq: unknown key; known: ", 0), 0U) << plain;
  std::ofstream("MANIFEST.json") << R"({"evenkeel": "99.0.0", "commit": "abc"})";
  EXPECT_EQ(refusal("MANIFEST.json"),
            text(plain, "; evenkeel 99.0.0 (abc) wrote this checkpoint, and this program is ",
                 kVersion, " (", commit(), "): use that version"));
  std::ofstream("MANIFEST.json") << text(R"({"evenkeel": ")", kVersion, R"(", "commit": ")",
                                         commit(), R"("})");
  EXPECT_EQ(refusal("MANIFEST.json"), plain);
}

TEST_F(Resolve, ReadsAMixtureOfExperts) {
  const auto config = resolve(
      {.preset = "moe_tiny", .files = {}, .scheme = {}, .sets = {"model.experts.shared=1"}});
  EXPECT_EQ(config.experts.count, 8);  // of the preset: tables merge key by key at any depth
  EXPECT_EQ(config.experts.shared, 1);
  const auto shape = shape_of(config, 257);
  EXPECT_TRUE(shape.has_router(0));
  EXPECT_EQ(shape.experts.per_token(), 3);
  const auto unknown = file_error("[model.experts]\nqqqqqq = 1");
  EXPECT_EQ(unknown,
            "mine.toml:2: model.experts.qqqqqq: unknown key; known: active, balance, bias_rate, "
            "count, dense_layers, renormalize, router_z, shared");
}

TEST_F(Resolve, RefusesAMixtureThatCannotBe) {
  EXPECT_EQ(set_error({"model.experts.count=4", "model.experts.active=5"}),
            "model.experts.active must be at most model.experts.count, but 5 experts of 4 are "
            "asked for");
  EXPECT_EQ(set_error({"model.experts.count=4", "model.experts.active=0"}),
            "--set model.experts.active=0: model.experts.active must be an integer >= 1, but is 0");
  EXPECT_EQ(set_error({"model.experts.count=4", "model.experts.dense_layers=4"}),
            "model.experts.dense_layers must be below model.layers, 4, but is 4; without any "
            "mixture, set model.experts.count = 0");
  EXPECT_EQ(set_error({"model.experts.active=3"}),
            "--set model.experts.active=3: model.experts.active has no effect where "
            "model.experts.count is 0; state the number of experts, or leave it out");
  EXPECT_EQ(file_error("[model.experts]\nbias_rate = 0.1"),
            "mine.toml:2: model.experts.bias_rate has no effect where model.experts.count is 0; "
            "state the number of experts, or leave it out");
  EXPECT_EQ(
      resolve({.preset = "moe_tiny", .files = {}, .scheme = {}, .sets = {"model.experts.count=0"}})
          .experts.count,
      0);  // the same preset, dense
  EXPECT_EQ(set_error({"model.experts.count=4", "scheme=ngpt"}),
            "scheme ngpt, block 1, feed_forward.up_gate_scale: bad_value: \"up_gate_scale\" has no "
            "meaning in a mixture of experts (model.experts.count); leave it out, or take a dense "
            "model");
}

TEST_F(Resolve, RefusesKeysThatHaveNoEffectYet) {
  const std::string wanted = "--set log.wandb=true: log.wandb: unknown key; known: csv, every, ";
  EXPECT_EQ(set_error({"log.wandb=true"}).substr(0, wanted.size()), wanted);
}

TEST_F(Resolve, RefusesKeysOfTheTextThatHaveNoEffectTogether) {
  EXPECT_EQ(set_error({"data.special_in_text=false"}),
            "data.special_in_text has no effect where data.tokenizer is \"bytes\", which has no "
            "special tokens in a text; leave it out");
  EXPECT_EQ(set_error({"data.order=olmo", "data.train=[{ path = 'a.npy' }]"}),
            "data.order must be \"shuffled\" or \"file\" for sources with weights, but is "
            "\"olmo\"; list the files without weights");
}

TEST_F(Resolve, ReadsSourcesWithWeights) {
  const auto data =
      config_of_sets({"data.train=[{ path = 'a.txt', weight = 0.7 }, { path = 'b.npy' }]"}).data;
  EXPECT_EQ(data.train, (std::vector<std::string>{"a.txt", "b.npy"}));
  EXPECT_EQ(data.weights, (std::vector<double>{0.7, 1}));
  EXPECT_EQ(config_of_sets({"data.train=[{ path = 'a.txt' }]", "data.train=b.txt"}).data.weights,
            std::vector<double>());
  EXPECT_EQ(set_error({"data.train=[{ path = 'a.txt', wieght = 2 }]"}),
            "--set data.train=[{ path = 'a.txt', wieght = 2 }]: data.train[0].wieght: unknown key; "
            "did you mean \"weight\"? known: path, weight");
  EXPECT_EQ(set_error({"data.train=[{ path = 'a.txt', weight = 0 }]"}),
            "--set data.train=[{ path = 'a.txt', weight = 0 }]: data.train[0].weight must be a "
            "number > 0, but is 0");
}

TEST_F(Resolve, ReadsAnEndOfTextAsATokenOrAnId) {
  EXPECT_EQ(config_of_sets({"data.end_of_text=50256"}).data.end_of_text, "50256");
  EXPECT_EQ(config_of_sets({"data.end_of_text=<|eos|>"}).data.end_of_text, "<|eos|>");
  EXPECT_EQ(config_of_sets({"data.begin=false"}).data.begin, false);
  EXPECT_EQ(config_of_sets({"data.begin=auto"}).data.begin, std::nullopt);
}

TEST_F(Resolve, NamesAValueOfTheWrongType) {
  EXPECT_EQ(set_error({"train.steps=many"}),
            "--set train.steps=many: train.steps must be an integer >= 1, but is the string "
            "\"many\"");
  EXPECT_EQ(file_error("[model]\nlayers = 5000"),
            "mine.toml:2: model.layers must be an integer <= 4096, but is 5000");
  EXPECT_EQ(file_error("model = 3"), "mine.toml:1: model must be a table, but is 3");
  EXPECT_EQ(set_error({"train.steps.x=3"}), "train.steps must be an integer >= 1, but is a table");
}

TEST_F(Resolve, RefusesPartsOfTheScheduleThatItsKindDoesNotRead) {
  EXPECT_EQ(set_error({"schedule.floor=0.1", "schedule.kind=constant"}),
            "--set schedule.floor=0.1: schedule.floor has no effect where schedule.kind is "
            "\"constant\"; leave it out");
  EXPECT_EQ(set_error({"schedule.decay=5%"}),
            "--set schedule.decay=5%: schedule.decay has no effect where schedule.kind is "
            "\"cosine\"; leave it out");
  EXPECT_EQ(file_error("[schedule]\nkind = \"constant\"\nfloor = 0.2"),
            "mine.toml:3: schedule.floor has no effect where schedule.kind is \"constant\"; leave "
            "it out");
}

TEST_F(Resolve, LetsAKindOfScheduleDropWhatOnlyAnEarlierKindReads) {
  write_file("mine.toml", "schedule = { kind = \"wsd\", floor = 0.2, decay = \"5%\" }");
  const auto schedule =
      resolve(
          {.preset = {}, .files = {"mine.toml"}, .scheme = {}, .sets = {"schedule.kind=constant"}})
          .schedule;
  EXPECT_EQ(schedule.floor, Schedule().floor);
  EXPECT_EQ(schedule.decay, Schedule().decay);
}

TEST_F(Resolve, LetsTheLastSourceDecideBetweenStepsAndTokens) {
  const auto tokens = config_of_sets({"train.tokens=2kt"}).train;
  EXPECT_EQ(tokens.steps, 0);
  EXPECT_EQ(tokens.tokens, 2000);
  write_file("a.toml", "train.tokens = 5000");
  write_file("b.toml", "train.steps = 7");
  const auto steps =
      resolve({.preset = "151m", .files = {"a.toml", "b.toml"}, .scheme = {}, .sets = {}});
  EXPECT_EQ(steps.train.steps, 7);
  EXPECT_EQ(steps.train.tokens, 0);
  const auto again =
      resolve({.preset = {}, .files = {"b.toml"}, .scheme = {}, .sets = {"train.tokens=9"}});
  EXPECT_EQ(again.train.steps, 0);
  EXPECT_EQ(again.train.tokens, 9);
}

TEST_F(Resolve, RefusesStepsAndTokensInOneSource) {
  EXPECT_EQ(file_error("[train]\nsteps = 3\ntokens = 4"),
            "mine.toml:3: train.tokens excludes train.steps, which is 3; keep one of them");
  EXPECT_EQ(
      set_error({"train.tokens=4", "train.steps=3"}),
      "--set train.tokens=4: train.tokens excludes train.steps, which is 3; keep one of them");
}

TEST_F(Resolve, TakesThePresetOfAFile) {
  EXPECT_EQ(config_of_file("preset = \"nano\"").train.batch, 12);
  EXPECT_EQ(config_of_file("preset = \"nano\"").preset, "nano");
  EXPECT_EQ(file_error("preset = \"nnao\""),
            "mine.toml:1: preset: no preset is named \"nnao\"; did you mean \"nano\"? known: 1.2b, "
            "1.2b_code, 151m, 285m, 543m_29l, 550m, 7b, moe_1b_7b, moe_tiny, nano, tiny");
  EXPECT_EQ(file_error("preset = 7"), "mine.toml:1: preset must be a string, but is 7");
}

TEST_F(Resolve, NamesAnUnknownPreset) {
  EXPECT_EQ(message_of([] { resolve({.preset = "tyni", .files = {}, .scheme = {}, .sets = {}}); }),
            "--preset: no preset is named \"tyni\"; did you mean \"tiny\"? known: 1.2b, 1.2b_code, "
            "151m, 285m, 543m_29l, 550m, 7b, moe_1b_7b, moe_tiny, nano, tiny");
}

TEST_F(Resolve, RefusesTwoDifferentPresets) {
  write_file("mine.toml", "preset = \"nano\"");
  EXPECT_EQ(message_of([] {
              resolve({.preset = "tiny", .files = {"mine.toml"}, .scheme = {}, .sets = {}});
            }),
            "mine.toml:1: preset is \"nano\", but --preset says \"tiny\"; keep one of them");
  EXPECT_EQ(resolve({.preset = "nano", .files = {"mine.toml"}, .scheme = {}, .sets = {}}).preset,
            "nano");
  EXPECT_EQ(set_error({"preset=nano"}),
            "--set preset=nano: files change a preset, so it comes first; write --preset");
}

TEST_F(Resolve, NamesAFileThatIsMissing) {
  try {
    resolve({.preset = {}, .files = {"absent.toml"}, .scheme = {}, .sets = {}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "absent.toml: cannot open: No such file or directory");
    EXPECT_EQ(error.exit(), Exit::io);
  }
}

TEST_F(Resolve, ChecksTheShape) {
  EXPECT_EQ(set_error({"model.heads=3"}),
            "model.heads must divide model.width, but 3 does not divide 128");
  EXPECT_EQ(set_error({"model.kv_heads=3"}),
            "model.kv_heads must divide model.heads, but 3 does not divide 4");
  EXPECT_EQ(set_error({"model.width=60"}),
            "model.width / model.heads must be even for the rotary embedding, but 60 / 4 is 15");
  EXPECT_EQ(set_error({"train.micro_batch=3"}),
            "train.micro_batch must divide train.batch, but 3 does not divide 8");
}

TEST_F(Resolve, GivesTheShapeOfTheModel) {
  const auto config = config_of_sets({"model.vocabulary=tokenizer"});
  const auto shape = shape_of(config, 1000);
  EXPECT_EQ(shape.layers, 4);
  EXPECT_EQ(shape.width, 128);
  EXPECT_EQ(shape.heads, 4);
  EXPECT_EQ(shape.kv_heads, 2);
  EXPECT_EQ(shape.inner, 352);
  EXPECT_EQ(shape.context, 256);
  EXPECT_EQ(shape.vocabulary, 1000);
  EXPECT_EQ(shape_of(config_of_sets({"model.vocabulary=300"}), 257).vocabulary, 300);
  EXPECT_EQ(shape_of(config_of_sets({"model.vocabulary=65"}), 257).vocabulary, 65);  // token files
}

TEST_F(Resolve, NeedsTheVocabularyOfTheTokenizer) {
  const auto config = config_of_sets({"data.tokenizer=tok.json", "model.vocabulary=999"});
  EXPECT_EQ(shape_of(config, 999).vocabulary, 999);
  try {
    shape_of(config, 1000);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "model.vocabulary must be at least 1000, the tokenizer's, but is 999");
  }
}

TEST_F(Resolve, ChecksTheInitialisation) {
  EXPECT_EQ(config_of_sets({"model.init=normal(1/sqrt(d))"}).model.init, "normal(1/sqrt(d))");
  EXPECT_EQ(config_of_file("model.init = \"megatron\"").model.init, "megatron");
  EXPECT_EQ(file_error("[model]\ninit = \"megaton\""),
            "mine.toml:2: model.init: unknown word \"megaton\"; did you mean \"megatron\"? known: "
            "depth_scaled, megatron, normal, normal(std), scheme, trunc_normal(std, k), uniform(a, "
            "b), xavier, xavier(gain)");
}

}  // namespace
}  // namespace evenkeel::config
