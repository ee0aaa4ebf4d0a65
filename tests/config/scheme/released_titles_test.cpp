// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/scheme/released_titles.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "evenkeel/base/file.h"

namespace evenkeel::config {
namespace {

std::string released_title(const SchemeSource& scheme) {
  return scheme_info(with_released_titles(scheme)).title;
}

TEST(WithReleasedTitles, ReplacesTitleAndNoteOfTheCatalogue) {
  const auto rezero = with_released_titles(find_scheme("rezero"));
  EXPECT_NE(scheme_info(rezero).note, scheme_info(find_scheme("rezero")).note);
  EXPECT_EQ(scheme_info(rezero).note,
            "In the code of ReZero both halves of a block share one scalar; here each half has its "
            "own.");
  EXPECT_EQ(released_title(find_scheme("pre_norm")), "Pre-Norm: a norm in front of each half");
}

// { extends = "pre_norm", norm = "layer_norm" } copies the title of pre_norm.
TEST(WithReleasedTitles, ReplacesACopiedTitle) {
  const auto scheme = inline_scheme("extends = 'pre_norm'\nnorm = 'layer_norm'", ".");
  EXPECT_EQ(released_title(scheme), released_title(find_scheme("pre_norm")));
}

TEST(WithReleasedTitles, ReplacesACopiedEquation) {
  const auto scheme = inline_scheme("extends = 'norm_former'\nnorm = 'layer_norm'", ".");
  EXPECT_NE(scheme_text(scheme).find("context(n(x))"), std::string::npos);
  EXPECT_EQ(scheme_text(with_released_titles(scheme)).find("context(n(x))"), std::string::npos);
}

TEST(WithReleasedTitles, KeepsWhatAUserWrote) {
  const auto scheme = inline_scheme("extends = 'rezero'\ntitle = 'Mine'\nnote = 'A note.'", ".");
  EXPECT_EQ(scheme_text(with_released_titles(scheme)), scheme_text(scheme));
}

TEST(WithReleasedTitles, ReplacesSourcesAndEquationsThatWereReworded) {
  const auto keel = scheme_info(with_released_titles(find_scheme("keel")));
  EXPECT_EQ(keel.source, "KEEL 2026, arXiv 2601.19895");
  const auto norm_former = scheme_info(with_released_titles(find_scheme("norm_former")));
  EXPECT_EQ(norm_former.equation_attention, "y = x + n(g_h A(n(x))), one gain g_h a head");
  EXPECT_EQ(norm_former.equation_feed_forward,
            scheme_info(find_scheme("norm_former")).equation_feed_forward);
}

TEST(WithReleasedTitles, ChangesNothingElse) {
  const std::set<std::string> reworded = {
      "geo_norm",  "keel",         "norm_former",         "prores",   "scaled_steps",
      "seed_norm", "siamese_norm", "siamese_norm_hybrid", "span_norm"};
  for (const auto& name : catalogue()) {
    const auto info = scheme_info(with_released_titles(find_scheme(name)));
    const auto today = scheme_info(find_scheme(name));
    EXPECT_EQ(info.family, today.family) << name;
    if (reworded.contains(name)) continue;
    EXPECT_EQ(info.source, today.source) << name;
    EXPECT_EQ(info.equation_attention, today.equation_attention) << name;
  }
}

// The title of a scheme is free text: a file of the catalogue's name with another title is the
// user's own and keeps it.
TEST(WithReleasedTitles, KeepsTheTitleOfAFileNamedAsASchemeOfTheCatalogue) {
  const auto file = std::filesystem::path(::testing::TempDir()) / "pre_norm.toml";
  write_file(file, "extends = 'keel'\ntitle = 'Mine'\n");
  EXPECT_EQ(released_title(find_scheme(file.string())), "Mine");
}

}  // namespace
}  // namespace evenkeel::config
