// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/successive_halving.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "evenkeel/study/definition/grid.h"

namespace evenkeel::study {
namespace {

SearchResult::Trial trial(const char* value, double loss) {
  return {.value = value, .share = 0.5, .loss = loss, .key = value};
}

TEST(SuccessiveHalving, PromotesTheBetterHalfAndRanksFailuresLast) {
  const double failed = std::nan("");
  EXPECT_EQ(promoted_values({trial("1", 3), trial("2", 1), trial("3", failed), trial("4", 2)}),
            (std::vector<std::string>{"2", "4"}));
  EXPECT_EQ(promoted_values({trial("1", failed), trial("2", 5), trial("3", failed)}),
            (std::vector<std::string>{"2", "1"}));
  EXPECT_EQ(promoted_values({trial("1", 3), trial("2", 2)}), (std::vector<std::string>{"2", "1"}));
  EXPECT_EQ(promoted_count(1), 1U);
  EXPECT_EQ(promoted_count(5), 3U);
}

// Warm-ups of 60 and 80 steps are 50 in a trial of 100: one run, whose loss both have.
TEST(SuccessiveHalving, PromotesAllValuesOfOneTrial) {
  std::vector<SearchResult::Trial> equal = {trial("20", 3), trial("60", 1), trial("80", 1),
                                            trial("90", 1)};
  for (auto& each : equal) {
    if (each.value != "20") each.key = "60";
  }
  EXPECT_EQ(promoted_values(equal), (std::vector<std::string>{"60", "80", "90"}));
}

/// A study of one arm.
Study searching(const std::string& values, int extend) {
  return parse_study("seeds = [1]\n[grid]\nscheme = [\"pre_norm\"]\n[tune]\nvalues = " + values +
                         "\nrungs = [0.5, 1]\nextend = " + std::to_string(extend) + "\n",
                     "my.toml", "");
}

/// Searches with a loss that depends on the learning rate alone.
SearchResult searched(const Study& study, const std::function<double(double)>& loss) {
  const SearchCallbacks callbacks{
      .job =
          [](const std::string& name, config::Config config) {
            const auto rate = std::to_string(config.schedule.peak);
            return Job{.key = rate, .name = name, .config = std::move(config)};
          },
      .shortened = [](config::Config config, double /*share*/) { return config; },
      .run =
          [](const std::vector<Job>& jobs) {
            std::map<std::string, JobResult> results;
            for (const auto& job : jobs) results[job.key].state = JobResult::State::finished;
            return results;
          },
      .loss = [&](const std::string& key) { return loss(std::stod(key)); }};
  return successive_halving(study, grid_points(study), callbacks).at(0);
}

/// A loss that is lowest at this rate.
std::function<double(double)> lowest_at(double best) {
  return [=](double rate) { return std::abs(std::log(rate / best)); };
}

TEST(SuccessiveHalving, TriesFurtherValuesWhileTheBestIsAtAnEndOfTheRange) {
  const auto study = searching("[1e-3, 2e-3, 4e-3]", 4);
  const auto up = searched(study, lowest_at(17e-3));
  EXPECT_EQ(up.chosen, "0.016");
  EXPECT_FALSE(up.at_edge);  // 0.032 was tried
  EXPECT_EQ(up.trials.back().value, "0.032");
  EXPECT_EQ(up.trials.back().share, 1);
  const auto down = searched(study, lowest_at(5.1e-4));
  EXPECT_EQ(down.chosen, "0.0005");
  EXPECT_FALSE(down.at_edge);  // 0.00025 was tried
  const auto inside = searched(study, lowest_at(2e-3));
  EXPECT_EQ(inside.trials.size(), 3U + 2U);
  EXPECT_FALSE(inside.at_edge);
}

TEST(SuccessiveHalving, StopsAtTheGivenNumberOfFurtherValues) {
  const auto none = searched(searching("[1e-3, 2e-3, 4e-3]", 0), lowest_at(1));
  EXPECT_EQ(none.chosen, "0.004");
  EXPECT_TRUE(none.at_edge);
  const auto two = searched(searching("[1e-3, 2e-3, 4e-3]", 2), lowest_at(1));
  EXPECT_EQ(two.chosen, "0.016");
  EXPECT_TRUE(two.at_edge);
  const auto all_fail =
      searched(searching("[1e-3, 2e-3]", 4), [](double /*rate*/) { return std::nan(""); });
  EXPECT_TRUE(all_fail.all_failed);
  EXPECT_EQ(all_fail.trials.size(), 2U + 2U);
}

}  // namespace
}  // namespace evenkeel::study
