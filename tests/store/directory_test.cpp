// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "evenkeel/store/append_file.h"
#include "store/support.h"

namespace evenkeel::store {
namespace {

TEST(Directory, WritesIntoTheFolderThatItOpenedAlsoAfterAMove) {
  const auto root = fresh_folder();
  std::filesystem::create_directory(root / "x");
  const Directory folder(root / "x");
  EXPECT_TRUE(folder.is_at_its_path());
  std::filesystem::rename(root / "x", root / "old");
  std::filesystem::create_directory(root / "x");
  EXPECT_FALSE(folder.is_at_its_path());
  EXPECT_EQ(folder.current_path(), (root / "old").string());
  folder.write("status.json", "one");
  AppendFile(folder, "metrics.jsonl").append("two\n");
  EXPECT_TRUE(std::filesystem::is_empty(root / "x"));
  EXPECT_EQ(read_file(root / "old" / "status.json"), "one");
  EXPECT_EQ(read_file(root / "old" / "metrics.jsonl"), "two\n");
  std::filesystem::remove_all(root / "old");
  EXPECT_EQ(folder.current_path(), "");
}

TEST(Directory, IsFoundThroughALinkThatTheUserTyped) {
  const auto root = fresh_folder();
  std::filesystem::create_directory(root / "real");
  std::filesystem::create_directory_symlink("real", root / "typed");
  Directory(root / "typed").write("a", "1");
  EXPECT_EQ(read_file(root / "real" / "a"), "1");
  EXPECT_FALSE(Directory::find(root / "none").has_value());
  EXPECT_FALSE(Directory::find(root / "real" / "a").has_value());
}

/// A folder from elsewhere with links to a file and a folder of the user.
class ForeignFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(root_ / "run");
    std::filesystem::create_directory(root_ / "home");
    put(root_ / "home" / "mine", "precious");
    std::filesystem::create_symlink(root_ / "home" / "mine", root_ / "run" / "report.html");
    std::filesystem::create_directory_symlink(root_ / "home", root_ / "run" / "logs");
    run_.emplace(root_ / "run");
  }
  std::string refusal(const char* name) const {
    return "74 " + (root_ / "run" / name).string() +
           ": is a symbolic link, which is not followed inside a run folder; replace it by what it "
           "points to";
  }
  std::string mine() const { return read_file(root_ / "home" / "mine"); }

  std::filesystem::path root_ = fresh_folder();
  std::optional<Directory> run_;
};

TEST_F(ForeignFolder, LosesItsLinkToAFileThatIsReplaced) {
  run_->write("report.html", "new");
  EXPECT_EQ(mine(), "precious");
  EXPECT_EQ(read_file(root_ / "run" / "report.html"), "new");
  EXPECT_TRUE(run_->has_file("report.html"));
}

TEST_F(ForeignFolder, IsNotReadThroughALink) {
  EXPECT_EQ(error_of([&] { run_->read("report.html"); }), refusal("report.html"));
  EXPECT_EQ(error_of([&] { run_->check_file("report.html"); }), refusal("report.html"));
  EXPECT_TRUE(run_->has("report.html"));
  EXPECT_FALSE(run_->has_file("report.html"));
}

TEST_F(ForeignFolder, IsNotAppendedToThroughALink) {
  AppendFile file(*run_, "report.html");
  EXPECT_EQ(error_of([&] { file.append("a\n"); }), refusal("report.html"));
  EXPECT_EQ(mine(), "precious");
}

TEST_F(ForeignFolder, IsNotEnteredThroughALink) {
  EXPECT_EQ(error_of([&] { run_->folder("logs"); }), refusal("logs"));
  EXPECT_FALSE(run_->has_folder("logs"));
  EXPECT_EQ(error_of([&] { run_->make_folder("logs"); }), "no error");  // the name is taken
  EXPECT_EQ(run_->remove("logs"), 0);
  EXPECT_EQ(mine(), "precious");
}

TEST_F(ForeignFolder, CannotRedirectATemporaryFile) {
  const auto planted = text("status.json.new-", ::getpid());
  std::filesystem::create_symlink(root_ / "home" / "mine", root_ / "run" / planted);
  run_->write("status.json", "new");
  EXPECT_EQ(mine(), "precious");
  EXPECT_EQ(read_file(root_ / "run" / "status.json"), "new");
  EXPECT_FALSE(run_->has(planted));
}

TEST(Directory, NamesTheMissingTargetOfALink) {
  const auto root = fresh_folder();
  std::filesystem::create_symlink("gone", root / "link");
  EXPECT_EQ(error_of([&] { Directory{root / "link"}; }),
            "74 " + (root / "link").string() +
                ": is a symbolic link to gone, which does not exist; make that folder, or remove "
                "the link");
  EXPECT_EQ(error_of([&] { Directory{root / "none"}; }),
            "74 " + (root / "none").string() + ": cannot open: No such file or directory");
}

TEST(Directory, NamesTheLimitOfAName) {
  const auto long_name = fresh_folder() / std::string(256, 'a');
  EXPECT_EQ(error_of([&] { Directory{long_name}; }),
            "74 " + long_name.string() +
                ": cannot open: File name too long; a name has at most 255 bytes, a path 4,095");
}

TEST(Directory, ReadsNoPipe) {
  const auto root = fresh_folder();
  ASSERT_EQ(::mkfifo((root / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { Directory(root).read("pipe"); }),
            "74 " + (root / "pipe").string() + ": must be a regular file, but is a pipe");
  AppendFile file(Directory(root), "pipe");
  EXPECT_EQ(error_of([&] { file.append("a\n"); }),
            "74 " + (root / "pipe").string() + ": must be a regular file, but is not");
}

TEST(WriteFile, CannotBeRedirectedByAPlantedTemporaryFile) {
  const auto root = fresh_folder();
  put(root / "mine", "precious");
  std::filesystem::create_symlink("mine", root / text("page.html.new-", ::getpid()));
  write_file(root / "page.html", "new");
  EXPECT_EQ(read_file(root / "mine"), "precious");
  EXPECT_EQ(read_file(root / "page.html"), "new");
}

}  // namespace
}  // namespace evenkeel::store
