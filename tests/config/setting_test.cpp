// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/setting.h"

#include <gtest/gtest.h>

#include "config/config_fixture.h"
#include "evenkeel/config/toml_text.h"

namespace evenkeel::config {
namespace {

/// The value of a --set as TOML.
std::string value(const std::string& setting) {
  return toml_text(*parse_setting(setting).value.get("value"));
}

std::string setting_error(const std::string& setting) {
  return message_of([&] { parse_setting(setting); });
}

TEST(Setting, SplitsTheKeyAtItsDots) {
  EXPECT_EQ(parse_setting("seed=1").path, std::vector<std::string>{"seed"});
  EXPECT_EQ(parse_setting("scheme.norm.epsilon=1").path,
            (std::vector<std::string>{"scheme", "norm", "epsilon"}));
}

TEST(Setting, KeyIsTheTextBeforeTheFirstEqualsSign) {
  EXPECT_EQ(key_of_setting("data.ood=a=b.txt"), "data.ood");
  EXPECT_EQ(key_of_setting("data.ood"), "data.ood");
  EXPECT_EQ(key_of_setting("=x"), "");
  EXPECT_EQ(parse_setting("data.ood=a=b.txt").path, (std::vector<std::string>{"data", "ood"}));
}

class SetsKey : public TemporaryFolderTest {};

TEST_F(SetsKey, IsTrueForEachFormOfASetting) {
  const auto sets = [](const std::vector<std::string>& settings) {
    return sets_key({.preset = {}, .files = {}, .scheme = {}, .sets = settings}, "data.tokenizer");
  };
  EXPECT_TRUE(sets({"seed=1", "data.tokenizer=bytes"}));
  EXPECT_TRUE(sets({"data={ tokenizer = \"bytes\" }", "seed=1"}));
  EXPECT_FALSE(sets({}));
  EXPECT_FALSE(sets({"data.train=a.txt", "data={ train = \"data.tokenizer=b\" }", "seed=1"}));
}

TEST_F(SetsKey, IsTrueForAFile) {
  std::ofstream("one.toml") << "[data]\ntokenizer = \"bytes\"\n";
  std::ofstream("two.toml") << "[data]\ntrain = \"a.txt\"\n";
  const auto sets = [](const std::vector<std::filesystem::path>& files) {
    return sets_key({.preset = {}, .files = files, .scheme = {}, .sets = {}}, "data.tokenizer");
  };
  EXPECT_TRUE(sets({"one.toml"}));
  EXPECT_TRUE(sets({"two.toml", "one.toml"}));
  EXPECT_FALSE(sets({"two.toml"}));
}

TEST(Setting, TakesTheValueAsToml) {
  EXPECT_EQ(value("a=2_000"), "2000");
  EXPECT_EQ(value("a=0.25"), "0.25");
  EXPECT_EQ(value("a=true"), "true");
  EXPECT_EQ(value("a=\"x y\""), "\"x y\"");
  EXPECT_EQ(value("a=[0.9, 0.99]"), "[0.9, 0.99]");
  EXPECT_EQ(value("a={ b = 1 }"), "{ b = 1 }");
}

TEST(Setting, TakesABareWordAsAString) {
  for (const std::string word : {"many", "a.txt", "builtin:sentences", "100Mt", "5%", "../a=b.txt",
                                 "normal(0.02)", "2k", "", "with space"}) {
    EXPECT_EQ(value("a=" + word), in_quotes(word));
  }
}

TEST(Setting, NeedsAValue) {
  EXPECT_EQ(setting_error("train.steps"),
            "--set train.steps: a value is missing; write --set train.steps=VALUE");
}

TEST(Setting, IsOneLine) {
  EXPECT_EQ(setting_error("a=1\nb=2"), "--set \"a=1\\u000Ab=2\": a setting is one line of text");
}

TEST(Setting, NeedsAKeyOfWords) {
  EXPECT_EQ(setting_error("a..b=1"),
            "--set a..b=1: the key must be words joined by dots, but is \"a..b\"; write --set "
            "train.steps=2000");
  EXPECT_EQ(setting_error("=1"),
            "--set =1: the key must be words joined by dots, but is \"\"; write --set "
            "train.steps=2000");
  EXPECT_EQ(setting_error("a b.=1"),
            "--set a b.=1: the key must be words joined by dots, but is \"a b.\"; write --set "
            "train.steps=2000");
}

TEST(Setting, TakesNoHalfList) {
  EXPECT_EQ(setting_error("a=[1,"),
            "--set a=[1,: not TOML: Error while parsing array: encountered end-of-file");
}

TEST(Setting, TakesNoTextThatIsNotUtf8) {
  EXPECT_EQ(setting_error("a=\xff").rfind("--set a=\xff: not TOML: ", 0), 0U)
      << setting_error("a=\xff");
}

TEST(Setting, MakesTheTablesOnItsWay) {
  toml::table tree;
  apply(parse_setting("a.b.c=1"), tree);
  apply(parse_setting("a.b.d=2"), tree);
  EXPECT_EQ(toml_text(tree), "{ a = { b = { c = 1, d = 2 } } }");
  EXPECT_EQ(message_of([&] { apply(parse_setting("a.b.c.e=3"), tree); }),
            "--set a.b.c.e=3: a.b.c must be a table to hold e, but is 1");
}

}  // namespace
}  // namespace evenkeel::config
