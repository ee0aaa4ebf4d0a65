// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/rank_commands.h"

#include <gtest/gtest.h>

#include <csignal>

#include "evenkeel/train/signals.h"
#include "train/thread_group.h"

namespace evenkeel::train {
namespace {

/// Rank 1 gets SIGUSR1, and rank 0 sends a command. The ranks are threads: rank 0 sends when rank 1
/// has the signal.
/// \return whether rank 0 is then asked to save
bool is_save_wanted_after(RankCommand command) {
  catch_signals();
  std::raise(SIGUSR1);
  bool wanted = false;
  testing::on_ranks(2, [&](comm::Group& group) {
    RankCommands commands(group);
    if (group.is_first()) {
      commands.send(command);
      wanted = commands.save_wanted();
    } else {
      EXPECT_EQ(commands.receive(/*is_written=*/true), command);
    }
  });
  return wanted;
}

TEST(RankCommands, SaveOnceForASignalToAllRanks) {
  EXPECT_TRUE(is_save_wanted_after(RankCommand::step));
  EXPECT_FALSE(is_save_wanted_after(RankCommand::save));
  EXPECT_FALSE(is_save_wanted_after(RankCommand::save_background));
}

}  // namespace
}  // namespace evenkeel::train
