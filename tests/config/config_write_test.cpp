// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <optional>
#include <sstream>

#include "config/config_fixture.h"
#include "evenkeel/config/keys.h"

namespace evenkeel::config {
namespace {

class ToToml : public TemporaryFolderTest {};

/// Equal in every key, the name of the preset and the scheme included.
void expect_equal(const Config& a, const Config& b) {
  EXPECT_EQ(a.preset, b.preset);
  EXPECT_EQ(a.scheme.name, b.scheme.name);
  EXPECT_EQ(scheme_text(a.scheme), scheme_text(b.scheme));
  for (const auto& each : differences(a, b))
    ADD_FAILURE() << each.key << ": " << each.before << " became " << each.after;
}

/// Keys away from their defaults, all at once: long numbers, lists, quotes.
const std::vector<std::string> kManyKeys = {
    "seed=9007199254740993",
    "model.layers=3",
    "model.width=96",
    "model.heads=6",
    "model.kv_heads=3",
    "model.inner=77",
    "model.context=31",
    "model.vocabulary=511",
    "model.pad_vocabulary_to=3",
    "model.rope_theta=1234.5678901234567",
    "model.recompute=block",
    "model.tied=false",
    "model.init=normal(0.02)",
    "model.experts.count=7",
    "model.experts.active=3",
    "model.experts.shared=2",
    "model.experts.dense_layers=1",
    "model.experts.renormalize=true",
    "model.experts.balance=0.02",
    "model.experts.router_z=0.003",
    "model.experts.bias_rate=0.0004",
    "data.train=[\"a \\\"b\\\".txt\", \"ü\\n\"]",
    "data.validation=c.txt",
    "data.validation_fraction=0.30000000000000004",
    "data.ood=[\"d.txt\", \"e.txt\"]",
    "data.mask_documents=true",
    "data.format=jsonl",
    "data.text_key=body",
    "train.tokens=123456789012",
    "train.batch=12",
    "train.micro_batch=4",
    "train.precision=float64",
    "train.threads=3",
    "train.from=runs/other",
    "optimizer.betas=[0.8, 0.987654321]",
    "optimizer.epsilon=1e-12",
    "optimizer.weight_decay=0.01",
    "optimizer.decay_gains=false",
    "optimizer.decay_embedding=true",
    "optimizer.clip=0.7",
    "schedule.kind=wsd",
    "schedule.steps=98765432",
    "schedule.peak=0.00012345678901234567",
    "schedule.floor=0.123",
    "schedule.start=0.0625",
    "schedule.warmup=7.5%",
    "schedule.decay=1234567t",
    "evaluate.every=3",
    "evaluate.sequences=5",
    "evaluate.texts={ a-1 = \"a.txt\", b_2 = [\"b\", \"c\"] }",
    "evaluate.tasks=[\"core\", \"my/task.jsonl\"]",
    "evaluate.task_every=11",
    "evaluate.task_documents=12",
    "evaluate.max_context=13",
    "evaluate.rule=lm_eval",
    "evaluate.score_precision=bfloat16",
    "evaluate.task_folder=tasks",
    "checkpoint.every=7",
    "checkpoint.keep=9",
    "checkpoint.seconds=0.5",
    "checkpoint.background=true",
    "probe.steps=[1, 100]",
    "probe.every=7",
    "probe.what=[\"grad_norm\", \"kurtosis\"]",
    "health.on_spike=skip",
    "health.on_nonfinite=stop",
    "health.budget=2",
    "log.every=3",
    "kernels.fused=false",
    "kernels.attention=explicit",
    "distributed.shard=gradients",
    "distributed.connect_timeout=17",
    "distributed.heartbeat_timeout=3",
    "distributed.collective_timeout=77",
    "distributed.interface=eth1",
    "distributed.backend=gloo"};

TEST_F(ToToml, ReadsBackForEveryPreset) {
  for (const auto& preset : presets()) {
    const auto config = resolve({.preset = preset, .files = {}, .scheme = {}, .sets = {}});
    expect_equal(config_of_file(to_toml(config)), config);
    EXPECT_EQ(to_toml(config_of_file(to_toml(config))), to_toml(config));
  }
}

/// The words that the message of a wrong value lists as known.
std::vector<std::string> known_words(const std::string& message) {
  const std::string mark = "known: ";
  const auto at = message.find(mark);
  std::vector<std::string> words;
  if (at == std::string::npos) return words;
  std::istringstream in(message.substr(at + mark.size()));
  for (std::string word; std::getline(in >> std::ws, word, ',');) words.push_back(word);
  return words;
}

/// A configuration in which this key is away from its default, if there is one.
std::optional<Config> away_from_default(const std::string& name, const Key& key) {
  std::vector<std::string> values = {
      "3",    "4",          "700",    "8",   "true",   "false",     "0.25",
      "7.5%", "[0.5, 0.6]", "[3, 5]", "5kt", "normal", "other.txt", "{ wiki = \"a.txt\" }"};
  for (const auto& word : known_words(set_error({name + "=zzz"}))) values.push_back(word);
  for (const auto* const needed :
       {"seed=1", "model.experts.count=4", "schedule.kind=wsd", "data.tokenizer=tok.json"}) {
    for (const auto& value : values) {
      try {
        auto config = config_of_sets({needed, name + "=" + value});
        if (key.write(config) != key.write(config_of_sets({needed}))) return config;
      } catch (const Error&) {
        continue;  // this key takes no such value
      }
    }
  }
  return std::nullopt;
}

TEST_F(ToToml, ReadsBackEachKeyThatChanged) {
  for (const auto& section : sections()) {
    for (const auto& key : section.keys) {
      const auto name = full_name(section, key);
      if (name == "optimizer.kind" || name == "distributed.exchange") continue;  // one value only
      const auto config = away_from_default(name, key);
      ASSERT_TRUE(config) << name;
      expect_equal(config_of_file(to_toml(*config)), *config);
    }
  }
}

TEST_F(ToToml, ReadsBackSourcesWithWeights) {
  const auto config = config_of_sets(
      {"data.train=[{ path = 'a \\\"b.txt', weight = 0.1 }, { path = 'c.npy', weight = 3 }]"});
  expect_equal(config_of_file(to_toml(config)), config);
}

TEST_F(ToToml, ReadsBackWithManyKeysChanged) {
  const auto config = config_of_sets(kManyKeys);
  expect_equal(config_of_file(to_toml(config)), config);
  // train.steps gives way to train.tokens, which is one key more.
  EXPECT_EQ(differences(config_of_sets({}), config).size(), kManyKeys.size() + 1);
}

TEST_F(ToToml, HoldsAnInlineSchemeWhole) {
  write_file("theirs.toml",
             "title = \"Theirs\"\nextends = \"hybrid_norm_star\"\n"
             "norm = { kind = \"rms_norm\", epsilon = 1e-7 }");
  const auto config =
      config_of_sets({"scheme=theirs.toml", "scheme.final=layer_norm", "scheme.name=theirs",
                      "scheme.norm_parameters=N*(3*dk + d) + 3*d"});
  const auto toml = to_toml(config);
  std::filesystem::remove("theirs.toml");
  expect_equal(config_of_file(toml), config);
  EXPECT_NE(toml.find("\n[scheme]\nname = \"theirs\"\n"), std::string::npos) << toml;
}

TEST_F(ToToml, NamesASchemeOnlyIfItIsTheOneOfTheCatalogue) {
  EXPECT_NE(to_toml(config_of_sets({"scheme=pre_norm"})).find("scheme = \"pre_norm\"\n"),
            std::string::npos);
  write_file("pre_norm.toml", "extends = \"post_norm\"");  // the same name, another scheme
  const auto config = config_of_sets({"scheme=pre_norm.toml"});
  EXPECT_EQ(config.scheme.name, "pre_norm");
  EXPECT_EQ(to_toml(config).find("scheme = \"pre_norm\"\n"), std::string::npos);
  expect_equal(config_of_file(to_toml(config)), config);
}

/// The part of a text from `first` up to `end`.
std::string part(const std::string& whole, const std::string& first, const std::string& end) {
  const auto begin = whole.find(first);
  return begin == std::string::npos ? "" : whole.substr(begin, whole.find(end, begin) - begin);
}

// As `evenkeel config` prints them.
TEST_F(ToToml, HasTheFormOfTheDocumentation) {
  const auto toml = to_toml(resolve({}));
  EXPECT_EQ(part(toml, "#", "\n\n"),
            R"(# The settings; as a --config file they repeat a run whose settings never changed.
preset = "tiny"  # where the run started from; all values are below
scheme = "hybrid_norm_star"
seed = 1)");
  EXPECT_EQ(part(toml, "\n# The rule", "\n# The learning"),
            R"(
# The rule of each update.
[optimizer]
kind = "adamw"
betas = [0.9, 0.95]
epsilon = 1e-08
weight_decay = 0.1
decay_gains = true
decay_embedding = false
clip = 1.0
)");
  EXPECT_EQ(part(toml, "\n# The learning", "\n# Loss on"),
            R"(
# The learning rate over the run.
[schedule]
kind = "cosine"
steps = "auto"
peak = 0.004
floor = 0.1
start = 0.0
warmup = 60
decay = "20%"
)");
}

TEST_F(ToToml, HasEachKeyInTheOrderOfSections) {
  const auto config = resolve({});
  const auto toml = to_toml(config);
  std::size_t at = 0;
  for (const auto& section : sections()) {
    const auto heading = text("\n# ", section.comment, "\n[", section.name, "]\n");
    if (!section.name.empty()) at = toml.find(heading, at);
    ASSERT_NE(at, std::string::npos) << section.name;
    for (const auto& key : section.keys) {
      const auto value = key.write(config);
      if (value.empty()) continue;
      at = toml.find(text("\n", key.name, " = ", value, "\n"), at);
      ASSERT_NE(at, std::string::npos) << full_name(section, key);
    }
  }
}

TEST_F(ToToml, LeavesOutKeysThatAFilterRejects) {
  const auto toml = to_toml(resolve({}), [](const std::string& name, const std::string& value) {
    return name == "train.batch" || value == "true";
  });
  EXPECT_EQ(part(toml, "\n# How long", "\n# The rule"),
            "\n# How long and how.\n[train]\nbatch = 8\ndeterministic = true\n");
  EXPECT_EQ(toml.find("[schedule]"), std::string::npos);  // a table without keys
}

TEST_F(ToToml, NamesEachDifference) {
  const auto before = config_of_sets({});
  const auto after = config_of_sets({"model.width=256", "train.tokens=5kt", "data.train=a.txt",
                                     "train.micro_batch=4", "scheme=pre_norm"});
  std::string all;
  for (const auto& each : differences(before, after))
    all += text(each.key, ": ", each.before, " -> ", each.after, "\n");
  EXPECT_EQ(all,
            "scheme: \"hybrid_norm_star\" -> \"pre_norm\"\n"
            "model.width: 128 -> 256\n"
            "data.train: \"builtin:sentences\" -> \"a.txt\"\n"
            "train.steps: 400 -> unset\n"
            "train.tokens: unset -> 5000\n"
            "train.micro_batch: \"auto\" -> 4\n");
  EXPECT_TRUE(differences(before, before).empty());
}

TEST_F(ToToml, ShowsAChangedSchemeWhole) {
  const auto after = config_of_sets({"scheme.norm=layer_norm"});
  const auto [key, old, whole] = differences(resolve({}), after).at(0);
  EXPECT_EQ(text(key, ' ', old), "scheme \"hybrid_norm_star\"");
  EXPECT_NE(whole.find("norm = \"layer_norm\""), std::string::npos) << whole;
}

}  // namespace
}  // namespace evenkeel::config
