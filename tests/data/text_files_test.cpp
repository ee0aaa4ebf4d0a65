// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/text_files.h"

#include <unistd.h>

#include <cstdlib>

#include "data/gzipped.h"
#include "data/refusal.h"
#include "data/temporary_folder.h"
#include "data/zstd_packed.h"
#include "evenkeel/data/texts.h"

namespace evenkeel::data {
namespace {

using Strings = std::vector<std::string>;
namespace fs = std::filesystem;

constexpr const char* kKnown =
    ".txt .text .md .rst .tex .html .py .c .cc .cpp .cu .h .hpp .go .java .jl .js .rs .sh .sql .ts "
    ".css .kt .log .lua .php .r .rb .swift .toml .xml .yaml .jsonl .ndjson .json .parquet (also "
    ".gz, .zst)";

class TextFilesTest : public TemporaryFolder {
 protected:
  /// The paths of the files that an input gives, without the folder of the test.
  Strings found(const std::string& input, const config::Data& data = {}) const {
    Strings names;
    for (const auto& each : find_text_files({input}, data).files) {
      names.push_back(each.path.substr(path("").size()));
    }
    return names;
  }
  std::string refused(const std::string& input, const config::Data& data = {}) const {
    return refusal([&] { find_text_files({input}, data); });
  }
};

TEST_F(TextFilesTest, NameTheFolderThatCannotBeRead) {
  file("top/a.txt", "a");
  file("top/b/closed/c.txt", "c");
  fs::permissions(path("top/b/closed"), fs::perms::none);
  constexpr uid_t kNobody = 65534;  // root may read every folder
  const bool is_root = ::geteuid() == 0;
  ASSERT_EQ(::seteuid(is_root ? kNobody : ::geteuid()), 0);
  const auto message = refused(path("top"));
  ASSERT_EQ(::seteuid(is_root ? 0 : ::geteuid()), 0);
  fs::permissions(path("top/b/closed"), fs::perms::owner_all);
  EXPECT_EQ(message, path("top/b/closed") + ": cannot read: Permission denied");
}

TEST_F(TextFilesTest, AreThoseOfAFolderAndItsFoldersInTheOrderOfTheirPaths) {
  fs::create_directories(path("b/inner"));
  for (const char* const name : {"c.txt", "a.md", "b/inner/y.json", "b/x.py", "b/z.jsonl.gz"}) {
    file(name, std::string(name).ends_with(".gz") ? gzipped("x") : "x");
  }
  EXPECT_EQ(found(path("")), (Strings{"a.md", "b/x.py", "b/z.jsonl.gz", "c.txt"}));
  EXPECT_EQ(found(path("b/*/*.json")), (Strings{"b/inner/y.json"}));
}

TEST_F(TextFilesTest, OfAFolderDoNotIncludeRunFolders) {
  fs::create_directories(path("runs/x"));
  file("runs/x/run.toml", "seed = 1");
  file("runs/x/sample.txt", "generated");
  file("a.txt", "x");
  EXPECT_EQ(found(path("")), (Strings{"a.txt"}));
}

TEST_F(TextFilesTest, MayBeEmptyInAFolder) {
  file("__init__.py", "");
  file("a.py", "x = 1");
  EXPECT_EQ(read_texts({path("")}, {}).documents, (Strings{"x = 1"}));
  EXPECT_EQ(refusal([&] { read_texts({path("__init__.py")}, {}); }),
            path("__init__.py") + ": must hold text, but is empty");
}

TEST_F(TextFilesTest, DoNotComeFromAPatternWithTwoStars) {
  EXPECT_EQ(refused(path("**/*.md")), path("**/*.md") +
                                          ": ** is not known in a pattern; name the folder, which "
                                          "is read with its folders");
}

TEST_F(TextFilesTest, DoNotIncludeHiddenEntriesAndLinksToFolders) {
  fs::create_directories(path(".git"));
  fs::create_directories(path("b"));
  file(".git/x.txt", "x");
  file(".hidden.txt", "x");
  file("b/x.txt", "x");
  fs::create_directory_symlink(path(""), path("b/loop"));
  fs::create_symlink(path("b/x.txt"), path("linked.txt"));
  EXPECT_EQ(found(path("")), (Strings{"b/x.txt", "linked.txt"}));
}

TEST_F(TextFilesTest, AreThoseThatAPatternMatches) {
  fs::create_directories(path("wiki/more"));
  for (const char* const name : {"wiki/a.jsonl.zst", "wiki/b.jsonl.zst"}) {
    file(name, zstd_packed("x"));
  }
  file("wiki/c.txt", "x");
  file("wiki/d.png", "x");
  file("wiki/more/e.txt", "x");
  EXPECT_EQ(found(path("wiki/*.jsonl.zst")), (Strings{"wiki/a.jsonl.zst", "wiki/b.jsonl.zst"}));
  EXPECT_EQ(found(path("w*/[cd].*")), (Strings{"wiki/c.txt"}));
  EXPECT_EQ(found(path("wiki/*")),
            (Strings{"wiki/a.jsonl.zst", "wiki/b.jsonl.zst", "wiki/c.txt", "wiki/more/e.txt"}));
  EXPECT_EQ(find_text_files({path("w*/*")}, {}).description,
            path("w*/*") + " (2 text, 2 jsonl, 2 of them zstd; left out: wiki/d.png)");
}

TEST_F(TextFilesTest, MayHaveTheNameOfAPattern) {
  file("a[1].txt", "x");
  EXPECT_EQ(found(path("a[1].txt")), (Strings{"a[1].txt"}));
}

TEST_F(TextFilesTest, AreFoundInTheHomeFolder) {
  const std::string home = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  file("x.txt", "x");
  ::setenv("HOME", path("").c_str(), 1);
  EXPECT_EQ(found("~/x.txt").size(), 1u);
  EXPECT_EQ(found("~/*.txt").size(), 1u);
  EXPECT_EQ(found("~").size(), 1u);
  ::setenv("HOME", home.c_str(), 1);
}

TEST_F(TextFilesTest, HaveTheKindThatTheirNameTells) {
  for (const auto& [name, kind] :
       std::vector<std::pair<std::string, TextKind>>{{"a.txt", TextKind::text},
                                                     {"A.TXT", TextKind::text},
                                                     {"a.cpp", TextKind::text},
                                                     {"a.jsonl", TextKind::jsonl},
                                                     {"a.json", TextKind::json},
                                                     {"a.parquet", TextKind::parquet}}) {
    EXPECT_EQ(find_text_files({file(name, "x")}, {}).files.at(0).kind, kind) << name;
  }
}

TEST_F(TextFilesTest, HaveTheKindThatIsSet) {
  const auto log = file("a.log", "x");
  EXPECT_EQ(find_text_files({log}, {.format = "jsonl"}).files.at(0).kind, TextKind::jsonl);
  EXPECT_EQ(find_text_files({log}, {.format = "json"}).files.at(0).kind, TextKind::json);
  EXPECT_EQ(find_text_files({log}, {.format = "parquet"}).files.at(0).kind, TextKind::parquet);
  EXPECT_EQ(find_text_files({log}, {.format = "text"}).files.at(0).kind, TextKind::text);
  const auto ids = file("ids.bin", "ids");
  EXPECT_EQ(refusal([&] { find_text_files({ids}, {}); }),
            ids +
                ": must be text, but .bin is the ending of a file of token ids; name files of "
                "text");
}

TEST_F(TextFilesTest, HaveTheCompressionOfTheirContent) {
  const auto compression = [&](const std::string& name, const std::string& content) {
    return find_text_files({file(name, content)}, {}).files.at(0).compression;
  };
  EXPECT_EQ(compression("a.txt", gzipped("x")), Compression::gzip);
  EXPECT_EQ(compression("a.txt", zstd_packed("x")), Compression::zstd);
  EXPECT_EQ(compression("a.txt.gz", zstd_packed("x")), Compression::zstd);
  EXPECT_EQ(compression("a.txt", "x"), Compression::none);
}

TEST_F(TextFilesTest, AreDescribed) {
  file("a.txt", "x\r\ny");
  file("b.txt.zst", zstd_packed("x\r\ny"));
  file("c.md", "x\r\n");
  for (const char* const name : {"1.png", "2.png", "3.png", "4.png", "5.png"}) file(name, "x");
  const auto files = find_text_files({path("a.txt"), path("")}, {});
  EXPECT_EQ(files.description,
            path("a.txt") + ", " + path("") +
                " (4 text, 1 of them zstd, 4 of them with CRLF line ends; left out: 1.png, "
                "2.png, 3.png and 2 more)");
}

TEST_F(TextFilesTest, MustExist) {
  EXPECT_EQ(refused(path("none.txt")),
            path("none.txt") + ": must be a file or a folder, but is missing");
  EXPECT_EQ(
      refused("none/none.txt"),
      "none/none.txt: must be a file or a folder, but is missing; relative paths begin in the "
      "current folder (" +
          fs::current_path().string() + ")");
  EXPECT_EQ(refused(path("*.txt")),
            path("*.txt") + ": the pattern must match a file, but matches none");
}

TEST_F(TextFilesTest, MayNotBeLinksToNothing) {
  fs::create_symlink("none", path("a.png"));
  file("b.txt", "x");
  EXPECT_EQ(found(path("")), (Strings{"b.txt"}));
  fs::create_symlink("none", path("c.txt"));
  EXPECT_EQ(refused(path("")), path("c.txt") + ": cannot open: No such file or directory");
}

TEST_F(TextFilesTest, MustHaveAKnownEnding) {
  EXPECT_EQ(refused(file("a.png.gz", "x")),
            path("a.png.gz") + ": must end in one of " + kKnown +
                ", but ends in \".png\"; or set data.format to text, jsonl, json or parquet");
}

TEST_F(TextFilesTest, MustBeInAFolderThatHasSome) {
  file("a.png", "x");
  for (const auto& input : {path(""), path("*")}) {
    EXPECT_EQ(refused(input),
              input + ": must hold files that end in " + kKnown + ", but holds none");
  }
}

TEST_F(TextFilesTest, AreNoTokenFiles) {
  const auto note = file("note.md", "x");
  file("ids/a.bin", "ids");
  const auto ids = path("ids"), start = ids + ": must hold texts, but holds token files (a.bin); ";
  EXPECT_EQ(refused(ids), start + "name files of text");
  EXPECT_EQ(refused(ids, {.train = {ids}, .format = "text"}), start + "name files of text");
  const auto refused_list = [&](const config::Data& data) {
    return refusal([&] { find_text_files({note, ids}, data); });
  };
  EXPECT_EQ(refused_list({}), start + "name files of text") << "evenkeel tokenize";
  EXPECT_EQ(refused_list({.train = {note}, .validation = {note, ids}}),
            start + "name files of text");
  EXPECT_EQ(refused_list({.train = {note, ids}}),
            start +
                "a list holds texts or token files; tokenize the texts, or give each input a "
                "weight");
}

TEST_F(TextFilesTest, MustBeCompressedIfTheirNameSaysSo) {
  EXPECT_EQ(refused(file("a.txt.gz", "plain")),
            path("a.txt.gz") +
                ": must be gzip, as its name says, but does not begin as gzip does; copy it again, "
                "or name it without .gz");
  EXPECT_EQ(refused(file("a.txt.zst", "plain")),
            path("a.txt.zst") +
                ": must be zstd, as its name says, but does not begin as zstd does; copy it again, "
                "or name it without .zst");
  EXPECT_EQ(refused(file("a.parquet.gz", gzipped("x"))),
            path("a.parquet.gz") + ": must be parquet, but is compressed as a whole; unpack it");
}

}  // namespace
}  // namespace evenkeel::data
