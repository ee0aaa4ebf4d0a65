// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/serve/job.h"

#include <gtest/gtest.h>

#include <thread>

namespace evenkeel::serve {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kNow{0};

std::shared_ptr<Job> some_job() {
  return std::make_shared<Job>("/v1/completions", "{}");
}

TEST(Job, GivesAWholeAnswerToAnotherThread) {
  const auto job = some_job();
  EXPECT_EQ(job->wait_for_status(kNow), 0);
  std::thread computing([&] { job->answer(200, "content", 7); });
  while (job->wait_for_status(milliseconds(100)) == 0) {
  }
  computing.join();
  EXPECT_EQ(job->wait_for_status(kNow), 200);
  EXPECT_FALSE(job->is_stream());
  EXPECT_EQ(job->take_content(), "content");
  EXPECT_EQ(job->tokens(), 7);
}

TEST(Job, GivesEventsAsServerSentEvents) {
  const auto job = some_job();
  job->begin_stream();
  EXPECT_EQ(job->wait_for_status(kNow), 200);
  EXPECT_TRUE(job->is_stream());
  EXPECT_EQ(job->wait_for_events(kNow), "");
  job->add_event("{}");
  job->add_event("[DONE]");
  job->end_stream(3);
  EXPECT_EQ(job->wait_for_events(kNow), "data: {}\n\ndata: [DONE]\n\n");
  EXPECT_EQ(job->wait_for_events(kNow), std::nullopt);
}

TEST(JobQueue, GivesJobsInTheOrderOfTheirArrival) {
  JobQueue queue;
  EXPECT_EQ(queue.pop(kNow), nullptr);
  const auto first = some_job(), second = some_job();
  queue.push(first);
  queue.push(second);
  EXPECT_EQ(queue.pop(kNow), first);
  EXPECT_EQ(queue.pop(kNow), second);
}

TEST(JobQueue, RefusesAJobWhenTooManyWait) {
  JobQueue queue;
  for (std::size_t i = 0; i < JobQueue::kMostWaiting; ++i) queue.push(some_job());
  const auto job = some_job();
  queue.push(job);
  EXPECT_EQ(job->wait_for_status(kNow), 429);
  EXPECT_EQ(job->take_content(),
            R"({"error":{"message":"too many requests are waiting; send this one again later",)"
            R"("type":"rate_limit_error","param":null,"code":null}})");
}

TEST(JobQueue, DoesNotCountCancelledJobs) {
  JobQueue queue;
  const auto alive = some_job(), next = some_job();
  queue.push(alive);
  for (std::size_t i = 1; i < JobQueue::kMostWaiting; ++i) {
    const auto gone = some_job();
    queue.push(gone);
    gone->cancel();
  }
  queue.push(next);
  EXPECT_EQ(next->wait_for_status(kNow), 0);
  EXPECT_EQ(queue.pop(kNow), alive);
  EXPECT_EQ(queue.pop(kNow), next);
}

TEST(JobQueue, AnswersWaitingAndLaterJobsWhenItIsClosed) {
  JobQueue queue;
  const auto waiting = some_job(), later = some_job();
  queue.push(waiting);
  queue.close();
  queue.push(later);
  EXPECT_EQ(waiting->wait_for_status(kNow), 503);
  EXPECT_EQ(later->wait_for_status(kNow), 503);
  EXPECT_EQ(queue.pop(kNow), nullptr);
}

}  // namespace
}  // namespace evenkeel::serve
