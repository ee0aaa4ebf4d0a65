// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/definition/own_schemes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"

namespace evenkeel::study {
namespace {

namespace fs = std::filesystem;

std::vector<OwnScheme> own_schemes_of(const std::string& schemes) {
  const auto study = parse_study("[grid]\nscheme = [" + schemes + "]\n", "my.toml", "");
  return own_schemes(study, grid_points(study));
}

TEST(OwnSchemes, AreThoseOfFilesMergedWithTheirParents) {
  const auto folder = fs::path(::testing::TempDir()) / text("own_schemes-", ::getpid());
  for (const char* name : {"a", "b"}) fs::create_directories(folder / name);
  const auto quoted = [&](const char* name) { return text('"', (folder / name).string(), '"'); };
  write_file(folder / "a" / "mine.toml", "extends = \"pre_norm\"\ntitle = \"Mine\"\n");
  write_file(folder / "b" / "mine.toml", "extends = \"post_norm\"\ntitle = \"Mine\"\n");
  EXPECT_TRUE(own_schemes_of("\"pre_norm\", \"keel\"").empty());
  const auto found =
      own_schemes_of(text("\"pre_norm\", ", quoted("a/mine.toml"), ", ", quoted("b/mine.toml")));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "mine");
  EXPECT_EQ(found[1].name, "mine, 2");
  EXPECT_NE(found[0].toml, found[1].toml);
  EXPECT_NE(found[0].toml.find("title = \"Mine\"\n"), std::string::npos) << found[0].toml;
  EXPECT_EQ(found[0].toml.find("extends"), std::string::npos);
  write_file(folder / "a" / "again.toml", found[0].toml);  // a scheme file without parents
  EXPECT_EQ(own_schemes_of(quoted("a/again.toml")).at(0).toml, found[0].toml);
  fs::remove_all(folder);
}

TEST(OwnSchemes, OfOneFileAreRefused) {
  const auto folder = fs::path(::testing::TempDir()) / text("own_schemes_twice-", ::getpid());
  fs::create_directories(folder);
  write_file(folder / "mine.toml", "extends = \"pre_norm\"\n");
  fs::create_symlink(folder / "mine.toml", folder / "link.toml");
  const auto first = (folder / "mine.toml").string();
  for (const auto& again : {folder / "." / "mine.toml", folder / "link.toml"}) {
    std::string said = "none";
    try {
      own_schemes_of(text("\"pre_norm\", \"", first, "\", \"", again.string(), '"'));
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::usage);
      said = error.what();
    }
    EXPECT_EQ(said, text("my.toml:2: grid.scheme has one file twice, as \"", first, "\" and as \"",
                         again.string(), "\"; leave one out"));
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace evenkeel::study
