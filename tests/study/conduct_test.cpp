// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/conduct.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "evenkeel/base/file.h"
#include "evenkeel/study/arms.h"

namespace evenkeel::study {
namespace {

namespace fs = std::filesystem;

Wish wish_of(const std::string& toml, const std::string& program) {
  return {.study = read_study(toml, "my.toml", ""),
          .folder = {},
          .need =
              [](const config::Config&) {
                return Need{.steps = 4, .precision = "float32", .arithmetic = "float32 avx2"};
              },
          .program = program,
          .command = {}};
}

/// Where the first run of a study lies.
std::string key_in(const Wish& wish, int cores = 2) {
  static Addresses addresses;  // the built-in text is made once
  const auto config = config_of(wish.study, combinations(wish.study).front(), 1, {});
  return key_of(addresses, wish, {.cores = cores}, config, wish.need(config));
}

constexpr const char* kStudy = "seeds = [1]\n[grid]\nscheme = [\"pre_norm\", \"keel\"]\n";
const std::string kTimed = std::string("alone = true\n") + kStudy;

TEST(Key, OfATimedRunIsOfOneProgramAndOneMachine) {
  const auto usual = key_in(wish_of(kTimed, "evenkeel (abc) on one"));
  EXPECT_EQ(key_in(wish_of(kTimed, "evenkeel (abc) on one")), usual);
  EXPECT_NE(key_in(wish_of(kTimed, "evenkeel (def) on one")), usual);
  EXPECT_NE(key_in(wish_of(kTimed, "evenkeel (abc) on another")), usual);
  EXPECT_NE(key_in(wish_of(kTimed, "evenkeel (abc) on one"), 4), usual);
}

TEST(Key, OfAnyOtherRunIsSharedByAllOfThem) {
  const auto usual = key_in(wish_of(kStudy, "evenkeel (abc) on one"));
  EXPECT_EQ(key_in(wish_of(kStudy, "evenkeel (def) on another"), 4), usual);
}

TEST(Outlook, FindsTheRunsThatAreThere) {
  const auto pool = fs::path(testing::TempDir()) / "outlook";
  for (const auto* const toml : {kStudy, kTimed.c_str()}) {
    fs::remove_all(pool);
    const auto wish = wish_of(toml, "evenkeel (abc) on one");
    const Resources resources{.pool = pool, .cores = 2};
    EXPECT_EQ(outlook(wish, resources).there, 0U);
    const auto run = pool / key_in(wish);
    fs::create_directories(run);
    write_file(run / "run.toml", "");
    write_file(run / "status.json", "{\"state\": \"finished\", \"step\": 20}");
    write_file(run / "metrics.jsonl", "{\"step\": 20, \"val_loss\": 1}\n");
    const auto seen = outlook(wish, resources);
    EXPECT_EQ(seen.runs, 2U);
    EXPECT_EQ(seen.there, 1U) << toml;
  }
}

}  // namespace
}  // namespace evenkeel::study
