// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/toml_text.h"

#include <gtest/gtest.h>

namespace evenkeel::config {
namespace {

std::string written(std::string_view toml) {
  return toml_text(toml::parse(toml));
}

TEST(TomlText, QuotesWhatAStringMayNotHoldBare) {
  EXPECT_EQ(in_quotes("a\"b\\c\n\x7f é"), R"("a\"b\\c\u000A\u007F é")");
}

TEST(TomlText, LeavesKeysBareIfTheyMay) {
  EXPECT_EQ(key_text("kv_heads-2"), "kv_heads-2");
  EXPECT_EQ(key_text("a.b"), "\"a.b\"");
  EXPECT_EQ(key_text(""), "\"\"");
}

TEST(TomlText, WritesNumbersInTheirShortestExactForm) {
  EXPECT_EQ(written("x = 0.1"), "{ x = 0.1 }");
  EXPECT_EQ(written("x = 1e-5"), "{ x = 1e-05 }");
  EXPECT_EQ(written("x = 3.0"), "{ x = 3.0 }");
  EXPECT_EQ(written("x = -inf"), "{ x = -inf }");
  EXPECT_EQ(written("x = 2_000"), "{ x = 2000 }");
}

TEST(TomlText, WritesTablesListsAndDatesInOneLineThatReadsBack) {
  const auto table = toml::parse(R"(
    date = 2025-03-06
    list = [1, "two", [true, {}]]
    [a."b c"]
    deep = { one = 1, two = ["x"] })");
  const auto line = toml_text(table);
  EXPECT_EQ(line, R"({ a = { "b c" = { deep = { one = 1, two = ["x"] } } }, date = 2025-03-06, )"
                  R"(list = [1, "two", [true, {}]] })");
  EXPECT_EQ(*toml::parse("back = " + line)["back"].as_table(), table);
}

}  // namespace
}  // namespace evenkeel::config
