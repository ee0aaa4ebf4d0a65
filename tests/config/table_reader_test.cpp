// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/table_reader.h"

#include <gtest/gtest.h>

#include <functional>

#include "evenkeel/base/error.h"

namespace evenkeel::config {
namespace {

/// The message of reading `[train]` of this text with `read`.
std::string error_of(std::string_view toml, const std::function<void(TableReader&)>& read) {
  try {
    const auto file = parse_toml(toml, "mine.toml");
    TableReader top(file, "");
    auto train = top.section("train");
    read(train);
    train.refuse_unknown_keys();
    top.refuse_unknown_keys();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    return error.what();
  }
  return "no error";
}

void read_two(TableReader& table) {
  table.integer("steps", 400, {1});
  table.word("precision", "auto", {"auto", "float32"});
}

TEST(TableReader, GivesWhatIsThereAndElseTheFallback) {
  const auto file = toml::parse("[train]\nsteps = 5\nfraction = 1");
  TableReader top(file, "");
  auto train = top.section("train");
  EXPECT_EQ(train.integer("steps", 400, {1}), 5);
  EXPECT_EQ(train.integer("batch", 16, {1}), 16);
  EXPECT_EQ(train.number("fraction", 0.5, kFromZeroToOne), 1.0);  // an integer is a number
  EXPECT_EQ(top.section("absent").integer("steps", 3, {1}), 3);
  EXPECT_EQ(error_of("[train]\nsteps = 5\nprecision = \"float32\"", read_two), "no error");
}

TEST(TableReader, PointsAtAnUnknownKey) {
  EXPECT_EQ(
      error_of("[train]\nsteps = 3\nstesp = 5", read_two),
      "mine.toml:3: train.stesp: unknown key; did you mean \"steps\"? known: precision, steps");
  EXPECT_EQ(error_of("\"a b\\n\" = 1", read_two),
            "mine.toml:1: \"a b\\u000A\": unknown key; known: train");
}

TEST(TableReader, PointsAtAValueOfAnotherType) {
  EXPECT_EQ(error_of("[train]\nsteps = \"many\"", read_two),
            "mine.toml:2: train.steps must be an integer >= 1, but is the string \"many\"");
  EXPECT_EQ(error_of("[train]\nsteps = 1.0", read_two),
            "mine.toml:2: train.steps must be an integer >= 1, but is 1.0");
  EXPECT_EQ(error_of("[train]\nprecision = 32", read_two),
            "mine.toml:2: train.precision must be a string, but is 32");
  EXPECT_EQ(error_of("[train.steps]\nx = 1", read_two),
            "mine.toml:1: train.steps must be an integer >= 1, but is a table");
  EXPECT_EQ(error_of("train = [1]", read_two),
            "mine.toml:1: train must be a table, but is the list [1]");
  EXPECT_EQ(error_of("train = 2025-03-06", read_two),
            "mine.toml:1: train must be a table, but is 2025-03-06");
}

TEST(TableReader, PointsAtAWordItDoesNotKnow) {
  EXPECT_EQ(error_of("[train]\nprecision = \"floot32\"", read_two),
            "mine.toml:2: train.precision: unknown word \"floot32\"; did you mean \"float32\"? "
            "known: auto, float32");
}

TEST(TableReader, PointsAtANumberOutOfItsRange) {
  const auto integer = [](TableReader& table) { table.integer("x", 1, {2, 9}); };
  EXPECT_EQ(error_of("[train]\nx = 1", integer),
            "mine.toml:2: train.x must be an integer >= 2, but is 1");
  EXPECT_EQ(error_of("[train]\nx = 10", integer),
            "mine.toml:2: train.x must be an integer <= 9, but is 10");
  const auto number = [](const NumberRange& range) {
    return [&range](TableReader& table) { table.number("x", 1, range); };
  };
  EXPECT_EQ(error_of("[train]\nx = 0", number(kPositive)),
            "mine.toml:2: train.x must be a number > 0, but is 0");
  EXPECT_EQ(error_of("[train]\nx = -1e-9", number(kNotNegative)),
            "mine.toml:2: train.x must be a number >= 0, but is -1e-09");
  EXPECT_EQ(error_of("[train]\nx = 1.5", number(kFromZeroToOne)),
            "mine.toml:2: train.x must be a number in [0, 1], but is 1.5");
  EXPECT_EQ(error_of("[train]\nx = 1", number(kBelowOne)),
            "mine.toml:2: train.x must be a number in [0, 1), but is 1");
  EXPECT_EQ(error_of("[train]\nx = 0.0", number(kBetweenZeroAndOne)),
            "mine.toml:2: train.x must be a number in (0, 1), but is 0.0");
  EXPECT_EQ(
      error_of("[train]\nx = inf", number(kPositive)),
      "mine.toml:2: train.x must be a number > 0 that fits in float32 (1.2e-38 to 3.4e38), but "
      "is inf");
  EXPECT_EQ(
      error_of("[train]\nx = 1e-46", number(kPositive)),
      "mine.toml:2: train.x must be a number > 0 that fits in float32 (1.2e-38 to 3.4e38), but "
      "is 1e-46");
  EXPECT_EQ(error_of("[train]\nx = -inf", number(kPositive)),
            "mine.toml:2: train.x must be a number > 0, but is -inf");
  EXPECT_EQ(error_of("[train]\nx = nan", number(kNotNegative)),
            "mine.toml:2: train.x must be a number >= 0, but is nan");
}

TEST(TableReader, TakesAWordForZeroWhereOneIsOffered) {
  const auto read = [](TableReader& table) { table.integer_or("auto", "threads", 0, {1}); };
  EXPECT_EQ(error_of("[train]\nthreads = \"auto\"", read), "no error");
  EXPECT_EQ(error_of("[train]\nthreads = 2", read), "no error");
  EXPECT_EQ(error_of("[train]\nthreads = 0", read),
            "mine.toml:2: train.threads must be an integer >= 1 or \"auto\", but is 0");
  EXPECT_EQ(error_of("[train]\nthreads = \"all\"", read),
            "mine.toml:2: train.threads must be an integer >= 1 or \"auto\", but is the string "
            "\"all\"");
}

TEST(TableReader, TakesTokensAsANumberOrWithAUnit) {
  const auto file = toml::parse("a = 5\nb = \"2kt\"");
  TableReader table(file, "");
  EXPECT_EQ(table.tokens("a", 0), 5);
  EXPECT_EQ(table.tokens("b", 0), 2000);
  for (const auto* const value : {"0", "\"5%\"", "\"0t\"", "\"many\"", "1.5"}) {
    const auto shown = value[0] == '"' ? text("the string ", value) : value;
    EXPECT_EQ(error_of(text("[train]\nx = ", value), [](TableReader& t) { t.tokens("x", 0); }),
              text("mine.toml:2: train.x must be an integer >= 1 or tokens as \"100Mt\", but is ",
                   shown));
  }
}

TEST(TableReader, TakesALengthInStepsTokensOrPercent) {
  const auto file = toml::parse("a = 60\nb = \"2kt\"\nc = \"5%\"");
  TableReader table(file, "");
  EXPECT_EQ(table.length("a", {}), (Length{60, Length::Unit::steps}));
  EXPECT_EQ(table.length("b", {}), (Length{2000, Length::Unit::tokens}));
  EXPECT_EQ(table.length("c", {}), (Length{5, Length::Unit::percent}));
  EXPECT_EQ(error_of("[train]\nx = \"2k\"", [](TableReader& t) { t.length("x", {}); }),
            "mine.toml:2: train.x must be steps (an integer >= 0), tokens as \"100Mt\" or a part "
            "as \"5%\", but is the string \"2k\"");
}

TEST(TableReader, TakesAPairOfNumbers) {
  const auto read = [](TableReader& table) { table.pair("betas", {0.9, 0.95}, kBelowOne); };
  EXPECT_EQ(error_of("[train]\nbetas = [0, 0.999]", read), "no error");
  EXPECT_EQ(error_of("[train]\nbetas = [0.9]", read),
            "mine.toml:2: train.betas must be a list of 2, each a number in [0, 1), but is the "
            "list [0.9]");
  EXPECT_EQ(error_of("[train]\nbetas = [0.9, 1]", read),
            "mine.toml:2: train.betas[1] must be a number in [0, 1), but is 1");
}

TEST(TableReader, TakesOneStringOrAList) {
  const auto file = toml::parse("a = \"x\"\nb = [\"x\", \"y\"]");
  TableReader table(file, "");
  EXPECT_EQ(table.strings("a", {}), std::vector<std::string>{"x"});
  EXPECT_EQ(table.strings("b", {}), (std::vector<std::string>{"x", "y"}));
  const auto read = [](TableReader& t) { t.strings("x", {}); };
  const std::string wanted =
      "mine.toml:2: train.x must be a string or a list of strings, none of them empty, but is ";
  EXPECT_EQ(error_of("[train]\nx = 3", read), wanted + "3");
  EXPECT_EQ(error_of("[train]\nx = []", read), wanted + "an empty list");
  EXPECT_EQ(error_of("[train]\nx = [\"a\", 3]", read), wanted + "3");
  EXPECT_EQ(error_of("[train]\nx = \"\"", read), wanted + "the string \"\"");
}

TEST(TableReader, TakesTrueAndFalseOnlyForAFlag) {
  EXPECT_EQ(error_of("[train]\nx = 1", [](TableReader& table) { table.flag("x", true); }),
            "mine.toml:2: train.x must be true or false, but is 1");
}

TEST(ParseToml, PointsAtTheLineThatIsNoToml) {
  EXPECT_EQ(error_of("[train]\nsteps = \n", read_two),
            "mine.toml:2: not TOML: Error while parsing key-value pair: expected value, saw '\\n'");
  EXPECT_EQ(error_of("[train]\nx = tru\n", read_two),
            "mine.toml:2: not TOML: Error while parsing boolean: expected 'true', saw 'tru '");
}

}  // namespace
}  // namespace evenkeel::config
