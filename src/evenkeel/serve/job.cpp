// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/serve/job.h"

#include <nlohmann/json.hpp>

#include <utility>

#include "evenkeel/serve/request_error.h"

namespace evenkeel::serve {

namespace {

void refuse_job(Job& job, int status, const char* message) {
  job.answer(status, RequestError(status, message).body().dump());
}

}  // namespace

void Job::answer(int status, std::string content, std::int64_t tokens) {
  const std::lock_guard lock(mutex_);
  status_ = status;
  content_ = std::move(content);
  tokens_ = tokens;
  has_ended_ = true;
  changed_.notify_all();
}

void Job::begin_stream() {
  const std::lock_guard lock(mutex_);
  status_ = 200;
  is_stream_ = true;
  changed_.notify_all();
}

void Job::add_event(const std::string& data) {
  const std::lock_guard lock(mutex_);
  events_ += "data: " + data + "\n\n";
  changed_.notify_all();
}

void Job::end_stream(std::int64_t tokens) {
  const std::lock_guard lock(mutex_);
  tokens_ = tokens;
  has_ended_ = true;
  changed_.notify_all();
}

int Job::wait_for_status(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, limit, [this] { return status_ != 0; });
  return status_;
}

bool Job::is_stream() {
  const std::lock_guard lock(mutex_);
  return is_stream_;
}

std::string Job::take_content() {
  const std::lock_guard lock(mutex_);
  return std::exchange(content_, "");
}

std::optional<std::string> Job::wait_for_events(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, limit, [this] { return !events_.empty() || has_ended_; });
  if (events_.empty() && has_ended_) return std::nullopt;
  return std::exchange(events_, "");
}

std::int64_t Job::tokens() {
  const std::lock_guard lock(mutex_);
  return tokens_;
}

void JobQueue::push(const std::shared_ptr<Job>& job) {
  const std::lock_guard lock(mutex_);
  if (is_closed_) return refuse_job(*job, 503, "the server is stopping");
  std::erase_if(waiting_, [](const std::shared_ptr<Job>& each) { return each->is_cancelled(); });
  if (waiting_.size() >= kMostWaiting) {
    return refuse_job(*job, 429, "too many requests are waiting; send this one again later");
  }
  waiting_.push_back(job);
  changed_.notify_all();
}

std::shared_ptr<Job> JobQueue::pop(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, limit, [this] { return !waiting_.empty(); });
  if (waiting_.empty()) return nullptr;
  auto job = waiting_.front();
  waiting_.pop_front();
  return job;
}

void JobQueue::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  for (const auto& job : waiting_) refuse_job(*job, 503, "the server is stopping");
  waiting_.clear();
}

}  // namespace evenkeel::serve
