// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/json_lines.h"

#include <gtest/gtest.h>

#include "data/refusal.h"

namespace evenkeel::data {
namespace {

std::string refused(const std::string& content) {
  return refusal([&] { json_lines(content, "text", "a.jsonl"); });
}

TEST(JsonLines, GiveOneDocumentALine) {
  EXPECT_EQ(json_lines("{\"text\": \"one\\n\\u00e9\", \"id\": 1}\r\n\n  \n{\"text\": \"two\"}",
                       "text", "a.jsonl"),
            (std::vector<std::string>{"one\n\xc3\xa9", "two"}));
}

TEST(JsonLines, LeaveOutEmptyStrings) {
  EXPECT_TRUE(json_lines("{\"text\": \"\"}\n", "text", "a.jsonl").empty());
}

TEST(JsonLines, NameTheLineThatIsNoJson) {
  EXPECT_EQ(refused("{\"text\": \"one\"}\n{\"text\": oops}\n"),
            "a.jsonl:2: must be JSON, but is not at column 10");
}

TEST(JsonLines, NameTheLineThatIsNoObject) {
  EXPECT_EQ(refused("[1]"), "a.jsonl:1: must be an object, but is of type array");
}

TEST(JsonLines, ListTheKeysWhenTheWantedOneIsMissing) {
  EXPECT_EQ(refused("{\"title\": \"x\", \"texts\": \"y\"}"),
            "a.jsonl:1: no key \"text\"; did you mean \"texts\"? known: texts, title; set "
            "data.text_key");
}

TEST(JsonLines, RefuseWhatIsNoString) {
  EXPECT_EQ(refused("{\"text\": 3}"),
            "a.jsonl:1: \"text\" must be a string, but is of type number");
}

TEST(JsonLines, RefuseNestingDeeperThan64) {
  const auto nested = [](std::size_t depth) {  // the object itself is the first level
    return "{\"text\": \"x\", \"y\": " + std::string(depth - 1, '[') + std::string(depth - 1, ']') +
           "}";
  };
  EXPECT_EQ(refused(nested(64)), "no refusal");
  EXPECT_EQ(refused(nested(65)), "a.jsonl:1: must be nested at most 64 deep, but is deeper");
  EXPECT_EQ(refused(std::string(1000000, '[')),
            "a.jsonl:1: must be nested at most 64 deep, but is deeper");
}

}  // namespace
}  // namespace evenkeel::data
