// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "evenkeel/base/error.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/store/checkpoint_save.h"
#include "evenkeel/store/lock.h"
#include "store/support.h"

namespace evenkeel::store {
namespace {

using Steps = std::vector<std::int64_t>;

/// Which checkpoints of a run remain, and how one of them is found.
class KeptCheckpoints : public ::testing::Test {
 protected:
  void save(std::int64_t step, std::int64_t keep = 2) {
    save_checkpoint(lock_, small_content(step), keep);
  }
  std::string entries() const { return checkpoint_entries(run_); }

  std::filesystem::path run_ = fresh_folder();
  Lock lock_{run_};
};

TEST_F(KeptCheckpoints, AreTheNewest) {
  for (const std::int64_t step : {10, 20, 30, 40}) save(step, 2);
  EXPECT_EQ(checkpoint_steps(run_), (Steps{30, 40}));
  save(50, 1);
  EXPECT_EQ(entries(), "step-00000050 ");
}

// A run that diverges must not delete the checkpoints from before.
TEST_F(KeptCheckpoints, HaveAFiniteOneAlsoWhereTheRunDiverges) {
  for (const std::int64_t step : {10, 20, 30, 40, 50, 60}) {
    auto content = small_content(step);
    if (step > 20 && step < 60) content.manifest["is_finite"] = false;
    save_checkpoint(lock_, content, 2);
    if (step == 50) {
      EXPECT_EQ(checkpoint_steps(run_), (Steps{20, 40, 50}));
    }
  }
  EXPECT_EQ(checkpoint_steps(run_), (Steps{50, 60}));
}

TEST_F(KeptCheckpoints, AreFoundByTheirStep) {
  for (const std::int64_t step : {10, 20}) save(step);
  EXPECT_EQ(checkpoint_of_step(run_, 10).found->step, 10);
  try {
    checkpoint_of_step(run_, 15);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::no_checkpoint);
    EXPECT_EQ(std::string(error.what()),
              run_.string() + ": has no checkpoint of step 15, but of: 10, 20");
  }
  std::filesystem::resize_file(run_ / "checkpoints/step-00000010/model.safetensors", 5);
  const auto damaged = checkpoint_of_step(run_, 10);
  EXPECT_FALSE(damaged.found);
  EXPECT_TRUE(damaged.skipped.at(0).starts_with("checkpoints/step-00000010: "));
}

TEST_F(KeptCheckpoints, OfAFinishedRunAreOne) {
  keep_newest_checkpoint(lock_);
  EXPECT_EQ(entries(), "");
  for (const std::int64_t step : {10, 20, 30}) save(step, 3);
  std::filesystem::resize_file(run_ / "checkpoints/step-00000030/model.safetensors", 5);
  keep_newest_checkpoint(lock_);
  EXPECT_EQ(checkpoint_steps(run_), (Steps{10, 20, 30}));  // the newest is damaged
  save(30, 3);
  keep_newest_checkpoint(lock_);
  EXPECT_EQ(entries(), "step-00000030 ");
}

}  // namespace
}  // namespace evenkeel::store
