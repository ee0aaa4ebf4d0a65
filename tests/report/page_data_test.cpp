// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <set>
#include <string>

#include "evenkeel/base/json_parser.h"
#include "evenkeel/report/chart_data.h"
#include "evenkeel/report/comparison_tables.h"
#include "evenkeel/report/heat_map.h"
#include "evenkeel/report/index_page.h"
#include "evenkeel/report/page_parts.h"
#include "evenkeel/report/scripts.h"
#include "report/xml_check.h"

namespace evenkeel::report {
namespace {

const std::string kDataStart = "<script type=\"application/json\">";

Run run_of(const std::string& name, const std::string& seed, double validation) {
  Run run;
  run.name = name;
  run.scheme = "pre_norm";
  run.settings = {{"seed", seed}, {"model.width", "128"}};
  run.environment = {{"parameters", "1000"}};
  for (int step = 1; step <= 10; ++step) {
    run.loss.add(step, 5.0 / step);
    run.tokens_over_steps.add(step, step * 100);
    run.seconds_over_steps.add(step, step * 0.5);
  }
  run.tokens = 1000;
  run.validation_loss.add(5, validation + 1);
  run.validation_loss.add(10, validation);
  return run;
}

TEST(StepsText, HasAStepOrSteps) {
  report::Run run;
  run.step = run.steps = 1;
  EXPECT_EQ(steps_text(run), "1 step");
  run.steps = 2;
  EXPECT_EQ(steps_text(run), "1 of 2 steps");
  run.step = 2;
  EXPECT_EQ(steps_text(run), "2 steps");
}

TEST(PageData, OfAChartHasItsPointsAndGaps) {
  const Chart chart{"Loss", "nats", "", {{"a", {{1, 2, 3}, {0.25, std::nan(""), 1.0 / 3}}}}};
  const auto data = element_contents(figure(chart), kDataStart);
  ASSERT_EQ(data.size(), 1U);
  const auto parsed = parse_json(data[0]);
  EXPECT_EQ(parsed["title"], "Loss");
  EXPECT_EQ(parsed["lines"][0]["x"], nlohmann::json::parse("[1,2,3]"));
  EXPECT_EQ(parsed["lines"][0]["y"], nlohmann::json::parse("[0.25,null,0.333333]"));
}

// The script draws these again on another axis.
TEST(PageData, OfAChartHasAllMarksOfItsPicture) {
  Line bars{"a", {{1, 2}, {3, 4}}, 1, 0, Stroke::points, {{2, std::nan("")}, {5, 6}}};
  bars.bounds.as = ErrorBounds::As::bars;
  bars.shift = 4;
  const Line band{"b", {{1, 2}, {3, 4}}, 2, 0, Stroke::dotted, {{2, 3}, {5, 6}}};
  Chart chart{"Loss", "", "", {bars, band, {"c", {{1, 2}, {3, 4}}}}, Reference{2.5, "floor"}};
  chart.flags = {{1.5, "a spike"}};
  chart.crosses = {{2, 3, "diverged"}};
  chart.x_ticks = {{1, "one"}, {2, "two"}};
  const auto parsed = parse_json(element_contents(figure(chart), kDataStart).at(0));
  const auto& lines = parsed["lines"];
  EXPECT_EQ(lines[0]["bounds"], "bars");
  EXPECT_EQ(lines[0]["low"].dump(), "[2,null]");
  EXPECT_EQ(lines[0]["high"].dump(), "[5,6]");
  EXPECT_EQ(lines[0]["shift"], 4);
  EXPECT_EQ(lines[0]["curve"], false);
  EXPECT_EQ(lines[0]["dots"], true);
  EXPECT_EQ(lines[1]["bounds"], "band");
  EXPECT_EQ(lines[1]["dots"], true);
  EXPECT_FALSE(lines[1].contains("curve"));
  EXPECT_FALSE(lines[2].contains("bounds") || lines[2].contains("dots"));
  EXPECT_EQ(parsed["reference"].dump(), R"({"at":2.5,"label":"floor"})");
  EXPECT_EQ(parsed["flags"].dump(), R"([{"at":1.5,"title":"a spike"}])");
  EXPECT_EQ(parsed["crosses"].dump(), R"([{"at":2,"colour":3,"title":"diverged"}])");
  EXPECT_EQ(parsed["ticks"].dump(), R"([[1,"one"],[2,"two"]])");
}

TEST(PageData, CannotEndItsElement) {
  EXPECT_EQ(json_script("\"</script>&\""),
            "<script type=\"application/json\">\"\\u003c/script\\u003e\\u0026\"</script>\n");
  const Chart chart{"</script><b>", "", "", {{"<!--", {{1, 2}, {1, 2}}}}};
  EXPECT_EQ(xml_error("<!DOCTYPE html>" + figure(chart)), "");
}

TEST(PageData, MapsStepsToTokensSecondsAndFlops) {
  const auto run = run_of("a", "1", 2);
  const auto start = std::string("<script type=\"application/json\" id=\"clocks\">");
  const auto clocks = parse_json(element_contents(clocks_data({&run}), start).at(0));
  EXPECT_EQ(clocks[0]["step"].back(), 10);
  EXPECT_EQ(clocks[0]["tokens"].back(), 1000);
  EXPECT_EQ(clocks[0]["seconds"].back(), 5);
  EXPECT_EQ(clocks[0]["FLOPs"].back(), 6 * 1000 * 1000);
}

// In a mixture of experts a token passes through few of the parameters.
TEST(PageData, CountsTheFlopsThatTheRunRecorded) {
  auto run = run_of("a", "1", 2);
  run.environment.emplace_back("flops_per_token", "700");
  const auto start = std::string("<script type=\"application/json\" id=\"clocks\">");
  const auto clocks = parse_json(element_contents(clocks_data({&run}), start).at(0));
  EXPECT_EQ(clocks[0]["FLOPs"].back(), 700 * 1000);
  EXPECT_NE(sizes_table({run, run}).find(">700.0k<"), std::string::npos);
}

// RFC 4648: 32 bytes are 44 letters of base64, the last one "=".
TEST(PageScripts, HaveAHashOfTheirText) {
  std::set<std::string> hashes;
  for (const char* name : {"page_script", "save_script", "watch_script"}) {
    const auto hash = script_hash(name);
    hashes.insert(hash);
    EXPECT_EQ(hash.size(), std::string("'sha256-").size() + 44 + 1) << name;
    EXPECT_TRUE(hash.ends_with("='")) << name;
    EXPECT_EQ(script_text(name).find("</"), std::string::npos) << name;
    EXPECT_EQ(script_text(name).find("eval("), std::string::npos) << name;
  }
  EXPECT_EQ(hashes.size(), 3U);
}

LayerMap map_of(std::vector<double> steps, std::size_t layers) {
  LayerMap map{"grad_norm", "block", "training", 1, {}};
  for (const auto step : steps) {
    for (std::size_t l = 0; l < layers; ++l) {
      map.values[step].push_back(step + static_cast<double>(l));
    }
  }
  return map;
}

std::vector<double> edges_of(const std::string& figure) {
  return parse_json(element_contents(figure, kDataStart).at(0))["edges"];
}

TEST(HeatMap, HasColumnsThatReachHalfwayToTheirNeighbours) {
  const auto edges = edges_of(heat_map(map_of({0, 10, 30}, 2), "a", ""));
  ASSERT_EQ(edges.size(), 4U);  // -5, 5, 20, 40
  EXPECT_NEAR((edges[2] - edges[1]) / (edges[1] - edges[0]), 15.0 / 10, 1e-3);
  EXPECT_NEAR((edges[3] - edges[2]) / (edges[1] - edges[0]), 20.0 / 10, 1e-3);
}

TEST(HeatMap, HasEqualColumnsIfOneWouldBeTooThin) {
  const auto edges = edges_of(heat_map(map_of({1, 2, 100000}, 2), "a", ""));
  EXPECT_NEAR(edges[1] - edges[0], edges[3] - edges[2], 1e-3);
}

TEST(HeatMap, OfOneValueIsASentence) {
  LayerMap map{"outlier_share", "", "training", 1, {{1, {0, 0}}, {2, {0, 0}}}};
  const auto drawn = heat_map(map, "Outliers", "");
  EXPECT_EQ(drawn.find("<svg"), std::string::npos);
  EXPECT_NE(drawn.find("0 in all blocks, at every step."), std::string::npos);
}

TEST(HeatMap, OfManyCellsHasAPathPerColour) {
  std::vector<double> steps;
  for (int i = 0; i < 60; ++i) steps.push_back(10 * i);
  const auto drawn = heat_map(map_of(steps, 48), "a", "");
  EXPECT_LE(element_contents(drawn, "<title>").size(), 0U);
  EXPECT_LT(drawn.size(), 150000U);  // 2,880 cells
}

TEST(SeedGroups, HaveEqualSettingsButForTheSeed) {
  std::vector<report::Run> runs = {run_of("a", "1", 2), run_of("b", "2", 3), run_of("c", "1", 2)};
  runs[2].settings[1].second = "256";
  const auto groups = seed_groups(runs);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0], (SeedGroup{0, 1}));
  const auto html = seeds_section(runs);
  EXPECT_NE(html.find("2.5000"), std::string::npos);  // mean of 2 and 3
  EXPECT_NE(html.find("0.7071"), std::string::npos);  // sqrt(1/2)
  EXPECT_NE(caution_text(runs), "");
  runs.pop_back();
  EXPECT_EQ(caution_text(runs), "");
}

TEST(SizesTable, HasTheRatioToPreNorm) {
  std::vector<report::Run> runs = {run_of("a", "1", 2), run_of("b", "1", 3)};
  runs[1].scheme = "post_norm";
  const auto html = sizes_table(runs);
  EXPECT_NE(html.find("1.5000"), std::string::npos);
  EXPECT_NE(html.find(">6.0M<"), std::string::npos);  // 6 * 1,000 parameters * 1,000 tokens
}

TEST(IndexPage, EscapesNamesAndLinks) {
  const auto run = run_of("a <b>", "1", 2);
  const auto html =
      index_page("Runs", {{&run, run.name, url_part(run.name)}, {&run, "x/a <b>", ""}});
  EXPECT_EQ(xml_error(html), "");
  EXPECT_NE(html.find("<a href=\"a%20%3Cb%3E\">a &lt;b&gt;</a>"), std::string::npos);
  EXPECT_NE(html.find("<td class=\"name\">x/a &lt;b&gt;</td>"), std::string::npos);  // no page
  EXPECT_NE(html.find("class=\"spark\""), std::string::npos);
}

}  // namespace
}  // namespace evenkeel::report
