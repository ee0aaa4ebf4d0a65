// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/records_file.h"

#include <gtest/gtest.h>

#include "evenkeel/base/digest.h"
#include "evenkeel/store/json_lines.h"
#include "store/support.h"

namespace evenkeel::store {
namespace {

/// metrics.jsonl with the steps 10, 20, ..., 60, and its summary there; later the steps 70 and 80.
class Records : public ::testing::Test {
 protected:
  void SetUp() override {
    RecordsFile file(folder_, "metrics.jsonl");
    for (int step = 10; step <= 60; step += 10) file.append(record(step));
    saved_ = nlohmann::json::parse(file.summary().dump());
    whole_ = read_file(path_);
    for (int step = 70; step <= 80; step += 10) file.append(record(step));
  }
  static nlohmann::ordered_json record(int step) { return {{"step", step}, {"loss", 2.5}}; }

  /// What a resume from step 60 says.
  std::string resumed() const { return RecordsFile(folder_, "metrics.jsonl").resume(60, saved_); }
  /// The file without the lines from the n-th to the m-th, counted from 0.
  std::string without(std::size_t from, std::size_t to) const {
    const auto line = json_line(record(10)).size();
    return whole_.substr(0, from * line) + whole_.substr(to * line);
  }

  std::filesystem::path path_ = fresh_folder() / "metrics.jsonl";
  Directory folder_{path_.parent_path()};
  nlohmann::json saved_;
  std::string whole_;
};

TEST_F(Records, AreSummarizedBySizeDigestAndSteps) {
  EXPECT_EQ(saved_.at("size"), whole_.size());
  EXPECT_EQ(saved_.at("digest"), digest(whole_.data(), whole_.size()));
  EXPECT_EQ(saved_.at("steps").dump(), "[[10,60,10]]");
}

TEST_F(Records, OfLaterStepsAreRemovedOnResume) {
  EXPECT_EQ(resumed(), "");
  EXPECT_EQ(read_file(path_), whole_);
  put(path_, whole_ + R"({"step":70,"lo)");
  EXPECT_EQ(resumed(), "");
  EXPECT_EQ(read_file(path_), whole_);
}

TEST_F(Records, OfAResumedRunHaveTheSummaryOfAnUninterruptedOne) {
  RecordsFile file(folder_, "metrics.jsonl");
  EXPECT_EQ(file.resume(60, saved_), "");
  EXPECT_EQ(file.summary(), saved_);
  file.append(record(70));
  RecordsFile again(folder_, "metrics.jsonl");
  EXPECT_EQ(again.resume(70, file.summary()), "");
}

TEST_F(Records, ThatAreMissingAreNamedByTheirSteps) {
  put(path_, without(3, 6));
  EXPECT_EQ(resumed(), "metrics.jsonl: the records of steps 40 to 60 are missing");
  put(path_, without(1, 2));
  EXPECT_EQ(resumed(), "metrics.jsonl: the records of step 20 are missing");
  put(path_, whole_.substr(0, whole_.size() - 5));  // torn by a power cut
  EXPECT_EQ(resumed(), "metrics.jsonl: the records of step 60 are missing");
  std::filesystem::remove(path_);
  EXPECT_EQ(resumed(), "metrics.jsonl: the records of steps 10 to 60 are missing");
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(Records, ThatAreDamagedAreKeptAside) {
  auto flipped = whole_;
  flipped[flipped.find("step", json_line(record(10)).size())] = 'S';
  put(path_, flipped);
  EXPECT_EQ(resumed(),
            "metrics.jsonl: 1 line is damaged and moved to metrics.jsonl.damaged; the records of "
            "step 20 are missing");
  EXPECT_EQ(read_file(path_.string() + ".damaged"), "{\"Step\":20,\"loss\":2.5}\n");
  EXPECT_EQ(read_file(path_), without(1, 2));
  put(path_, whole_ + "no JSON\n");
  EXPECT_EQ(resumed(), "metrics.jsonl: 1 line is damaged and moved to metrics.jsonl.damaged");
  EXPECT_EQ(read_file(path_.string() + ".damaged"), "{\"Step\":20,\"loss\":2.5}\nno JSON\n");
}

TEST_F(Records, WithAnyFlippedBitAreDetected) {
  for (std::size_t bit = 0; bit < 8 * whole_.size(); ++bit) {
    auto flipped = whole_;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    put(path_, flipped);
    ASSERT_NE(resumed(), "") << "bit " << bit;
  }
}

TEST_F(Records, ThatWereChangedAreReported) {
  auto changed = whole_;
  changed[changed.find("2.5")] = '3';
  put(path_, changed);
  EXPECT_EQ(resumed(),
            "metrics.jsonl: records were changed or removed after the checkpoint was written");
}

TEST_F(Records, OfAnOlderCheckpointAreNotCompared) {
  put(path_, without(3, 6));
  for (const auto* unknown : {"null", "{}", "{\"size\":-1,\"digest\":\"\"}", "[]"}) {
    EXPECT_EQ(RecordsFile(folder_, "metrics.jsonl").resume(60, nlohmann::json::parse(unknown)), "");
  }
}

}  // namespace
}  // namespace evenkeel::store
