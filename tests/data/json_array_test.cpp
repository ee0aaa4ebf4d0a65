// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/json_array.h"

#include "data/refusal.h"
#include "data/temporary_folder.h"

namespace evenkeel::data {
namespace {

using Strings = std::vector<std::string>;

class JsonArrays : public TemporaryFolder {
 protected:
  Strings documents(const std::string& content) const {
    TextWindow window(file("a.json", content), std::uint64_t{1} << 30);
    Strings found;
    read_json_array(window, "text", [&](std::string_view each) { found.emplace_back(each); });
    return found;
  }
  std::string refused(const std::string& content) const {
    return refusal([&] { documents(content); }).substr(path("").size());
  }
};

TEST_F(JsonArrays, GiveStringsAndTheTextOfObjects) {
  EXPECT_EQ(documents("[\"one\", \"t\\\"w,o]\"]"), (Strings{"one", "t\"w,o]"}));
  EXPECT_EQ(documents(" [\n {\"text\": \"one\\\\\", \"tags\": [1, {\"a\": \"]\"}]},\n"
                      " {\"text\": \"\"}, {\"text\": \"two\"}\n]\n"),
            (Strings{"one\\", "two"}));
  EXPECT_EQ(documents("[ ]"), Strings{});
  EXPECT_EQ(documents(" \n"), Strings{});
}

TEST_F(JsonArrays, LeaveOutNull) {
  EXPECT_EQ(documents("[null, \"one\", {\"text\": null}, {\"text\": \"\\udc00\"}]"),
            (Strings{"one", "\xef\xbf\xbd"}));
  TextWindow window(path("a.json"), std::uint64_t{1} << 30);
  EXPECT_EQ(read_json_array(window, "text", [](std::string_view) {}).description(),
            "2 null texts left out, 1 lone surrogate read as U+FFFD");
}

TEST_F(JsonArrays, CountEmptyTexts) {
  EXPECT_EQ(documents("[\"\", \"one\", {\"text\": \"\"}]"), (Strings{"one"}));
  TextWindow window(path("a.json"), std::uint64_t{1} << 30);
  EXPECT_EQ(read_json_array(window, "text", [](std::string_view) {}).description(),
            "2 empty texts left out");
}

TEST_F(JsonArrays, GiveTheLinesOfAFileThatBeginsWithAnObject) {
  EXPECT_EQ(documents("{\"text\": \"one\"}\n{\"text\": \"two\"}\n"), (Strings{"one", "two"}));
  EXPECT_EQ(refused("\n{\"text\": 1}\n"),
            "a.json:2: \"text\" must be a string, but is of type number; mend it, or "
            "set data.text_key");
}

TEST_F(JsonArrays, GiveElementsLongerThanABlock) {
  const std::string large(std::size_t{5} << 20, ',');
  EXPECT_TRUE(documents("[\"" + large + "\", {\"text\": \"" + large + "\"}, \"x\"]") ==
              (Strings{large, large, "x"}));
}

TEST_F(JsonArrays, NameTheElementThatIsWrong) {
  EXPECT_EQ(refused("[\"one\", {\"text\": oops}]"),
            "a.json, element 2: must be JSON, but is not at column 10; mend or remove it");
  EXPECT_EQ(
      refused("[1]"),
      "a.json, element 1: must be a string or an object, but is of type number; mend or remove it");
  EXPECT_EQ(refused("[{\"title\": \"x\"}]"),
            "a.json, element 1: no key \"text\"; known: title; set data.text_key");
  EXPECT_EQ(refused("[\"one\", \"gr\xfcn\"]"),
            "a.json, element 2: must be UTF-8, but byte 11 is 0xfc; convert it, for example with "
            "iconv");
}

TEST_F(JsonArrays, RefuseWhatIsNoArray) {
  EXPECT_EQ(refused("12"),
            "a.json: must be an array of strings or objects, but begins with 1; set data.format to "
            "text or jsonl");
  EXPECT_EQ(refused("[\"one\",, \"two\"]"), "a.json: element 2 must be a value, but is empty");
  EXPECT_EQ(refused("[\"one\",]"), "a.json: element 2 must be a value, but is empty");
  EXPECT_EQ(refused("[\"one\", \"tw"),
            "a.json: the array must end with ], but the file ends in element 2; copy or download "
            "the file again");
  EXPECT_EQ(refused("[\"one\"]\n[\"two\"]"),
            "a.json: must end after its array, but more follows at byte 8; JSON with one value per "
            "line ends in .jsonl");
}

}  // namespace
}  // namespace evenkeel::data
