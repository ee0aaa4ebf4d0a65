// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/end_loss.h"

#include <gtest/gtest.h>

#include <cmath>

#include "evenkeel/report/comparison_page.h"
#include "evenkeel/report/comparison_tables.h"
#include "evenkeel/report/index_page.h"
#include "evenkeel/report/page_parts.h"
#include "evenkeel/report/run_page.h"
#include "report/xml_check.h"

namespace evenkeel::report {
namespace {

const double kNull = std::nan("");

/// A run of 40 steps, logged at each tenth; the validation loss is `validation` at step 20, and a
/// tenth less at step 40.
Run healthy_run(const std::string& name, double validation) {
  Run run;
  run.name = name;
  run.scheme = "pre_norm";
  run.state = "finished";
  run.step = run.steps = 40;
  run.settings = {{"seed", name}};
  for (const int step : {10, 20, 30, 40}) run.loss.add(step, validation + 40 - step);
  run.validation_loss.add(20, validation);
  run.validation_loss.add(40, validation - 0.1);
  return run;
}

/// A run whose validation loss was the lowest at step 20, and whose loss is null from step 30 on.
Run failed_run(const std::string& name) {
  auto run = healthy_run(name, 1);
  run.loss.y = {1, 1, kNull, kNull};
  run.validation_loss = {{20}, {1}};
  return run;
}

bool contains(const std::string& page, const std::string& piece) {
  return page.find(piece) != std::string::npos;
}

TEST(EndLoss, IsTheLastOneOfAHealthyRun) {
  const auto run = healthy_run("a", 2);
  EXPECT_EQ(end_loss_text(end_validation(run)), "1.9000");
  EXPECT_EQ(end_loss_text(end_training(run)), "2.0000");
  EXPECT_EQ(end_loss_text(end_validation({})), "–");
}

// 5 % of the logged steps, from 1 to 20: more of a short run would count the losses of its start.
TEST(EndLoss, OfTrainingIsTheMeanOfTheLastTwentiethOfTheLoggedSteps) {
  const auto logged = [](int steps) {
    auto run = healthy_run("a", 2);
    run.loss = {};
    for (int step = 1; step <= steps; ++step) run.loss.add(step, 1000 - step);
    return run;
  };
  EXPECT_EQ(end_loss_text(end_training(logged(0))), "–");
  EXPECT_EQ(end_loss_text(end_training(logged(6))), "994.0000");
  EXPECT_EQ(end_loss_text(end_training(logged(60))), "941.0000");  // of steps 58 to 60
  EXPECT_EQ(end_loss_text(end_training(logged(1000))), "9.5000");  // 0 to 19
  EXPECT_TRUE(contains(run_page(logged(6)), "of the last logged step"));
  EXPECT_TRUE(contains(run_page(logged(60)), "mean of the last 3 logged steps"));
}

TEST(EndLoss, IsNotAnOldOneOfARunThatEndedInNan) {
  auto run = healthy_run("a", 2);
  run.validation_loss.y.back() = kNull;
  EXPECT_EQ(end_loss_text(end_validation(run)), "not finite since step 40");
  EXPECT_EQ(end_loss_text(end_training(run)), "2.0000");
  run.loss.y = {2, kNull, kNull, kNull};
  EXPECT_EQ(end_loss_text(end_validation(run)), "not finite since step 20");
  EXPECT_EQ(end_loss_text(end_training(run)), "not finite since step 20");
}

TEST(EndLoss, IsNotOneFromBeforeTheTrainingLossWasNull) {
  auto run = failed_run("a");
  EXPECT_EQ(end_loss_text(end_validation(run)), "not finite since step 30");
  // One skipped step, and a validation after it: the weights are finite.
  run.validation_loss.add(40, 1.5);
  EXPECT_EQ(end_loss_text(end_validation(run)), "1.5000");
}

TEST(EndLoss, IsNoneOfARunThatDiverged) {
  auto run = healthy_run("a", 2);
  run.state = "diverged";
  EXPECT_EQ(end_loss_text(end_validation(run)), "diverged at step 40");
  EXPECT_EQ(end_loss_text(end_training(run)), "diverged at step 40");
}

TEST(EndLoss, OfAFailedRunIsNeverTheBest) {
  const auto page = comparison_page({failed_run("failed"), healthy_run("slow", 5)});
  EXPECT_EQ(xml_error(page), "");
  EXPECT_TRUE(contains(page, "<strong>slow</strong> has the lowest validation loss: 4.9000"));
  EXPECT_FALSE(contains(page, "below failed"));
  EXPECT_LT(page.find("</svg> slow"), page.find("</svg> failed"));
  EXPECT_TRUE(contains(page, "<td class=\"number\">not finite since step 30</td>"));
  const auto none = comparison_page({failed_run("a"), failed_run("b")});
  EXPECT_TRUE(contains(none, "No run has a finite validation loss at its end."));
  EXPECT_FALSE(contains(none, "class=\"best\""));
}

TEST(EndLoss, OfAFailedRunIsLeftOutOfTheMeanOfSeeds) {
  const auto html = seeds_section({healthy_run("1", 2), healthy_run("2", 4), failed_run("3")});
  EXPECT_TRUE(contains(html, "<td class=\"number\">2</td><td class=\"number\">2.9000</td>"));
  EXPECT_TRUE(contains(html, "Left out of the means: 3 (not finite since step 30)."));
  EXPECT_TRUE(contains(html, "mean of 2 seeds"));
  EXPECT_EQ(seeds_section({healthy_run("1", 2), failed_run("3"), failed_run("4")}),
            "<p class=\"below\">Left out of the means: 3 (not finite since step 30), 4 (not finite "
            "since step 30).</p>\n");
  EXPECT_NE(caution_text({healthy_run("1", 2), failed_run("3")}), "");
}

TEST(EndLoss, IsShownOnThePageOfARunAndInTheTableOfAFolder) {
  const auto run = failed_run("a");
  const auto page = run_page(run);
  EXPECT_EQ(xml_error(page), "");
  EXPECT_EQ(element_contents(page, "<p class=\"verdict\">").front(),
            "Validation loss <strong>not finite since step 30</strong> (40 steps).");
  const auto tiles = element_contents(page, "<dd class=\"value\">");
  EXPECT_EQ(tiles.at(0), "not finite");
  EXPECT_TRUE(contains(page, "<dd>since step 30; best 1.0000</dd>"));
  EXPECT_EQ(tiles.at(1), "–");  // perplexity
  EXPECT_EQ(tiles.at(2), "not finite");
  const auto index = index_page("Runs", {{&run, "a", ""}});
  EXPECT_EQ(element_contents(index, "<td class=\"number\">").back(), "not finite since step 30");
}

TEST(LossText, IsShortForAHugeLoss) {
  EXPECT_EQ(loss_text(5160951505.7528), "5.161e9");
  EXPECT_EQ(loss_text(99999.5), "99999.5000");
  EXPECT_EQ(loss_text(kNull), "–");
}

}  // namespace
}  // namespace evenkeel::report
