// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/toml_depth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "evenkeel/base/error.h"
#include "evenkeel/base/philox.h"
#include "evenkeel/config/setting.h"
#include "evenkeel/config/toml_parser.h"

namespace evenkeel::config {
namespace {

/// The greatest depth of a value below the node.
std::int64_t depth_of(const toml::node& node) {
  std::int64_t deepest = 0;
  if (const auto* const table = node.as_table()) {
    for (const auto& [key, inner] : *table) deepest = std::max(deepest, 1 + depth_of(inner));
  } else if (const auto* const list = node.as_array()) {
    for (const auto& inner : *list) deepest = std::max(deepest, 1 + depth_of(inner));
  }
  return deepest;
}

/// The greatest depth that the scanner finds.
std::int64_t scanned_depth(const std::string& toml) {
  std::int64_t depth = 0;
  while (first_line_deeper_than(depth, toml)) ++depth;
  return depth;
}

TEST(TomlDepth, CountsPartsOfKeysAndHeadersTablesAndLists) {
  EXPECT_EQ(scanned_depth(""), 0);
  EXPECT_EQ(scanned_depth("a = 1\nb = 2"), 1);
  EXPECT_EQ(scanned_depth("a.b . \"c.d\".'e.f' = 1.5"), 4);
  EXPECT_EQ(scanned_depth("[a.b]\nc.d = 1\n[e]\nf = 1"), 4);
  EXPECT_EQ(scanned_depth("[[a]]\nb = 1"), 3);
  EXPECT_EQ(scanned_depth("a = [[3]]"), 3);
  EXPECT_EQ(scanned_depth("a = { b.c = { d = 1 }, e = 2 }"), 4);
  EXPECT_EQ(scanned_depth("a = [{ b.c = 1 }, [[]]]"), 4);
}

TEST(TomlDepth, SkipsStringsAndComments) {
  for (const auto* const toml :
       {"a = \"[[[{{{.\\\"[[[\" # [[[ a.b.c", "a = '[[[\\'",
        "a = \"\"\"[[\n\"\" [[ \\\"\"\"[\"\"\"\"\"", "a = '''[[\n'' [[ ''''' # [[",
        "# a.b.c = 1\r\na = 1", "a = 1979-05-27T07:32:00.5 # .\n",
        "a = \"\"\"\"\"\"\nb = ''''''\nc = ''\nd = \"\""}) {
    EXPECT_EQ(scanned_depth(toml), 1) << toml;
    EXPECT_EQ(read_toml(toml, "").defect, "") << toml;
  }
}

TEST(TomlDepth, NamesTheLine) {
  EXPECT_EQ(first_line_deeper_than(1, "a = 1\nb = '''\n\n'''\nc.d = 1\n"), 5);
  EXPECT_EQ(first_line_deeper_than(3, "a = [\n1,\n[2]]"), std::nullopt);
  EXPECT_EQ(first_line_deeper_than(2, "a = [\n1,\n[\n2]]"), 4);
}

/// A random text of all kinds of keys, headers and values.
class RandomToml {
 public:
  explicit RandomToml(std::uint64_t seed) : random_(seed, "toml") {}

  std::string document() {
    std::string out;
    for (std::uint64_t pairs = below(4); pairs > 0; --pairs) out += pair();
    for (std::uint64_t headers = below(4); headers > 0; --headers) {
      out += "[" + key() + "] # [a.b]\n";
      for (std::uint64_t pairs = below(3); pairs > 0; --pairs) out += pair();
    }
    return out;
  }

 private:
  std::uint64_t below(std::uint64_t end) { return random_.below(end, next_++); }
  std::string pair() { return key() + " = " + value(0) + "\n"; }
  std::string part() {
    const auto name = text("k", next_);  // each key once
    return std::vector<std::string>{name, "\"" + name + ".[\"", "'" + name + ".{'"}.at(below(3));
  }
  std::string key() {
    auto out = part();
    for (auto more = below(4); more > 0; --more) out += (below(2) == 0 ? "." : " . ") + part();
    return out;
  }
  std::string value(int depth) {
    static const std::vector<std::string> kPlain = {
        "1",         "1.5e3",   "true", "\"a]\\\"}.\"", "'[{'", "\"\"\"\n]]\"\"\"\"",
        "'''{\n'''", "07:32:00"};
    const auto kind = below(depth < 5 ? 4 : 2);
    if (kind < 2) return kPlain.at(below(kPlain.size()));
    std::string out;
    for (auto items = below(4); items > 0; --items) {
      out += kind == 2 ? value(depth + 1) + (items > 1 ? ", # ]\n " : "")
                       : key() + " = " + value(depth + 1) + (items > 1 ? ", " : "");
    }
    return kind == 2 ? "[ " + out + " ]" : "{ " + out + " }";
  }

  Philox random_;
  std::uint64_t next_ = 0;
};

TEST(TomlDepth, EqualsTheDepthOfTheParsedTables) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const auto toml = RandomToml(seed).document();
    const auto parsed = read_toml(toml, "");
    ASSERT_EQ(parsed.defect, "") << toml;
    EXPECT_EQ(scanned_depth(toml), depth_of(parsed.table)) << toml;
  }
}

/// A key of this many parts.
std::string key_of(std::size_t parts, const std::string& part) {
  auto key = part;
  for (std::size_t i = 1; i < parts; ++i) key += "." + part;
  return key;
}

TEST(ParseToml, RefusesTextsNestedDeeperThan64) {
  EXPECT_NO_THROW(parse_toml(key_of(64, "a") + " = 1", "a.toml"));
  EXPECT_NO_THROW(parse_toml("a = " + std::string(63, '[') + "1" + std::string(63, ']'), ""));
  std::string tables = "x = ";
  for (int i = 0; i < 100; ++i) tables += "{ " + key_of(9990, "a") + " = ";
  for (const auto& deep :
       {key_of(65, "a") + " = 1", key_of(50000, "\"a\"") + " = 1", "[" + key_of(50000, "'a'") + "]",
        "a = " + std::string(64, '[') + "1" + std::string(64, ']'),
        "[" + key_of(40, "a") + "]\n" + key_of(25, "b") + " = 1", tables,
        "a = " + std::string(1000000, '[')}) {
    const auto parsed = read_toml("first = 1\n" + deep, "");
    EXPECT_EQ(parsed.defect,
              "tables, lists and dotted keys must be nested at most 64 deep, but are deeper")
        << deep.substr(0, 40);
    EXPECT_EQ(parsed.line, deep.find('\n') == std::string::npos ? 2 : 3);
  }
}

TEST(ParseToml, RefusesASettingWithAKeyOfMoreThan64Parts) {
  EXPECT_NO_THROW(parse_setting(key_of(64, "a") + "=1"));
  try {
    parse_setting(key_of(50000, "a") + "=1");
    FAIL() << "a key of 50,000 parts was read";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "--set a...: a key must have at most 64 parts, but has 50000; "
              "docs/configuration.md lists the keys");
  }
}

}  // namespace
}  // namespace evenkeel::config
