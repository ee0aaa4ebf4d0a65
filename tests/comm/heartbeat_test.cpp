// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/heartbeat.h"

#include <gtest/gtest.h>

namespace evenkeel::comm {
namespace {

using std::chrono::seconds;

constexpr HeartbeatTable::Time kStart{};

TEST(Heartbeat, ReadsBack) {
  const Heartbeat heartbeat = {
      .count = 3, .step = 151, .checkpoint = 150, .calls = 77, .lost = 2, .exit = 75};
  EXPECT_EQ(parse_heartbeat(heartbeat_text(heartbeat)), heartbeat);
  EXPECT_EQ(parse_heartbeat("3 x"), Heartbeat());
}

class Table : public ::testing::Test {
 protected:
  /// A heartbeat of each of the ranks at this second.
  void all_beat(int second, std::initializer_list<int> ranks) {
    for (const int rank : ranks)
      table.hear(rank, {.count = second + 1, .calls = 10}, kStart + seconds(second));
  }
  HeartbeatTable table{4, 1};
};

TEST_F(Table, NamesTheRankThatIsSilentForTheLongestTime) {
  all_beat(0, {0, 1, 2, 3});
  all_beat(3, {0, 3});
  EXPECT_EQ(table.silent_rank(kStart + seconds(4), 5), std::nullopt);
  EXPECT_EQ(table.silent_rank(kStart + seconds(6), 5), 2);
  EXPECT_EQ(table.silent_rank(kStart + seconds(20), 5), 2);
}

TEST_F(Table, TakesNoHeartbeatTwice) {
  table.hear(2, {.count = 1}, kStart);
  table.hear(2, {.count = 1}, kStart + seconds(9));
  EXPECT_EQ(table.silent_rank(kStart + seconds(10), 5), 2);
}

TEST_F(Table, DoesNotBlameRanksThatNeverCame) {
  all_beat(0, {1});
  EXPECT_EQ(table.silent_rank(kStart + seconds(100), 5), std::nullopt);
}

TEST_F(Table, DoesNotBlameOthersForAPauseOfThisProcess) {
  all_beat(0, {0, 1, 2, 3});
  table.forgive(seconds(60), kStart + seconds(60));
  EXPECT_EQ(table.silent_rank(kStart + seconds(61), 5), std::nullopt);
}

TEST_F(Table, LearnsFromOthersWhoIsLostOrEndsWithAnError) {
  all_beat(0, {0, 1, 2, 3});
  EXPECT_EQ(table.found_lost(), std::nullopt);
  EXPECT_EQ(table.error_exit(), std::nullopt);
  table.hear(3, {.count = 9, .lost = 2}, kStart);
  table.hear(0, {.count = 9, .exit = 65}, kStart);
  EXPECT_EQ(table.found_lost(), 2);
  EXPECT_EQ(table.error_exit(), 65);
  EXPECT_EQ(table.lowest_but(2, kStart, 5), 1);  // rank 0 ends
}

TEST_F(Table, MissesARankThatCameAndSaysNothing) {
  EXPECT_EQ(table.silent_rank(kStart + seconds(100), 5), std::nullopt);
  table.expect(3, kStart);
  EXPECT_EQ(table.silent_rank(kStart + seconds(4), 5), std::nullopt);
  EXPECT_EQ(table.silent_rank(kStart + seconds(6), 5), 3);
  table.hear(3, {.count = 1}, kStart + seconds(6));
  table.expect(3, kStart);  // no second time
  EXPECT_EQ(table.silent_rank(kStart + seconds(10), 5), std::nullopt);
}

TEST_F(Table, ForgivesNoTimeAfterThePause) {
  all_beat(60, {0});
  table.forgive(seconds(60), kStart + seconds(61));  // rank 0 was heard right after it
  EXPECT_EQ(table.silent_rank(kStart + seconds(70), 5), 0);
}

TEST_F(Table, LetsTheLowestRankSpeakThatIsNotSilent) {
  table = HeartbeatTable(4, 3);
  all_beat(0, {0, 1, 2});
  EXPECT_EQ(table.lowest_but(-1, kStart, 5), 0);
  EXPECT_EQ(table.lowest_but(0, kStart, 5), 1);
  all_beat(10, {2});  // ranks 0 and 1 are lost at once
  EXPECT_EQ(table.lowest_but(0, kStart + seconds(10), 5), 2);
  EXPECT_EQ(table.lowest_but(0, kStart + seconds(20), 5), 3);
}

TEST_F(Table, NamesTheRankWithTheFewestCalls) {
  all_beat(0, {0, 1, 2, 3});
  EXPECT_EQ(table.rank_behind(10), std::nullopt);
  table.hear(0, {.count = 5, .calls = 9}, kStart);
  table.hear(3, {.count = 5, .calls = 8}, kStart);
  EXPECT_EQ(table.rank_behind(10), 3);
}

TEST_F(Table, KnowsWhenAllOthersEnd) {
  all_beat(0, {0, 1, 2, 3});
  table.hear(0, {.count = 5, .exit = 0}, kStart);
  EXPECT_FALSE(table.all_others_end(kStart, 3, 2));
  table.hear(3, {.count = 5, .lost = 2}, kStart);
  EXPECT_TRUE(table.all_others_end(kStart, 3, 2));
  EXPECT_FALSE(table.all_others_end(kStart, 3, -1));
  EXPECT_TRUE(table.all_others_end(kStart + seconds(4), 3, -1));  // rank 2 is silent
}

TEST(HeartbeatTable, ARankThatCameIsWaitedForBeforeItsFirstHeartbeat) {
  HeartbeatTable table(2, 0);
  EXPECT_TRUE(table.all_others_end(kStart, 3, -1));
  table.expect(1, kStart);
  EXPECT_FALSE(table.all_others_end(kStart, 3, -1));
  EXPECT_TRUE(table.all_others_end(kStart + seconds(4), 3, -1));
}

}  // namespace
}  // namespace evenkeel::comm
