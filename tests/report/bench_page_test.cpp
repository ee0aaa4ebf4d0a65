// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/bench_page.h"

#include <gtest/gtest.h>

#include "evenkeel/base/error.h"
#include "report/xml_check.h"

namespace evenkeel::report {
namespace {

using nlohmann::json;

json header(const std::string& bench, const std::string& date = "2026-01-02T03:04:05Z") {
  return {{"bench", bench},
          {"date", date},
          {"machine", {{"processor", "a <processor>"}, {"threads", 2}}},
          {"not_judged", ""}};
}

json step(const std::string& scheme, double over_first) {
  auto record = header("step");
  record.update({{"scheme", scheme},
                 {"tokens", 2048},
                 {"floor_seconds", 0.08},
                 {"median_seconds", 0.1 * over_first},
                 {"least_seconds", 0.09},
                 {"over_first", over_first},
                 {"over_first_low", over_first - 0.01},
                 {"over_first_high", over_first + 0.02},
                 {"faults", 3},
                 {"parts", {{"products", 0.07}, {"norms", 0.01}}}});
  return record;
}

json kernel(double median) {
  auto record = header("kernels");
  record.update({{"op", "rms_norm"},
                 {"pass", "forward"},
                 {"dtype", "float32"},
                 {"shape", "4096 x 768"},
                 {"allowed", 1.15},
                 {"seconds", {{"ours", {{"median", 0.002}}}}},
                 {"over", {{"probe", {{"median", median}, {"low", 1.0}, {"high", 1.3}}}}}});
  return record;
}

json peer(const std::string& process, double ratio) {
  auto record = header("peers");
  record.update({{"process", process},
                 {"torch", "2.13.0"},
                 {"scheme", "pre_norm"},
                 {"tokens", 2048},
                 {"floor_seconds", 0.1},
                 {"median_seconds", 0.2},
                 {"least_seconds", 0.19},
                 {"ours_over_it", ratio},
                 {"ours_over_it_low", ratio},
                 {"ours_over_it_high", ratio},
                 {"peak_bytes", 1 << 30},
                 {"faults", 5}});
  return record;
}

TEST(BenchPage, HasASectionForEachBenchThatWasRun) {
  auto later = step("pre_norm", 1);
  later["date"] = "2026-02-02T03:04:05Z";
  const auto page =
      bench_page("b.jsonl", {step("pre_norm", 1), step("hybrid_norm", 1.04), kernel(1.1),
                             peer("ours", 1), peer("eager", 0.6), later});
  EXPECT_EQ(xml_error(page), "");
  EXPECT_EQ(element_contents(page, "<h2>"),
            (std::vector<std::string>{"Training steps", "Operators", "Compared with PyTorch",
                                      "Training steps"}));
  EXPECT_NE(page.find("processor a &lt;processor&gt;"), std::string::npos);
}

TEST(BenchPage, TellsTimesAndRatiosWithIntervals) {
  const auto page = bench_page("b.jsonl", {step("pre_norm", 1), step("hybrid_norm", 1.04)});
  const auto cells = element_contents(page, "<td class=\"number\">");
  ASSERT_EQ(cells.size(), 14U);
  EXPECT_EQ(cells[7], "104");    // ms
  EXPECT_EQ(cells[10], "1.3");   // over the floor
  EXPECT_EQ(cells[11], "1.04");  // over the first
  EXPECT_EQ(cells[12], "[1.03, 1.06]");
  EXPECT_NE(page.find("<title>products: 70 ms</title>"), std::string::npos);
}

TEST(BenchPage, ColoursARatioByItsGoal) {
  const auto colour = [](const json& record) {
    const auto page = bench_page("b.jsonl", {record});
    return page.find("<circle class=\"c2\"") != std::string::npos   ? "within"
           : page.find("<circle class=\"c1\"") != std::string::npos ? "above"
                                                                    : "none";
  };
  EXPECT_STREQ(colour(kernel(1.1)), "within");
  EXPECT_STREQ(colour(kernel(1.2)), "above");
  auto busy = kernel(1.2);
  busy["not_judged"] = "not judged: other processes took 40 %";
  EXPECT_STREQ(colour(busy), "none");
  EXPECT_NE(bench_page("b.jsonl", {busy}).find("is the goal; blue: not judged."),
            std::string::npos);
}

TEST(BenchPage, SaysThatARatioIsTheMedianOverRounds) {
  const auto page = bench_page("b.jsonl", {step("pre_norm", 1), step("hybrid_norm", 1.04)});
  EXPECT_NE(page.find("median of the rounds&#39; ratios"), std::string::npos);
}

// From 1 to 41 the ticks are 0, 10, 20, 30 and 40.
TEST(BenchPage, DrawsTheLineAtOneWhereThatIsNoTick) {
  const auto page = bench_page("b.jsonl", {step("pre_norm", 1), step("slow", 41)});
  EXPECT_EQ(page.find(">1</text>"), std::string::npos);
  const auto count = [&](const std::string& what) {
    std::size_t found = 0;
    for (auto at = page.find(what); at != std::string::npos; at = page.find(what, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("<path class=\"axis\""), 2U);  // of the ratios and of the parts
}

TEST(BenchPage, HasATableOfDecoding) {
  auto record = header("decode");
  record.update({{"case", "decode"},
                 {"weights", "int8"},
                 {"batch", 8},
                 {"prompt", 128},
                 {"median_seconds", 0.004},
                 {"of_copy", {{"median", 0.87}}},
                 {"over_first", {{"median", 0.25}, {"low", 0.24}, {"high", 0.27}}}});
  auto prefill = header("decode");
  prefill.update({{"case", "prefill"},
                  {"weights", "int8"},
                  {"batch", 1},
                  {"prompt", 128},
                  {"median_seconds", 0.5},
                  {"over_forward", {{"median", 1.02}, {"low", 1.01}, {"high", 1.03}}}});
  const auto page = bench_page("b.jsonl", {record, prefill});
  EXPECT_EQ(xml_error(page), "");
  EXPECT_EQ(element_contents(page, "<td class=\"number\">"),
            (std::vector<std::string>{"8", "4", "2000", "0.87", "0.25", "[0.24, 0.27]", "1", "500",
                                      "256", "–", "1.02", "[1.01, 1.03]"}));
}

TEST(BenchPage, SaysWhatWasNotJudgedAndWhatIsMissing) {
  auto busy = step("pre_norm", 1);
  busy["not_judged"] = "not judged: other processes took 40 %";
  busy.erase("median_seconds");
  busy.erase("parts");
  const auto page = bench_page("b.jsonl", {busy});
  EXPECT_EQ(xml_error(page), "");
  EXPECT_NE(page.find("other processes took 40 %"), std::string::npos);
  EXPECT_EQ(element_contents(page, "<td class=\"number\">").front(), "–");
}

TEST(BenchPage, RefusesAFileOfRanksWhichHaveNoPage) {
  try {
    bench_page("ranks.jsonl", {header("ranks"), header("ranks")});
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::data);
    EXPECT_STREQ(error.what(),
                 "ranks.jsonl: wanted records of bench step, kernels, decode or peers, but found "
                 "those of `bench ranks`, which have no page; read the file as JSON lines");
  }
}

TEST(BenchPage, LeavesOutTheRanksOfAFileWithOtherBenches) {
  const auto page = bench_page("b.jsonl", {header("ranks"), kernel(1.1), header("ranks")});
  EXPECT_EQ(element_contents(page, "<h2>"), (std::vector<std::string>{"Operators"}));
}

TEST(BenchPage, RefusesAFileWithoutABench) {
  try {
    bench_page("metrics.jsonl", {json{{"step", 1}}});
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::data);
    EXPECT_STREQ(
        error.what(),
        "metrics.jsonl: holds no line that `evenkeel bench ... --output FILE.jsonl` wrote; "
        "to report a run, name its folder");
  }
}

}  // namespace
}  // namespace evenkeel::report
