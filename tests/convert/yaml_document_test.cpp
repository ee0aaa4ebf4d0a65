// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/yaml_document.h"

#include <gtest/gtest.h>

#include <string>

#include "convert/support.h"

namespace evenkeel::convert {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson value_of(const std::string& yaml) {
  return parse_yaml_value(yaml, "x");
}

std::string refusal_of(const std::string& yaml) {
  return message_of([&] { parse_yaml(yaml, "x.yaml"); });
}

TEST(YamlDocument, HasItsKeysInTheirOrderWithLines) {
  const auto entries =
      parse_yaml("b: 1\na:\n  # a comment\n  d: [x, 2]\n  c: {e: true}\nempty: {}\n", "x.yaml");
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_EQ(entries[0].key, "b");
  EXPECT_EQ(entries[1].key, "a.d");
  EXPECT_EQ(entries[1].line, 4U);
  EXPECT_EQ(entries[1].value, OrderedJson({"x", 2}));
  EXPECT_EQ(entries[2].key, "a.c.e");
  EXPECT_EQ(entries[2].value, OrderedJson(true));
  EXPECT_EQ(entries[3].key, "empty");
  EXPECT_EQ(entries[3].value, OrderedJson::object());
}

// As OmegaConf reads them: YAML 1.1, and numbers with an exponent but without a point.
TEST(YamlDocument, GivesScalarsTheirTypes) {
  for (const auto* const word : {"1e12", "1.0e12", "1_000_000_000_000.0", "+1e12"}) {
    EXPECT_EQ(value_of(word), OrderedJson(1e12)) << word;
    EXPECT_TRUE(value_of(word).is_number_float()) << word;
  }
  EXPECT_EQ(value_of("1e-5"), OrderedJson(1e-5));
  EXPECT_EQ(value_of("-.5"), OrderedJson(-0.5));
  EXPECT_EQ(value_of("8388608000"), OrderedJson(8388608000));
  EXPECT_EQ(value_of("-1"), OrderedJson(-1));
  EXPECT_EQ(value_of("1_000"), OrderedJson(1000));
  for (const auto* const word : {"true", "True", "yes", "on"})
    EXPECT_EQ(value_of(word), OrderedJson(true));
  for (const auto* const word : {"false", "NO", "Off"})
    EXPECT_EQ(value_of(word), OrderedJson(false));
  for (const auto* const word : {"null", "~"}) EXPECT_TRUE(value_of(word).is_null());
  for (const auto* const word : {"1e12T", "2ep", "010", "0x10", "1.2.3", "inf", "1e999", "e5"}) {
    EXPECT_EQ(value_of(word), OrderedJson(word));
  }
  EXPECT_EQ(value_of("'12'"), OrderedJson("12"));
  EXPECT_EQ(value_of("\"true\""), OrderedJson("true"));
  EXPECT_EQ(value_of("_{0:{'attn_norm':True}}_"), OrderedJson("_{0:{'attn_norm':True}}_"));
}

TEST(YamlDocument, RefusesWhatAConfigurationDoesNotNeed) {
  EXPECT_EQ(refusal_of("a: 1\nb: *c\n"),
            "x.yaml:2: aliases (*name) are not read; write the value itself");
  EXPECT_EQ(refusal_of("a: !!str 1\n"), "x.yaml:1: tags (!name) are not read; leave it out");
  EXPECT_EQ(refusal_of("a: 1\nb: 2\na: 3\n"), "x.yaml:3: key \"a\" is there twice");
  EXPECT_EQ(refusal_of("a: [{b: 1, b: 2}]\n"), "x.yaml:1: key \"b\" is there twice");
  EXPECT_EQ(refusal_of("a: 1\n---\nb: 2\n"), "x.yaml:2: must be one document, but has several");
  EXPECT_EQ(refusal_of("- a\n- b\n"), "x.yaml:1: must be a table of keys, but is not");
  EXPECT_EQ(refusal_of("? [a]\n: b\n"), "x.yaml:1: a key must be a word, but is not");
  EXPECT_EQ(refusal_of(""), "x.yaml:1: must be YAML, but is empty");
  EXPECT_EQ(refusal_of("a: [1\nb: 2\n"),
            "x.yaml:2: must be YAML, but did not find expected ',' or ']'");
  EXPECT_EQ(refusal_of("a: \xff\n"), "x.yaml:1: must be YAML, but invalid leading UTF-8 octet");
}

TEST(YamlDocument, IsLimitedInDepthAndSize) {
  const auto nested = [](int depth) {
    return "a: " + std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  EXPECT_EQ(refusal_of(nested(62)), "");
  EXPECT_EQ(refusal_of(nested(70)), "x.yaml:1: must be nested at most 64 deep, but is deeper");
  EXPECT_EQ(refusal_of(nested(100000)), "x.yaml:1: must be nested at most 64 deep, but is deeper");
  std::string many = "a: [";
  for (int i = 0; i < 100'001; ++i) many += "1,";
  EXPECT_EQ(refusal_of(many + "]"), "x.yaml:1: must have at most 100000 values, but has more");
}

}  // namespace
}  // namespace evenkeel::convert
