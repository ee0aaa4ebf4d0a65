// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/flattened.h"

#include <gtest/gtest.h>

#include "evenkeel/base/error.h"

namespace evenkeel::report {
namespace {

TEST(Flattened, DotsTheKeysOfToml) {
  const KeyValues want = {{"model.layers", "4"},
                          {"optimizer.betas", "[0.9, 0.95]"},
                          {"optimizer.clip", "1.0"},
                          {"scheme", "pre_ln"},
                          {"train.deterministic", "true"}};
  EXPECT_EQ(flattened_toml("scheme = \"pre_ln\"\n[model]\nlayers = 4\n[optimizer]\n"
                           "betas = [0.9, 0.95]\nclip = 1.0\n[train]\ndeterministic = true\n"),
            want);
}

TEST(Flattened, DotsTheKeysOfJsonInTheirOrder) {
  const KeyValues want = {
      {"torch", "2.13.0"}, {"data.digest", "ab"}, {"data.tokens", "7"}, {"isa", "[\"avx2\"]"}};
  EXPECT_EQ(flattened_json(R"({"torch": "2.13.0", "data": {"digest": "ab", "tokens": 7},
                          "isa": ["avx2"]})"),
            want);
}

TEST(Flattened, SaysWhereATomlFileIsBroken) {
  try {
    flattened_toml("a = 1\nb = = 2\n");
    FAIL() << "a broken file was read";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).substr(0, 8), "line 2: ") << error.what();
  }
}

TEST(Flattened, RefusesJsonThatIsNoObject) {
  for (const char* bad : {"[1]", "{", "3"}) {
    try {
      flattened_json(bad);
      FAIL() << bad;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()), "wanted a JSON object");
    }
  }
}

TEST(Differences, AreTheKeysThatAreNotTheSameEverywhere) {
  const auto rows = differences({{{"seed", "1"}, {"scheme", "pre_ln"}},
                                 {{"seed", "1"}, {"scheme", "post_ln"}, {"train.from", "x"}},
                                 {{"seed", "1"}, {"scheme", "pre_ln"}}});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].key, "scheme");
  EXPECT_EQ(rows[0].values, (std::vector<std::string>{"pre_ln", "post_ln", "pre_ln"}));
  EXPECT_EQ(rows[1].key, "train.from");
  EXPECT_EQ(rows[1].values, (std::vector<std::string>{"–", "x", "–"}));
}

}  // namespace
}  // namespace evenkeel::report
