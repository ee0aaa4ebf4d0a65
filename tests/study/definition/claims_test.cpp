// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "evenkeel/study/analysis/multiple_testing.h"
#include "evenkeel/study/definition/definition.h"
#include "study/definition/study_text.h"

namespace evenkeel::study {
namespace {

TEST(Claims, ReadTheArmsThatTheyCompare) {
  const auto study =
      read(with_claim("of = { scheme = \"hybrid_norm\" }\nthan = { scheme = \"pre_norm\" }\n"
                      "at = { model.layers = 4 }\npaper = -0.014\n"));
  ASSERT_EQ(study.claims.size(), 1U);
  const auto& claim = study.claims.front();
  EXPECT_EQ(claim.kind, Claim::Kind::lower);
  EXPECT_EQ(claim.of.at("scheme"), "hybrid_norm");
  EXPECT_EQ(claim.at.at("model.layers"), "4");
  EXPECT_EQ(claim.paper, -0.014);
}

TEST(Claims, NameWhatIsWrongWithThem) {
  EXPECT_EQ(error_of(with_claim("is = \"lowest\"\nof = { scheme = \"pre_norm\" }\n")),
            "my.toml:6: claims.is: unknown word \"lowest\"; did you mean \"lower\"? known: alike, "
            "fails, further, lower, trains");
  EXPECT_EQ(error_of(with_claim("of = { scheme = \"pre_nrm\" }\n")),
            "my.toml:6: grid.scheme has no value \"pre_nrm\"; did you mean \"pre_norm\"? known: "
            "hybrid_norm, pre_norm");
  EXPECT_EQ(error_of(with_claim("of = { shceme = \"pre_norm\" }\n")),
            "my.toml:6: no axis of the grid is named \"shceme\"; did you mean \"scheme\"? known: "
            "model.layers, scheme");
  EXPECT_NE(error_of(with_claim("of = { scheme = \"pre_norm\" }\n")).find("needs another arm"),
            std::string::npos);
  EXPECT_NE(error_of(with_claim("is = \"alike\"\nof = { scheme = \"pre_norm\" }\n"
                                "than = { scheme = \"hybrid_norm\" }\n"))
                .find("margin = 0.01"),
            std::string::npos);
  EXPECT_NE(error_of(with_claim("is = \"further\"\nalong = \"scheme\"\nof = { model.layers = 2 }\n"
                                "than = { model.layers = 4 }\n"))
                .find("along must name an axis of numbers"),
            std::string::npos);
  EXPECT_NE(error_of(with_claim("of = { scheme = \"pre_norm\" }\nthan = { model.layers = 2 }\n"))
                .find("the same axes"),
            std::string::npos);
}

TEST(Claims, OfEqualScoresNeedAThreshold) {
  const std::string pair =
      "is = \"alike\"\nmargin = 1\nof = { scheme = \"hybrid_norm\" }\n"
      "than = { scheme = \"pre_norm\" }\n";
  EXPECT_NE(error_of(with_claim(pair))
                .find("a claim of the kind \"alike\" about the "
                      "validation loss needs a threshold"),
            std::string::npos)
      << error_of(with_claim(pair));
  EXPECT_EQ(read(with_claim(pair + "competence = 3\n")).claims.front().competence, 3);
  EXPECT_EQ(read("fails_above = 3\n" + with_claim(pair)).claims.size(), 1U);
  const std::string gradients = "measure = { probe = \"grad_norm\", part = \"block\" }\n";
  EXPECT_EQ(read(with_claim(pair + gradients)).claims.size(), 1U);
  const std::string places = "at = { model.layers = 2 }\nthan_at = { model.layers = 4 }\n";
  EXPECT_EQ(read(with_claim(pair + places)).claims.size(), 1U);
}

TEST(Refinement, NamesAnAxisOfPositiveNumbers) {
  const std::string grid =
      "[grid]\nscheme = [\"pre_norm\", \"keel\"]\nschedule.peak = [1e-3, 2e-3]\n";
  const std::string best =
      "[[claims]]\nsays = \"x\"\nof = { scheme = \"keel\" }\nthan = { scheme = \"pre_norm\" }\n"
      "measure = { over = \"schedule.peak\", as = \"best\", cap = 3 }\n";
  const std::string over = "[refine]\nover = \"schedule.peak\"\n" + best;
  EXPECT_EQ(read(grid + over).refine->extend, 4);
  EXPECT_EQ(read(grid + "[refine]\nover = \"schedule.peak\"\nextend = 1\n" + best).refine->extend,
            1);
  EXPECT_FALSE(read(grid).refine);
  const auto refuses = [&](const std::string& toml, const std::string& why) {
    EXPECT_NE(error_of(toml).find("my.toml: [refine]: " + why), std::string::npos)
        << error_of(toml);
  };
  refuses(grid + "[refine]\nover = \"peak\"\n", "no axis of the grid is named \"peak\"");
  refuses(grid + "[refine]\nover = \"scheme\"\n", "the axis must be a key");
  refuses("[grid]\nschedule.peak = [1e-3]\n[refine]\nover = \"schedule.peak\"\n",
          "the axis must be a key");
  refuses("[grid]\ntrain.tokens = [\"1000\", \"2000\"]\n[refine]\nover = \"train.tokens\"\n",
          "the axis must be a key");
  refuses(grid + over + "[tune]\nkey = \"train.batch\"\nvalues = [1, 2]\n",
          "a study has further values near the best, or a search");
  refuses(grid + "[refine]\nover = \"schedule.peak\"\n",
          "it has no effect without a claim or a comparison of the best value");
  auto other = best;
  other.replace(other.find("cap = 3"), 7, "cap = 4");
  refuses(grid + over + other, "all measures of the best schedule.peak must have one cap");
  const auto sized = grid + over + "[sizes.small]\nrefine = false\n[sizes.large]\n";
  EXPECT_FALSE(parse_study(sized, "my.toml", "small").refine);
  EXPECT_EQ(parse_study(sized, "my.toml", "large").refine->cap, 3);
}

TEST(Claims, CompareTheDifferencesAtTwoPlaces) {
  const std::string pair = "of = { scheme = \"hybrid_norm\" }\nthan = { scheme = \"pre_norm\" }\n";
  const std::string at = "at = { model.layers = 2 }\n", than = "than_at = { model.layers = 4 }\n";
  const auto study = read(with_claim(pair + at + than));
  EXPECT_EQ(study.claims.front().than_at.at("model.layers"), "4");
  EXPECT_EQ(hypothesis_count(study), 1U);
  const auto refuses = [&](const std::string& claim, const std::string& why) {
    EXPECT_NE(error_of(with_claim(claim)).find(why), std::string::npos)
        << error_of(with_claim(claim));
  };
  refuses(pair + than, "`at` and `than_at` must name the same axes");
  refuses(pair + at + "than_at = { model.layers = 2 }\n", "`at` and `than_at` are the same values");
  refuses("is = \"trains\"\nof = { scheme = \"pre_norm\" }\n" + at + than,
          "than_at has no effect but in a claim of the kind \"lower\" or \"alike\"");
  refuses(pair + at + than + "is = \"alike\"\nmargin = 0.1\ncompetence = 2\n",
          "competence is of two arms");
}

TEST(Claims, CountOneHypothesisForEachCombinationOfTheRemainingAxes) {
  const std::string grid =
      "[grid]\nscheme = [\"pre_norm\", \"hybrid_norm\"]\nmodel.layers = [2, 4]\n"
      "schedule.peak = [1e-3, 2e-3, 4e-3]\n[[claims]]\nsays = \"x\"\n";
  const std::string pair = "of = { scheme = \"hybrid_norm\" }\nthan = { scheme = \"pre_norm\" }\n";
  const auto count = [&](const std::string& more) {
    return hypothesis_count(read(grid + pair + more));
  };
  EXPECT_EQ(count(""), 6U);
  EXPECT_EQ(count("is = \"further\"\nalong = \"schedule.peak\"\n"), 2U);
  EXPECT_EQ(count("is = \"further\"\nalong = \"schedule.peak\"\nat = { model.layers = 2 }\n"), 1U);
  EXPECT_EQ(count("measure = { over = \"schedule.peak\", cap = 3 }\n"), 2U);
  EXPECT_EQ(count("is = \"alike\"\nmargin = 1\ncompetence = 3\nat = { model.layers = 2 }\n"), 6U);
}

TEST(Claims, MeasureAllRunsAlongAnAxis) {
  const std::string pair = "of = { scheme = \"hybrid_norm\" }\nthan = { scheme = \"pre_norm\" }\n";
  const auto over = [&](const std::string& measure) {
    return with_claim(pair + "measure = { over = " + measure + " }\n");
  };
  const auto study = read(over("\"model.layers\", as = \"sensitivity\", cap = 3"));
  const auto& measure = study.claims.at(0).measure;
  EXPECT_EQ(measure.kind, Measure::Kind::sweep);
  EXPECT_EQ(measure.sweep, Measure::Sweep::sensitivity);
  EXPECT_EQ(measure.cap, 3);
  EXPECT_EQ(measure.name(), "loss sensitivity over model.layers");
  EXPECT_EQ(hypothesis_count(study), 1U);  // of two depths together
  EXPECT_NE(error_of(over("\"model.layer\", cap = 3")).find("did you mean \"model.layers\"?"),
            std::string::npos);
  EXPECT_NE(error_of(over("\"model.layers\"")).find("needs the loss that a failed run counts as"),
            std::string::npos);
  EXPECT_NE(error_of(over("\"scheme\", cap = 3")).find("can't be named in `of`"),
            std::string::npos);
  EXPECT_NE(error_of("measure = { over = \"scheme\" }\n" + std::string(kGrid))
                .find("measures over an axis are for claims"),
            std::string::npos);
}

TEST(Compare, IsAMeasureOverAnAxisThatTheBaselineDoesNotName) {
  const auto grid = std::string(kGrid) + "model.layers = [2, 4]\n";
  const std::string baseline = "baseline = { scheme = \"pre_norm\" }\n";
  const std::string over = "compare = { over = \"model.layers\", as = \"best\", cap = 3 }\n";
  const auto study = read(baseline + over + grid);
  ASSERT_TRUE(study.comparison.has_value());
  EXPECT_EQ(compared_measure(study).name(), "loss at its best model.layers");
  EXPECT_EQ(compared_measure(read(baseline + grid)).name(), "validation loss");
  const auto refuses = [&](const std::string& toml, const std::string& why) {
    EXPECT_NE(error_of(toml + grid).find(why), std::string::npos) << error_of(toml + grid);
  };
  refuses(over, "a study with a baseline that does not name model.layers");
  refuses("baseline = { model.layers = 2 }\n" + over, "that does not name model.layers");
  refuses(baseline + "compare = \"loss\"\n", "a measure over an axis");
  refuses(baseline + "compare = { over = \"model.layers\" }\n", "needs the loss");
  refuses(baseline + "compare = { over = \"model.layers\", as = \"max_trainable\" }\n",
          "a loss or a sensitivity");
  EXPECT_TRUE(undecidable_claims(study).empty());
}

TEST(UndecidableClaims, AreThoseWithTooFewSeeds) {
  const std::string trains = "is = \"trains\"\nof = { scheme = \"pre_norm\" }\n";
  auto study = read(with_claim(trains + "at = { model.layers = 2 }\n"));
  EXPECT_EQ(
      undecidable_claims(study),
      std::vector<std::string>{
          "claim 1 cannot be decided with 3 seeds: a sign test among 1 hypothesis needs 6 that "
          "all agree"});
  set_seeds(study, "6");
  EXPECT_TRUE(undecidable_claims(study).empty());
  study.claims.push_back(study.claims[0]);
  EXPECT_EQ(
      undecidable_claims(study).at(0),
      "claim 1 cannot be decided with 6 seeds: a sign test among 2 hypotheses needs 7 that all "
      "agree");
  study.claims[1].kind = Claim::Kind::lower;  // a t-test, whose p-value may be smaller
  EXPECT_EQ(undecidable_claims(study).at(0),
            "claim 1 may not be decided with 6 seeds: a sign test among 2 hypotheses needs 7 that "
            "all agree, fewer where other claims have smaller p-values");
  study.claims.pop_back();
  study.claims[0].kind = Claim::Kind::lower;
  set_seeds(study, "1");
  EXPECT_EQ(undecidable_claims(study),
            std::vector<std::string>{
                "claim 1 cannot be decided with 1 seed: a paired difference needs two"});
}

TEST(SmallestEffect, IsAHundredthOfANatForLosses) {
  auto study = read(kGrid);
  EXPECT_EQ(smallest_effect_of(study, study.measure), 0.01);
  EXPECT_EQ(smallest_effect_of(study, {.kind = Measure::Kind::val_wrong}), std::nullopt);
  study = read("smallest_effect = 0.5\nmeasure = \"val_gap\"\n" + std::string(kGrid));
  EXPECT_EQ(smallest_effect_of(study, study.measure), 0.5);
  EXPECT_EQ(smallest_effect_of(study, {.kind = Measure::Kind::loss}), 0.01);
  study.smallest_effect = 0;
  EXPECT_EQ(smallest_effect_of(study, study.measure), std::nullopt);
}

TEST(Claims, AreRefusedWhereTheySetWhatHasNoEffect) {
  const std::string trains = "is = \"trains\"\nof = { scheme = \"pre_norm\" }\n";
  const std::string pair = "of = { scheme = \"hybrid_norm\" }\nthan = { scheme = \"pre_norm\" }\n";
  for (const char* const paper : {"nan", "inf", "-inf"}) {
    EXPECT_NE(error_of(with_claim(pair + "paper = " + paper + "\n"))
                  .find(std::string("claims.paper must be a finite number, but is ") + paper),
              std::string::npos);
  }
  EXPECT_NE(error_of(with_claim(trains + "paper = -5.0\n")).find("paper is a difference"),
            std::string::npos);
  EXPECT_NE(error_of(with_claim(trains + "measure = \"loss\"\n")).find("measure"),
            std::string::npos);
  EXPECT_NE(error_of(with_claim(trains + "at = { scheme = \"pre_norm\" }\n"))
                .find("`at` names the axis scheme"),
            std::string::npos);
  EXPECT_NE(error_of(with_claim("is = \"further\"\nalong = \"model.layers\"\n"
                                "of = { model.layers = 2 }\nthan = { model.layers = 4 }\n"))
                .find("can't be named"),
            std::string::npos);
}

}  // namespace
}  // namespace evenkeel::study
