// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/json_lines.h"

#include "data/refusal.h"
#include "data/temporary_folder.h"

namespace evenkeel::data {
namespace {

using Strings = std::vector<std::string>;

class JsonLines : public TemporaryFolder {
 protected:
  Strings lines(const std::string& content,
                std::uint64_t max_bytes = std::uint64_t{1} << 30) const {
    TextWindow window(file("a.jsonl", content), max_bytes);
    Strings found;
    read_json_lines(window, "text", [&](std::string_view each) { found.emplace_back(each); });
    return found;
  }
  std::string counts(const std::string& content) const {
    TextWindow window(file("a.jsonl", content), std::uint64_t{1} << 30);
    return read_json_lines(window, "text", [](std::string_view) {}).description();
  }
  std::string refused(const std::string& content) const {
    return refusal([&] { lines(content); }).substr(path("").size());
  }
};

TEST_F(JsonLines, GiveOneDocumentALine) {
  EXPECT_EQ(lines("{\"text\": \"one\\n\\u00e9\", \"id\": 1}\r\n\n  \n{\"text\": \"two\"}"),
            (Strings{"one\n\xc3\xa9", "two"}));
  EXPECT_EQ(lines(""), Strings{});
}

TEST_F(JsonLines, LeaveOutEmptyStrings) {
  EXPECT_TRUE(lines("{\"text\": \"\"}\n").empty());
}

TEST_F(JsonLines, TakeTheLastOfSeveralEqualKeys) {
  EXPECT_EQ(lines("{\"text\": \"one\", \"text\": \"two\"}"), (Strings{"two"}));
}

TEST_F(JsonLines, TakeEscapedKeysAndSurrogatePairs) {
  EXPECT_EQ(lines("{\"te\\u0078t\": \"\\ud83d\\ude00\\u0000\"}"),
            (Strings{std::string("\xf0\x9f\x98\x80\0", 5)}));
}

TEST_F(JsonLines, TakeNumbersOfAnyLength) {
  EXPECT_EQ(lines("{\"id\": 123456789012345678901234567890, \"text\": \"one\"}"), (Strings{"one"}));
}

TEST_F(JsonLines, TakeLinesLongerThanABlock) {
  const std::string large(std::size_t{5} << 20, 'a'), larger(std::size_t{9} << 20, 'b');
  EXPECT_TRUE(lines("{\"text\": \"" + large + "\"}\n{\"text\": \"x\"}\n{\"text\": \"" + larger +
                    "\"}") == (Strings{large, "x", larger}));
}

TEST_F(JsonLines, NameTheLineThatIsNoJson) {
  EXPECT_EQ(refused("{\"text\": \"one\"}\n{\"text\": oops}\n"),
            "a.jsonl:2: must be JSON, but is not at column 10; mend or remove it");
  EXPECT_EQ(refused("{\"text\": \"one\", \"id\": oops}"),
            "a.jsonl:1: must be JSON, but is not at column 23; mend or remove it");
}

// json.dumps() of Python writes them for a str that was cut inside of a character.
TEST_F(JsonLines, ReadLoneSurrogatesAsReplacementCharacters) {
  const auto one = [this](const char* escaped) {
    return lines(text("{\"text\": \"", escaped, "\"}")).at(0);
  };
  EXPECT_EQ(one("\\ud800"), "\xef\xbf\xbd");
  EXPECT_EQ(one("\\udc00"), "\xef\xbf\xbd");
  EXPECT_EQ(one("a\\uD83Dz"), "a\xef\xbf\xbdz");
  EXPECT_EQ(one("\\ud800\\u0041"),
            "\xef\xbf\xbd"
            "A");
  EXPECT_EQ(one("\\ud800\\ud83d\\ude00"), "\xef\xbf\xbd\xf0\x9f\x98\x80");
  EXPECT_EQ(one("\\\\ud800\\udc00"), "\\ud800\xef\xbf\xbd");  // an escaped backslash
  EXPECT_EQ(counts("{\"text\": \"\\ud800 \\udc00\"}\n"), "2 lone surrogates read as U+FFFD");
  EXPECT_EQ(refused("{\"text\": \"\\ud800\", oops}"),
            "a.jsonl:1: must be JSON, but is not at column 20; mend or remove it");
  EXPECT_EQ(refused("{\"text\": \"\\ud8\"}").find("a.jsonl:1: must be JSON, but is not at "), 0u);
}

TEST_F(JsonLines, LeaveOutInvalidLinesOnRequest) {
  const auto name = file("a.jsonl",
                         "{\"text\": \"one\"}\n{\"text\": \"\\ud800\", oops}\n[1]\n{\"text\": 3}\n"
                         "{\"other\": \"\"}\n{\"text\": \"gr\xfcn\"}\n{\"text\": null}\n"
                         "{\"text\": \"two \\ud800\"}");
  TextWindow window(name, std::uint64_t{1} << 30);
  Strings found;
  const auto counts = read_json_lines(
      window, "text", [&](std::string_view each) { found.emplace_back(each); },
      /*skips_invalid=*/true);
  EXPECT_EQ(found, (Strings{"one", "two \xef\xbf\xbd"}));
  EXPECT_EQ(counts.invalid_lines, 5);
  EXPECT_EQ(counts.first_invalid_lines,
            (std::vector<InvalidLine>{{name, 2}, {name, 3}, {name, 4}, {name, 5}, {name, 6}}));
  EXPECT_EQ(counts.description(),
            "1 null text left out, 1 lone surrogate read as U+FFFD, 5 invalid lines left out "
            "(the first: " +
                name + ":2: must be JSON, but is not at column 20; mend or remove it)");
}

TEST_F(JsonLines, LeaveOutNull) {
  EXPECT_EQ(lines("{\"text\": null}\n{\"text\": \"one\"}\n"), (Strings{"one"}));
  EXPECT_EQ(lines("{\"id\": 123456789012345678901234567890, \"text\": null}\n"), Strings{});
  EXPECT_EQ(counts("{\"text\": null}\n{\"text\": \"\"}\n"),
            "1 null text left out, 1 empty text left out");
  EXPECT_EQ(counts("{\"text\": null}\n{\"text\": null}\n{\"text\": \"\\ud800\"}\n"),
            "2 null texts left out, 1 lone surrogate read as U+FFFD");
  EXPECT_EQ(counts("{\"text\": \"one\"}\n"), "");
}

TEST_F(JsonLines, CountEmptyTexts) {
  EXPECT_EQ(counts("{\"text\": \"\"}\n\n{\"text\": \"one\"}\n"), "1 empty text left out");
  // simdjson does not take the number.
  EXPECT_EQ(counts("{\"id\": 123456789012345678901234567890, \"text\": \"\"}\n"),
            "1 empty text left out");
}

TEST_F(JsonLines, AreSearchedForALoneSurrogate) {
  EXPECT_EQ(lone_surrogate_in("{\"a\": \"\\ud83d\\ude00\\ud83d\"}"), 19U);
  EXPECT_EQ(lone_surrogate_in("\"\\ude00\""), 1U);
  EXPECT_EQ(lone_surrogate_in("\"\\ud83d\\ude00 \\\\ud83d\""), std::nullopt);
}

TEST_F(JsonLines, RefuseBytesThatAreNotUtf8WithTheirLineAndOffset) {
  EXPECT_EQ(refused("{\"text\": \"one\"}\n{\"text\": \"gr\xfcn\"}\n"),
            "a.jsonl:2: must be UTF-8, but byte 28 is 0xfc; convert it, for example with iconv");
}

TEST_F(JsonLines, NameTheLineThatIsNoObject) {
  EXPECT_EQ(refused("[1]"),
            "a.jsonl:1: must be an object, but is of type array; mend or remove it");
  EXPECT_EQ(refused("\"a string\""),
            "a.jsonl:1: must be an object, but is of type string; mend or remove it");
}

TEST_F(JsonLines, ListTheKeysWhenTheWantedOneIsMissing) {
  EXPECT_EQ(refused("{\"title\": \"x\", \"texts\": \"y\"}"),
            "a.jsonl:1: no key \"text\"; did you mean \"texts\"? known: texts, title; set "
            "data.text_key");
}

TEST_F(JsonLines, RefuseWhatIsNoString) {
  EXPECT_EQ(refused("{\"text\": 3}"),
            "a.jsonl:1: \"text\" must be a string, but is of type number; mend it, or "
            "set data.text_key");
}

TEST_F(JsonLines, RefuseNestingDeeperThan64) {
  const auto nested = [](std::size_t depth) {  // the object itself is the first level
    return "{\"text\": \"x\", \"y\": " + std::string(depth - 1, '[') + std::string(depth - 1, ']') +
           "}";
  };
  EXPECT_EQ(lines(nested(64)), (Strings{"x"}));
  EXPECT_EQ(refused(nested(65)),
            "a.jsonl:1: must be nested at most 64 deep, but is deeper; mend or remove it");
  EXPECT_EQ(refused(std::string(1000000, '[')),
            "a.jsonl:1: must be nested at most 64 deep, but is deeper; mend or remove it");
}

}  // namespace
}  // namespace evenkeel::data
