// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/rendezvous.h"

#include <gtest/gtest.h>

#include <atomic>

#include "comm/rank_threads.h"
#include "evenkeel/base/error.h"

namespace evenkeel::comm {
namespace {

using std::chrono::seconds;

Place place_at(int rank, int ranks) {
  return {.rank = rank, .ranks = ranks, .address = "a1", .port = 29500, .has_agent_store = true};
}

/// All ranks of one start write `value` into the part of it that they find.
void start_ranks(const Store& store, int ranks, const std::string& value) {
  std::atomic<int> written = 0;
  testing::for_each_rank(ranks, [&](int rank) {
    const Rendezvous rendezvous(store, place_at(rank, ranks), seconds(60));
    const auto part = rendezvous.part_of(store);
    EXPECT_EQ(part.set_once(text("value/", rank), value), value);
    ++written;
    while (rank == 0 && written < ranks) {
      for (int other = 1; other < ranks; ++other) rendezvous.answer(other);
    }
    if (rank != 0) return;
    for (int other = 0; other < ranks; ++other) {
      EXPECT_EQ(part.get({text("value/", other)}).front(), value);
    }
  });
}

// The agents of torchrun keep their store, and each counts the restarts for itself.
TEST(Rendezvous, IsThatOfOneStart) {
  const auto store = testing::memory_store();
  for (const auto* const start : {"first", "second", "third"}) start_ranks(store, 3, start);
}

TEST(Rendezvous, AnswersTheProcessThatFollowsALostOne) {
  const auto store = testing::memory_store();
  store.set("ask/1", "of-a-process-that-is-gone");
  start_ranks(store, 2, "value");
}

TEST(Rendezvous, NamesAMissingRank0) {
  const auto store = testing::memory_store();
  try {
    const Rendezvous rendezvous(store, place_at(1, 2), seconds(0));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::busy);
    EXPECT_STREQ(error.what(), "waited 0 s for 2 processes; missing: rank 0");
  }
}

TEST(Rendezvous, AsksNobodyInAStoreThatRank0Serves) {
  const auto store = testing::memory_store();
  auto place = place_at(1, 2);
  place.has_agent_store = false;
  const Rendezvous rendezvous(store, place, seconds(0));
  rendezvous.part_of(store).set("key", "value");
  EXPECT_TRUE(store.has("key"));
}

}  // namespace
}  // namespace evenkeel::comm
