// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/text_reader.h"

#include <cstdlib>

#include "data/gzipped.h"
#include "data/refusal.h"
#include "data/temporary_folder.h"
#include "data/zstd_packed.h"

namespace evenkeel::data {
namespace {

using Strings = std::vector<std::string>;
constexpr std::size_t kMiB = std::size_t{1} << 20;

class TextReader : public TemporaryFolder {
 protected:
  static TextFile text_file(const std::string& path) {
    return find_text_files({path}, {}).files[0];
  }
  static Strings documents(const std::string& path) {
    Strings found;
    read_documents(text_file(path), {}, [&](std::string_view each) { found.emplace_back(each); });
    return found;
  }
  /// The pieces of a file; a "|" follows each that ends a document.
  static Strings pieces(const std::string& path) {
    Strings found;
    read_pieces(text_file(path), {}, [&](std::string_view piece, bool is_end) {
      found.push_back(std::string(piece) + (is_end ? "|" : ""));
    });
    return found;
  }
};

TEST_F(TextReader, GivesTheDocumentsOfEveryKindAndCompression) {
  const std::string lines = "{\"text\": \"one\"}\n{\"text\": \"\"}\n{\"text\": \"two\"}\n";
  const std::string array = "[\"one\", \"\", {\"text\": \"two\"}]";
  for (const auto& path :
       {file("a.jsonl", lines), file("a.jsonl.gz", gzipped(lines)),
        file("a.jsonl.zst", zstd_packed(lines)), file("a.json", array),
        file("a.json.gz", gzipped(array)), file("a.json.zst", zstd_packed(array))}) {
    EXPECT_EQ(documents(path), (Strings{"one", "two"})) << path;
    EXPECT_EQ(pieces(path), (Strings{"one|", "two|"})) << path;
  }
  for (const auto& path : {file("a.txt", "one\ntwo\n"), file("a.txt.gz", gzipped("one\ntwo\n")),
                           file("a.txt.zst", zstd_packed("one\ntwo\n"))}) {
    EXPECT_EQ(documents(path), (Strings{"one\ntwo\n"})) << path;
    EXPECT_EQ(pieces(path), (Strings{"one\ntwo\n|"})) << path;
  }
}

TEST_F(TextReader, KnowsWhichFilesHaveJsonLines) {
  const auto has_lines = [](const std::string& path) { return has_json_lines(text_file(path)); };
  const std::string line = "\n {\"text\": \"one\"}\n";
  EXPECT_TRUE(has_lines(file("a.jsonl", "[1]\n")));  // a line, if an invalid one
  EXPECT_TRUE(has_lines(file("a.json", line)));
  EXPECT_TRUE(has_lines(file("b.json.gz", gzipped(line))));
  EXPECT_FALSE(has_lines(file("c.json", " [\"one\"]")));
  EXPECT_FALSE(has_lines(file("d.json", "")));
  EXPECT_FALSE(has_lines(file("e.txt", line)));
}

TEST_F(TextReader, DropsTheByteOrderMarkAndKeepsCrLf) {
  EXPECT_EQ(documents(file("a.txt", "\xef\xbb\xbfone\r\ntwo")), (Strings{"one\r\ntwo"}));
  EXPECT_EQ(documents(file("a.jsonl", "\xef\xbb\xbf{\"text\": \"one\\r\\n\"}")),
            (Strings{"one\r\n"}));
  EXPECT_EQ(documents(file("a.json", "\xef\xbb\xbf[\"one\"]")), (Strings{"one"}));
}

TEST_F(TextReader, CutsALargeTextAtItsLines) {
  std::string text;
  for (int i = 0; text.size() < 100 * kMiB; ++i) text += "line " + std::to_string(i) + "\n";
  const auto path = file("a.txt", text);
  auto found = pieces(path);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found.back().back(), '|');
  found.back().pop_back();
  std::string all;
  for (const auto& each : found) {
    EXPECT_TRUE(each.starts_with("line ") && each.ends_with("\n"));
    EXPECT_LE(each.size(), 64 * kMiB);
    all += each;
  }
  EXPECT_TRUE(all == text);
  EXPECT_TRUE(documents(path) == Strings{text});
}

TEST_F(TextReader, DoesNotCutALargeTextWithoutLines) {
  const std::string text(70 * kMiB, 'a');
  EXPECT_TRUE(pieces(file("a.txt", text)) == Strings{text + "|"});
}

TEST_F(TextReader, GivesTheOffsetOfInvalidUtf8BehindTheFirstPiece) {
  std::string text;
  for (int i = 0; text.size() < 70 * kMiB; ++i) text += "line " + std::to_string(i) + "\n";
  text += "gr\xfcn";
  const auto path = file("a.txt", text);
  const auto wanted = path + ": must be UTF-8, but byte " + std::to_string(text.size() - 2) +
                      " is 0xfc; convert it, for example with iconv";
  EXPECT_EQ(refusal([&] { pieces(path); }), wanted);
  EXPECT_EQ(refusal([&] { documents(path); }), wanted);
}

TEST_F(TextReader, SaysHowToReadParquet) {
  const auto parquet = file("a.parquet", "PAR1");
  const auto answer = [&](const std::string& plugin) {
    ::setenv("EVENKEEL_PARQUET_PLUGIN", plugin.c_str(), 1);
    auto message = refusal([&] { documents(parquet); });
    ::unsetenv("EVENKEEL_PARQUET_PLUGIN");
    return message;
  };
  EXPECT_EQ(
      answer("/none/libevenkeel_parquet.so"),
      parquet +
          ": parquet needs /none/libevenkeel_parquet.so, which is missing; build it with ./ek "
          "parquet, or convert the file to .jsonl, for example with pandas");
  const auto other = file("other.so", "no library");
  EXPECT_EQ(answer(other), parquet + ": cannot load the reader of parquet: " + other +
                               ": file too short; build it again with ./ek parquet");
}

TEST_F(TextReader, RefusesFilesWithoutText) {
  for (const auto& path :
       {file("a.txt", ""), file("b.txt", "\xef\xbb\xbf"), file("a.txt.zst", zstd_packed("")),
        file("a.jsonl", "\n{\"text\": \"\"}\n"), file("a.json", "[]")}) {
    EXPECT_EQ(refusal([&] { documents(path); }), path + ": must hold text, but is empty");
    EXPECT_EQ(refusal([&] { pieces(path); }), path + ": must hold text, but is empty");
  }
}

}  // namespace
}  // namespace evenkeel::data
