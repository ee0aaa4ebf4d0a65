// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/block_figure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/config/config.h"
#include "evenkeel/report/block_picture.h"
#include "report/xml_check.h"

namespace evenkeel::report {
namespace {

norm::Scheme bound(const config::SchemeSource& source, const std::string& preset = "151m") {
  const auto config = config::resolve({.preset = preset, .files = {}, .scheme = {}, .sets = {}});
  return config::bind(source, config::shape_of(config, 257));
}

norm::Scheme named(const std::string& name) {
  return bound(config::find_scheme(name));
}

/// An axis-parallel rectangle.
struct Area {
  double left, top, right, bottom;
  bool overlaps(const Area& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

Area area_of(const PictureBox& box) {
  return {box.x - box.width / 2, box.y - box.height / 2, box.x + box.width / 2,
          box.y + box.height / 2};
}

Area area_of(const PictureText& each) {
  const double font = each.role == "note" ? kPictureSmallFont : kPictureNameFont;
  return {each.at.x, each.at.y - font, each.at.x + picture_text_width(each.content, font),
          each.at.y};
}

/// The number of boxes whose role contains a word.
std::ptrdiff_t count(const BlockPicture& picture, const std::string& role) {
  return std::count_if(picture.boxes.begin(), picture.boxes.end(), [&](const PictureBox& box) {
    return box.role.find(role) != std::string::npos;
  });
}

/// The label of the first box whose tooltip begins with a text.
std::string label_of(const BlockPicture& picture, const std::string& title) {
  for (const auto& box : picture.boxes) {
    if (box.title.starts_with(title)) return box.label;
  }
  return "";
}

TEST(BlockFigure, OfEverySchemeHasNoOverlappingMarks) {
  for (const auto& name : config::catalogue()) {
    const auto picture = block_picture(named(name));
    const Area all{0, 0, picture.width, picture.height};
    std::vector<std::pair<Area, std::string>> marks;
    for (const auto& box : picture.boxes) marks.emplace_back(area_of(box), box.label + box.role);
    for (const auto& each : picture.texts) marks.emplace_back(area_of(each), each.content);
    for (std::size_t a = 0; a < marks.size(); ++a) {
      const auto& [area, label] = marks[a];
      EXPECT_GE(area.left, all.left) << name << ": " << label;
      EXPECT_GE(area.top, all.top) << name << ": " << label;
      EXPECT_LE(area.right, all.right) << name << ": " << label;
      EXPECT_LE(area.bottom, all.bottom) << name << ": " << label;
      for (std::size_t b = 0; b < a; ++b) {
        EXPECT_FALSE(area.overlaps(marks[b].first))
            << name << ": " << label << " over " << marks[b].second;
      }
    }
  }
}

TEST(BlockFigure, HasNoWireThroughABoxButFactorsOnTheirWire) {
  constexpr double kInside = 1;  // wires end at the edges of boxes
  for (const auto& name : config::catalogue()) {
    const auto picture = block_picture(named(name));
    for (const auto& box : picture.boxes) {
      if (box.role == "scale" || box.role == "sum") continue;
      auto inner = area_of(box);
      inner = {inner.left + kInside, inner.top + kInside, inner.right - kInside,
               inner.bottom - kInside};
      for (const auto& wire : picture.wires) {
        for (std::size_t at = 1; at < wire.points.size(); ++at) {
          const auto a = wire.points[at - 1], b = wire.points[at];
          const Area line{std::min(a.x, b.x), std::min(a.y, b.y), std::max(a.x, b.x) + 1e-9,
                          std::max(a.y, b.y) + 1e-9};
          EXPECT_FALSE(inner.overlaps(line)) << name << ": a wire through " << box.title;
        }
      }
    }
  }
}

TEST(BlockFigure, OfEverySchemeIsWellFormed) {
  for (const auto& name : config::catalogue()) {
    const auto svg = block_svg(named(name));
    EXPECT_EQ(xml_error(svg.substr(svg.find("<svg"))), "") << name;
    EXPECT_EQ(svg.find("nan"), std::string::npos) << name;
    EXPECT_EQ(svg.find("var("), std::string::npos) << name;  // CSS that only browsers know
  }
}

TEST(BlockFigure, ShowsEachDifferentBlockOnce) {
  const auto picture = block_picture(named("hybrid_norm_star"));
  ASSERT_EQ(picture.texts.size(), 2U);
  EXPECT_EQ(picture.texts[0].content, "Block 1");
  EXPECT_EQ(picture.texts[1].content, "Blocks 2–12 (× 11)");
  EXPECT_EQ(count(picture, "norm heads"), 6);  // q, k and v, twice
  EXPECT_EQ(count(picture, "norm input"), 3);  // attention reads through a norm in block 1 only
}

TEST(BlockFigure, PutsPostNormAfterTheSumAndPreNormBeforeTheBranch) {
  const auto post = block_picture(named("post_norm")), pre = block_picture(named("pre_norm"));
  EXPECT_EQ(count(post, "norm residual"), 2);
  EXPECT_EQ(count(post, "norm input"), 0);
  EXPECT_EQ(count(pre, "norm residual"), 0);
  EXPECT_EQ(count(pre, "norm input"), 2);
  const auto find = [&](const std::string& role, const BlockPicture& in) {
    return *std::find_if(in.boxes.begin(), in.boxes.end(),
                         [&](const PictureBox& box) { return box.role == role; });
  };
  EXPECT_LT(find("norm residual", post).y, find("sum", post).y);  // upwards
  EXPECT_GT(find("norm input", pre).y, find("sum", pre).y);
}

TEST(BlockFigure, ExplainsLongAndLearnedFactorsBelow) {
  const auto picture = block_picture(named("ngpt"));
  EXPECT_EQ(label_of(picture, "factor of the branch"), "× α");
  EXPECT_NE(block_svg(named("ngpt")).find("α: learned vector"), std::string::npos);
  EXPECT_EQ(label_of(block_picture(named("keel")), "factor of the skip"), "× S");
}

TEST(BlockFigure, DrawsTwoStreamsAndTheFinalNormOnce) {
  const auto picture = block_picture(named("siamese_norm_hybrid"));
  // x and y at the end, one for each sublayer, and the final norm, which normalizes their sum.
  EXPECT_EQ(count(picture, "norm other"), 5);
  EXPECT_TRUE(std::any_of(picture.wires.begin(), picture.wires.end(),
                          [](const PictureWire& wire) { return wire.role == "second"; }));
}

TEST(BlockFigure, NamesTheExperts) {
  const auto picture = block_picture(bound(config::find_scheme("hybrid_norm"), "moe_tiny"));
  EXPECT_TRUE(std::any_of(picture.boxes.begin(), picture.boxes.end(),
                          [](const PictureBox& box) { return box.label.starts_with("Router: "); }));
}

TEST(BlockFigure, ShowsAtMostSixDifferentBlocksAndSaysSo) {
  const auto scheme = bound(config::inline_scheme(
      R"toml(extends = "pre_norm"
layers = [
  {where = "first(1)", attention = {branch_scale = 2}},
  {where = [2], attention = {branch_scale = 3}},
  {where = [3], attention = {branch_scale = 4}},
  {where = [4], attention = {branch_scale = 5}},
  {where = [5], attention = {branch_scale = 6}},
  {where = [6], attention = {branch_scale = 7}}])toml",
      "."));
  const auto picture = block_picture(scheme);
  EXPECT_EQ(picture.texts.back().content,
            "The scheme has 7 different blocks; the first 6 are drawn.");
}

TEST(BlockFigure, EscapesTheTitle) {
  auto scheme = named("pre_norm");
  scheme.info.title = "<b>\"&";
  EXPECT_EQ(xml_error(block_figure(scheme)), "");
}

}  // namespace
}  // namespace evenkeel::report
