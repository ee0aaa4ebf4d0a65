// SPDX-License-Identifier: Apache-2.0
// Schemes in files: where a parent is found, and where a message points.
#include <gtest/gtest.h>

#include "config/config_fixture.h"
#include "config/scheme/scheme_of.h"

namespace evenkeel::config {
namespace {

class SchemeFile : public TemporaryFolderTest {
 protected:
  static std::string error(const std::string& name) {
    return message_of([&] { bind(find_scheme(name), tiny_shape(4)); });
  }
};

TEST_F(SchemeFile, IsNamedByItsStem) {
  write_file("my_norm.toml", "title = 'My own'\nfinal = 'norm'");
  const auto source = find_scheme("my_norm.toml");
  EXPECT_EQ(source.name, "my_norm");
  EXPECT_EQ(scheme_info(source).title, "My own");
}

TEST_F(SchemeFile, FindsItsParentBesideItThenInSchemesThenInTheCatalogue) {
  std::filesystem::create_directory("mine");
  std::filesystem::create_directory("schemes");
  write_file("mine/child.toml", "extends = 'peri_ln'");
  EXPECT_TRUE(bind(find_scheme("mine/child.toml"), tiny_shape(2)).embedding_norm);
  write_file("schemes/peri_ln.toml", "logits.scale = 2");
  EXPECT_FALSE(bind(find_scheme("mine/child.toml"), tiny_shape(2)).embedding_norm);
  write_file("mine/peri_ln.toml", "logits.scale = 3");
  EXPECT_EQ(bind(find_scheme("mine/child.toml"), tiny_shape(2)).logits_scale,
            norm::Number(norm::Expression(3)));
}

TEST_F(SchemeFile, OfTheCatalogueHasItsParentInTheCatalogue) {
  std::filesystem::create_directory("schemes");
  write_file("schemes/hybrid_norm.toml", "logits.scale = 2");
  EXPECT_TRUE(bind(find_scheme("hybrid_norm_star"), tiny_shape(2)).final);
}

TEST_F(SchemeFile, ExtendsAFileByItsPath) {
  std::filesystem::create_directory("mine");
  write_file("mine/parent.toml", "final = 'norm'");
  write_file("child.toml", "extends = 'mine/parent.toml'");
  EXPECT_TRUE(bind(find_scheme("child.toml"), tiny_shape(2)).final);
}

TEST_F(SchemeFile, TellsFileAndLineOfAMistake) {
  write_file("mine.toml", "extends = 'pre_norm'\n[attention.input]\neps = 1");
  EXPECT_EQ(error("mine.toml"),
            "mine.toml:3, attention.input: unknown_key: there is no key \"eps\" here; did you mean "
            "\"epsilon\"? known: affine, "
            "epsilon, epsilon_at, gain_form, gain_init, heads_share, kind, out_scale, partial, "
            "pre_scale, rope, scope, stored_at");
  write_file("mine.toml", "[attention]\ninputs = 'norm'");
  EXPECT_EQ(error("mine.toml"),
            "mine.toml:2, attention: unknown_key: there is no key \"inputs\" here; did you mean "
            "\"input\"? known: angle_decay, branch_scale, context, input, k, output, q, residual, "
            "score_scale, skip, skip_scale, softcap, update, v");
}

TEST_F(SchemeFile, TellsTheLineOfAMistakeInAParent) {
  write_file("parent.toml", "final = 'norm'\nattention.skip_scale = '1/'");
  write_file("child.toml", "extends = 'parent'\nattention.input = 'norm'");
  EXPECT_EQ(error("child.toml"),
            "parent.toml:2, attention.skip_scale: bad_expression: wanted a number, a name or a "
            "parenthesis in \"1/\", but found its end");
}

TEST_F(SchemeFile, TellsWhereTomlIsBroken) {
  write_file("mine.toml", "final = 'norm'\nattention = [");
  EXPECT_EQ(error("mine.toml").substr(0, 22), "mine.toml:2: not TOML:");
}

TEST_F(SchemeFile, CannotDescendFromItself) {
  write_file("a.toml", "extends = 'b'");
  write_file("b.toml", "extends = 'a'");
  EXPECT_EQ(error("a.toml"),
            "b.toml:1, extends: extends_cycle: a scheme cannot descend from itself: a -> b -> a");
  write_file("c.toml", "title = 'c'\nextends = 'c'");
  EXPECT_EQ(error("c.toml"),
            "c.toml:2, extends: extends_cycle: a scheme cannot descend from itself: c -> c");
  write_file("pre_norm.toml", "extends = 'pre_norm'");
  EXPECT_EQ(error("pre_norm.toml"),
            "pre_norm.toml:1, extends: extends_cycle: a scheme cannot descend from itself: "
            "pre_norm -> pre_norm; the file hides the scheme \"pre_norm\" of the catalogue: rename "
            "the file");
}

TEST_F(SchemeFile, NamesTheNearestParent) {
  write_file("mine.toml", "extends = 'hybridnorm'");
  EXPECT_EQ(error("mine.toml"),
            "mine.toml:1, extends: unknown_parent: there is no scheme \"hybridnorm\" in the folder "
            "of this one, in ./schemes or in the catalogue; did you mean \"hybrid_norm\"? "
            "`evenkeel schemes` "
            "lists those of the catalogue");
}

TEST_F(SchemeFile, NamesAParentByItsSynonym) {
  write_file("mine.toml", "extends = 'Sandwich-Norm'");
  EXPECT_NE(error("mine.toml").find("; did you mean \"sandwich\"? "), std::string::npos);
}

TEST(Scheme, OfAnUnknownNameSuggestsTheNearest) {
  EXPECT_EQ(
      message_of([] { find_scheme("hybridnorm"); }),
      "the catalogue has no scheme \"hybridnorm\"; a file is named by its "
      "path, which ends in .toml; did you mean \"hybrid_norm\"? `evenkeel schemes` lists all");
}

}  // namespace
}  // namespace evenkeel::config
