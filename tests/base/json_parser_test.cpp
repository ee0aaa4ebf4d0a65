// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/json_parser.h"

#include <gtest/gtest.h>

#include "evenkeel/base/error.h"

namespace evenkeel {
namespace {

/// Lists in lists, `depth` of them.
std::string lists(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(ParseJson, GivesTheValue) {
  EXPECT_EQ(parse_json(R"({"a": [1, "]]"]})").at("a").size(), 2u);
  EXPECT_EQ(parse_ordered_json(R"({"b": 1, "a": 2})").begin().key(), "b");
}

TEST(ParseJson, DiscardsTextsNestedDeeperThan64) {
  EXPECT_FALSE(parse_json(lists(64)).is_discarded());
  for (const std::size_t depth : {65, 300000}) {
    EXPECT_TRUE(parse_json(lists(depth)).is_discarded());
    EXPECT_TRUE(parse_ordered_json(lists(depth)).is_discarded());
  }
  EXPECT_FALSE(parse_json("\"" + lists(100) + "\\\"[\"").is_discarded());  // inside a string
}

TEST(ParseJson, DiscardsWhatIsNoJson) {
  for (const auto* const bad : {"", "{", "nan", "1e400", "\"\xff\""}) {
    EXPECT_TRUE(parse_json(bad).is_discarded()) << bad;
  }
  EXPECT_TRUE(parse_json(std::string_view("{}\0{}", 5)).is_discarded());
}

std::string refused(std::string_view text) {
  try {
    parse_json(text, "a:1");
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::data);
    return error.what();
  }
  return "no refusal";
}

TEST(ParseJson, NamesTheReason) {
  EXPECT_EQ(refused("{}"), "no refusal");
  EXPECT_EQ(refused(lists(65)), "a:1: must be nested at most 64 deep, but is deeper");
  EXPECT_EQ(refused("[1,]"), "a:1: must be JSON, but is not at column 4");
  EXPECT_EQ(refused(std::string_view("{}\0{}", 5)), "a:1: must be JSON, but is not at column 3");
  EXPECT_EQ(refused("1e400"),
            "a:1: must be JSON whose numbers are finite in float64, but one is larger");
}

}  // namespace
}  // namespace evenkeel
