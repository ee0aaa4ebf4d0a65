// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/refinement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/study/definition/grid.h"
#include "evenkeel/study/runs/value_range.h"
#include "study/claim_fixture.h"

namespace evenkeel::study {
namespace {

using Labels = std::vector<std::string>;

/// A study of two schemes, and of the best value of a key.
Study study_of(const std::string& key, const std::string& values, const std::string& more = "") {
  const auto over = "over = \"" + key + "\"";
  return parse_study("seeds = [1, 2]\n[grid]\nscheme = [\"pre_norm\", \"keel\"]\n" + key + " = " +
                         values + "\n[refine]\n" + over + "\n" + more +
                         "[[claims]]\nsays = \"x\"\nof = { scheme = \"keel\" }\n"
                         "than = { scheme = \"pre_norm\" }\nmeasure = { " +
                         over + ", as = \"best\", cap = 9 }\n",
                     "my.toml", "");
}

Study refined(const std::string& more) {
  return study_of("schedule.peak", "[1e-3, 2e-3, 4e-3]", more);
}

/// Adds the arms of all points, with a loss of the scheme and the rate; NaN: failed.
using Loss = std::function<double(const std::string& scheme, double rate)>;
void run(const std::vector<GridPoint>& points, const Loss& loss, std::vector<Arm>& arms) {
  for (const auto& point : points) {
    const auto value =
        loss(point.labels.at("scheme"), *number_of(point.labels.at("schedule.peak")));
    arms.push_back(arm(point.labels, {value, value + 0.1}));
  }
}

/// The further values of each scheme, in the order in which they are tried.
std::map<std::string, Labels> tried(const Study& study, const Loss& loss) {
  const auto grid = grid_points(study);
  Results results{.study = study};
  run(grid, loss, results.arms);
  std::map<std::string, Labels> out;
  for (auto points = further_points(grid, results); !points.empty();
       points = further_points(grid, results)) {
    for (const auto& point : points) {
      out[point.labels.at("scheme")].push_back(point.labels.at("schedule.peak"));
      const auto config = config_of(study, point, 1, {});
      EXPECT_EQ(config.schedule.peak, *number_of(point.labels.at("schedule.peak")));
    }
    run(points, loss, results.further_arms);
  }
  return out;
}

double distance(double rate, double best) {
  return std::abs(std::log(rate / best));
}

TEST(ValueRange, GoesOnBeyondItsEndsAndBetweenItsValues) {
  EXPECT_EQ(value_beyond(4, {1, 2, 4}), "8");
  EXPECT_EQ(value_beyond(1, {1, 4, 5}), "0.25");
  EXPECT_EQ(value_beyond(2, {1, 2, 4}), std::nullopt);
  EXPECT_EQ(value_beyond(1.001, {1, 1.001}), std::nullopt);  // three digits do not tell them apart
  EXPECT_EQ(values_between(2, {1, 2, 4}), (Labels{"1.41", "2.83"}));
  EXPECT_EQ(values_between(4, {1, 2, 4}), (Labels{"2.83"}));
  EXPECT_TRUE(values_between(2, {1.5, 2, 2.9}).empty());
}

TEST(FurtherPoints, AreInStepsOfTheSquareRootNearTheBestOfEachScheme) {
  const auto found = tried(refined(""), [](const std::string& scheme, double rate) {
    return distance(rate, scheme == "keel" ? 2.1e-3 : 2.9e-3);
  });
  EXPECT_EQ(found.at("keel"), (Labels{"0.00141", "0.00283"}));
  // 4e-3 is better than 2e-3, so the first further value is beyond it.
  EXPECT_EQ(found.at("pre_norm"), (Labels{"0.008", "0.00283", "0.00566"}));
}

TEST(FurtherPoints, GoBeyondTheEndsUpToTheLimit) {
  const auto falls = [](const std::string&, double rate) { return -std::log(rate); };
  EXPECT_EQ(tried(refined("extend = 2\n"), falls).at("keel"), (Labels{"0.008", "0.016", "0.0113"}));
  EXPECT_EQ(tried(refined("extend = 0\n"), falls).at("keel"), (Labels{"0.00283"}));
  const auto rises = [](const std::string&, double rate) { return std::log(rate); };
  EXPECT_EQ(tried(refined("extend = 1\n"), rises).at("keel"), (Labels{"0.0005", "0.000707"}));
}

TEST(FurtherPoints, CountFailuresAsTheCap) {
  const auto fails = [](const std::string&, double rate) {
    return rate > 3e-3 ? std::nan("") : -rate;
  };
  EXPECT_EQ(tried(refined(""), fails).at("keel"), (Labels{"0.00141", "0.00283"}));
  const auto never = [](const std::string& scheme, double rate) {
    return scheme == "keel" ? std::nan("") : 10 + rate;  // above the cap
  };
  EXPECT_TRUE(tried(refined(""), never).empty());
}

TEST(FurtherPoints, LeaveOutWhatTheKeyRefuses) {
  const auto refused = study_of("schedule.floor", "[0.4, 0.8]");  // 1.6 is above 1
  Results results{.study = refused};
  const auto grid = grid_points(refused);
  for (const auto& point : grid) {
    const double loss = -*number_of(point.labels.at("schedule.floor"));
    results.arms.push_back(arm(point.labels, {loss, loss}));
  }
  const auto points = further_points(grid, results);
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].labels.at("schedule.floor"), "0.566");
}

TEST(FurtherValues, MustBeOnesThatTheKeyMayHave) {
  const auto study = study_of("model.layers", "[4, 8]");
  try {
    check_further_values(study, grid_points(study));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what())
                  .find("study my: [refine]: a value between those of model.layers is refused"),
              std::string::npos)
        << error.what();
    EXPECT_EQ(error.exit(), Exit::usage);
  }
  check_further_values(refined(""), grid_points(refined("")));
}

TEST(FurtherPoints, AreExpectedOnBothSidesOfTheBest) {
  const auto count = [](const std::string& values) {
    auto study = refined("");
    study.axes[1] = axis("schedule.peak", {});
    for (const auto* const each : {"0.001", "0.002", "0.004", "0.016", "0.064"}) {
      if (values.find(each) != std::string::npos)
        study.axes[1].values.push_back({each, {std::string("schedule.peak=") + each}});
    }
    return expected_further_points(study, grid_points(study));
  };
  EXPECT_EQ(count("0.001 0.002 0.004"), 2U * 2);
  EXPECT_EQ(count("0.004 0.016 0.064"), 2U * 4);  // to a ratio of two, then of its root
}

TEST(FurtherPoints, WaitForAllRunsOfAScheme) {
  const auto study = refined("");
  const auto grid = grid_points(study);
  Results results{.study = study};
  run(grid, [](const std::string&, double rate) { return distance(rate, 2e-3); }, results.arms);
  EXPECT_EQ(further_points(grid, results).size(), 4U);
  results.arms.front().seed_runs[1].state = SeedRun::State::missing;
  EXPECT_EQ(further_points(grid, results).size(), 2U);
  results.study.refine = {};
  EXPECT_TRUE(further_points(grid, results).empty());
}

// The mean of 0 and 30 is above 5, but that of 0 and the cap 9 is below: 2e-3 is the best value.
TEST(FurtherPoints, CapEachLossBeforeTheMean) {
  const auto study = refined("");
  const auto grid = grid_points(study);
  for (const double above : {30.0, kFailed}) {
    Results results{.study = study};
    for (const auto& point : grid) {
      const double rate = *number_of(point.labels.at("schedule.peak"));
      const bool is_middle = rate > 1e-3 && rate < 4e-3;
      results.arms.push_back(arm(point.labels, {is_middle ? 0.0 : 5.0, is_middle ? above : 5.0}));
    }
    Labels found;
    for (const auto& point : further_points(grid, results)) {
      if (point.labels.at("scheme") == "keel") found.push_back(point.labels.at("schedule.peak"));
    }
    EXPECT_EQ(found, (Labels{"0.00141", "0.00283"})) << above;
  }
}

}  // namespace
}  // namespace evenkeel::study
