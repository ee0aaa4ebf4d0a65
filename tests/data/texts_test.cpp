// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/texts.h"

#include <sys/stat.h>

#include "data/gzipped.h"
#include "data/refusal.h"
#include "data/temporary_folder.h"

namespace evenkeel::data {
namespace {

class ReadTexts : public TemporaryFolder {
 protected:
  static std::string refused(const std::string& input, const config::Data& data = {}) {
    return refusal([&] { read_texts({input}, data); });
  }
};

using Strings = std::vector<std::string>;

TEST_F(ReadTexts, TakesTheFilesOfAFolderByName) {
  file("c.txt", "third\n");
  file("a.jsonl", "{\"text\": \"first\"}\n{\"text\": \"second\"}\n");
  file("d.jsonl.gz", gzipped("{\"text\": \"fourth\"}\n"));
  file("e.txt.gz", gzipped("fifth"));
  file("b.png", "no text");
  const auto texts = read_texts({path("")}, {});
  EXPECT_EQ(texts.documents, (Strings{"first", "second", "third\n", "fourth", "fifth"}));
  EXPECT_EQ(texts.description, path("") + " (2 text, 2 jsonl, 2 of them gzip; left out: b.png)");
}

TEST_F(ReadTexts, SaysHowManyTextsAreNull) {
  const auto a = file("a.jsonl", "{\"text\": null}\n{\"text\": \"one\"}\n");
  EXPECT_EQ(read_texts({a}, {}).documents, (Strings{"one"}));
  EXPECT_EQ(read_texts({a}, {}).description, a + " (1 jsonl), 1 null text left out");
  EXPECT_EQ(refused(file("b.jsonl", "{\"text\": null}\n")),
            path("b.jsonl") + ": must hold text, but is empty");
}

TEST_F(ReadTexts, TakesAListInTheOrderGiven) {
  const auto b = file("b.txt", "b"), a = file("a.txt", "a");
  EXPECT_EQ(read_texts({b, a}, {}).documents, (Strings{"b", "a"}));
  EXPECT_EQ(read_texts({b, a}, {}).description, b + ", " + a + " (2 text)");
}

TEST_F(ReadTexts, FollowsTheFormatThatIsSet) {
  const auto lines = file("a.log", "{\"body\": \"one\"}");
  EXPECT_EQ(read_texts({lines}, {.format = "jsonl", .text_key = "body"}).documents,
            (Strings{"one"}));
  EXPECT_EQ(read_texts({lines}, {.format = "text"}).documents, (Strings{"{\"body\": \"one\"}"}));
}

TEST_F(ReadTexts, RefusesAFileThatCannotBeRead) {
  EXPECT_EQ(refused("/proc/self/mem", {.format = "text"}),
            "/proc/self/mem: cannot read: Input/output error");
}

TEST_F(ReadTexts, RefusesPipesAndDevices) {
  ASSERT_EQ(::mkfifo(path("pipe.txt").c_str(), 0600), 0);
  for (const auto& input : {path("pipe.txt"), path("")}) {
    EXPECT_EQ(refused(input), path("pipe.txt") + ": must be a regular file, but is a pipe");
  }
  EXPECT_EQ(refused("/dev/zero", {.format = "text"}),
            "/dev/zero: must be a regular file, but is a device");
}

TEST_F(ReadTexts, RefusesAFileLargerThanTheMemory) {
  const auto large = file("large.txt", "a");
  std::filesystem::resize_file(large, std::uintmax_t{1} << 42);  // no block is written
  const auto answer = refused(large);
  EXPECT_EQ(answer.find(large + ": must have at most "), 0u) << answer;
  EXPECT_NE(answer.find(" bytes, but has 4398046511104; name a smaller file"), std::string::npos)
      << answer;
}

TEST_F(ReadTexts, RefusesAnEmptyFile) {
  for (const auto& empty : {file("a.txt", ""), file("a.txt.gz", gzipped("")),
                            file("a.jsonl", "\n{\"text\": \"\"}\n")}) {
    EXPECT_EQ(refused(empty), empty + ": must hold text, but is empty");
  }
}

TEST_F(ReadTexts, RefusesBytesThatAreNotUtf8) {
  for (const auto& bad : {file("a.txt", "gr\xfcn"), file("a.txt.gz", gzipped("gr\xfcn")),
                          file("a.jsonl", "gr\xfcn")}) {
    EXPECT_EQ(refused(bad),
              bad + (bad.ends_with(".jsonl") ? ":1" : "") +
                  ": must be UTF-8, but byte 2 is 0xfc; convert it, for example with iconv");
  }
}

}  // namespace
}  // namespace evenkeel::data
