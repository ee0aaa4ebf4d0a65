// SPDX-License-Identifier: Apache-2.0
// The key `scheme`: by name, by file, as a table, and changed by --set.
#include <gtest/gtest.h>

#include "config/config_fixture.h"
#include "evenkeel/config/scheme/scheme_table.h"
#include "evenkeel/config/toml_text.h"

namespace evenkeel::config {
namespace {

class SchemeKey : public TemporaryFolderTest {};

/// A key of the merged scheme, as TOML; "-" if it has none.
std::string merged(const Config& config, std::string_view path) {
  const auto node = table_of(config.scheme).at_path(path);
  return node ? toml_text(*node.node()) : "-";
}

TEST_F(SchemeKey, TakesTheSchemeFromTheLastSource) {
  write_file("mine.toml", "scheme = \"post_norm\"");
  const std::vector<std::filesystem::path> files = {"mine.toml"};
  EXPECT_EQ(resolve({.preset = {}, .files = files, .scheme = {}, .sets = {}}).scheme.name,
            "post_norm");
  EXPECT_EQ(resolve({.preset = {}, .files = files, .scheme = "pre_norm", .sets = {}}).scheme.name,
            "pre_norm");
  EXPECT_EQ(
      resolve({.preset = {}, .files = files, .scheme = "pre_norm", .sets = {"scheme=peri_ln"}})
          .scheme.name,
      "peri_ln");
}

TEST_F(SchemeKey, ChangesTheKindOfANamedSchemeAndKeepsItsPlacement) {
  const auto changed = config_of_sets({"scheme.norm=layer_norm"});
  EXPECT_EQ(changed.scheme.name, "hybrid_norm_star+layer_norm");
  EXPECT_EQ(merged(changed, "norm"), "\"layer_norm\"");
  EXPECT_EQ(merged(changed, "extends"), "-");
  const auto named = resolve({});
  EXPECT_EQ(merged(changed, "attention"), merged(named, "attention"));
  EXPECT_EQ(merged(changed, "layers"), merged(named, "layers"));
  EXPECT_EQ(merged(changed, "title"), merged(named, "title"));
  EXPECT_EQ(merged(changed, "equation"), merged(named, "equation"));
  EXPECT_EQ(merged(changed, "source"), "-");
}

TEST_F(SchemeKey, NamesAChangedSchemeAfterItsParent) {
  const auto name = [](const std::vector<std::string>& sets) {
    return config_of_sets(sets).scheme.name;
  };
  EXPECT_EQ(name({"scheme=pre_norm", "scheme.norm=layer_norm"}), "pre_norm+layer_norm");
  EXPECT_EQ(name({"scheme=pre_norm", "scheme.norm.kind=layer_norm"}), "pre_norm+layer_norm");
  EXPECT_EQ(name({"scheme=pre_norm", "scheme.norm.epsilon=1e-6"}), "pre_norm+own");
  const auto deeper =
      config_of_sets({"scheme=pre_norm", "scheme.norm=layer_norm", "scheme.final=none"});
  EXPECT_EQ(deeper.scheme.name, "pre_norm+own");
  EXPECT_EQ(merged(deeper, "title"), "-");
  EXPECT_EQ(name({"scheme=pre_norm", "scheme.norm=layer_norm", "scheme.name=mine"}), "mine");
  EXPECT_EQ(config_of_file("scheme.norm = \"layer_norm\"").scheme.name, "inline");
  std::filesystem::create_directory("my schemes");
  write_file("my schemes/a b.toml", "extends = \"pre_norm\"");
  EXPECT_EQ(name({"scheme=my schemes/a b.toml", "scheme.norm=dyt"}), "a_b+dyt");
}

TEST_F(SchemeKey, ChangesDeeperKeysToo) {
  const auto config = resolve(
      {.preset = {},
       .files = {},
       .scheme = "pre_norm",
       .sets = {"scheme.attention.output=norm", "scheme.norm.epsilon=1e-6", "scheme.name=mine"}});
  EXPECT_EQ(config.scheme.name, "mine");
  EXPECT_EQ(merged(config, "attention.output"), "\"norm\"");
  EXPECT_EQ(merged(config, "attention.input"), "\"norm\"");
  EXPECT_EQ(merged(config, "norm.epsilon"), "1e-06");
}

TEST_F(SchemeKey, AppliesTheChangeToTheSchemeThatWasSetOnTheSameLine) {
  const auto config = config_of_sets({"scheme.norm=layer_norm", "scheme=pre_norm"});
  EXPECT_EQ(merged(config, "norm"), "\"layer_norm\"");
  EXPECT_EQ(merged(config, "attention"), merged(config_of_sets({"scheme=pre_norm"}), "attention"));
}

TEST_F(SchemeKey, TakesAFileAndATable) {
  write_file("my_norm.toml",
             "extends = \"pre_norm\"\nnorm = \"layer_norm\"\n"
             "norm_parameters = \"4*N*d + 2*d\"");
  EXPECT_EQ(config_of_sets({"scheme=my_norm.toml"}).scheme.name, "my_norm");
  EXPECT_EQ(merged(config_of_sets({"scheme=my_norm.toml", "scheme.norm=dyt"}), "norm"), "\"dyt\"");
  const auto table = config_of_file("[scheme]\nextends = \"my_norm\"\nname = \"hers\"");
  EXPECT_EQ(table.scheme.name, "hers");
  EXPECT_EQ(merged(table, "norm"), "\"layer_norm\"");
}

TEST_F(SchemeKey, LooksForAParentBesideTheFileThatHoldsTheTable) {
  std::filesystem::create_directory("deep");
  write_file("deep/parent.toml", "extends = \"pre_norm\"\nnorm = \"dyt\"");
  write_file("deep/run.toml", "scheme = { extends = \"parent\" }");
  const auto config = resolve({.preset = {}, .files = {"deep/run.toml"}, .scheme = {}, .sets = {}});
  EXPECT_EQ(merged(config, "norm"), "\"dyt\"");
}

TEST_F(SchemeKey, ReplacesATableWhole) {
  write_file("a.toml", "scheme = { extends = \"pre_norm\", norm = \"dyt\" }");
  write_file("b.toml", "scheme = { extends = \"post_norm\" }");
  const auto config =
      resolve({.preset = {}, .files = {"a.toml", "b.toml"}, .scheme = {}, .sets = {}});
  EXPECT_EQ(merged(config, "norm"), merged(config_of_sets({"scheme=post_norm"}), "norm"));
}

TEST_F(SchemeKey, RefusesWhatIsNoScheme) {
  EXPECT_EQ(file_error("scheme = 3"),
            "mine.toml:1: scheme must be a name, a file or a table, but is 3");
  EXPECT_EQ(file_error("[scheme]\nextends = \"pre_norm\"\nname = 3"),
            "mine.toml:3: scheme.name must be a string, but is 3");
  EXPECT_EQ(set_error({"scheme.name=a/b"}),
            "--set scheme.name=a/b: scheme.name must be a string of at most 100 bytes of UTF-8 "
            "without / and control characters, but is the string \"a/b\"");
  EXPECT_EQ(set_error({"scheme={ extends = \"pre_norm\", norm = \"dyt\" }", "scheme.norm.kind=l2"}),
            "--set scheme.norm.kind=l2: scheme.norm must be a table to hold kind, but is the "
            "string \"dyt\"");
}

TEST_F(SchemeKey, LetsASchemeDecideAboutItsHeadUnlessTheUserContradicts) {
  const std::string untied = R"(scheme={ extends = "pre_norm", head = "untied", name = "apart" })";
  EXPECT_TRUE(config_of_sets({}).model.tied);
  EXPECT_FALSE(config_of_sets({untied}).model.tied);  // against the preset
  EXPECT_FALSE(config_of_sets({untied, "model.tied=false"}).model.tied);
  EXPECT_EQ(set_error({untied, "model.tied=true"}),
            "model.tied must be false or left out, because the scheme apart says so, but is true");
  EXPECT_EQ(file_error("scheme = \"gemma2\"\nmodel.tied = false"),
            "model.tied must be true or left out, because the scheme gemma2 says so, but is false");
  EXPECT_FALSE(
      config_of_sets({"model.tied=false"}).model.tied);  // the default scheme has no word on it
  const auto written = to_toml(config_of_sets({untied}));
  EXPECT_FALSE(config_of_file(written).model.tied);
}

}  // namespace
}  // namespace evenkeel::config
