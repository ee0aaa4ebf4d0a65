// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace evenkeel::serve {

/// A request with a body, and its answer: a whole one, or a stream of events. The thread of the
/// connection waits for the answer, the computing thread gives it.
class Job {
 public:
  Job(std::string path, std::string body) : path_(std::move(path)), body_(std::move(body)) {}

  const std::string& path() const { return path_; }
  const std::string& body() const { return body_; }

  // The computing thread.

  /// Gives the whole answer. \param tokens  computed, for the log
  void answer(int status, std::string content, std::int64_t tokens = 0);
  /// Begins a stream of events; the status is 200.
  void begin_stream();
  /// Adds an event: the text after "data: ".
  void add_event(const std::string& data);
  void end_stream(std::int64_t tokens);
  /// True if nobody waits for the answer.
  bool is_cancelled() const { return is_cancelled_; }

  // The thread of the connection.

  void cancel() { is_cancelled_ = true; }
  /// Waits until the answer begins. \return its status; 0: not yet
  int wait_for_status(std::chrono::milliseconds limit);
  bool is_stream();
  /// The whole answer; empty for a stream.
  std::string take_content();
  /// Waits for events. \return all that came; empty: none yet; nullopt: the stream has ended
  std::optional<std::string> wait_for_events(std::chrono::milliseconds limit);
  std::int64_t tokens();

 private:
  const std::string path_, body_;
  std::atomic<bool> is_cancelled_ = false;
  std::mutex mutex_;  // of all that follows
  std::condition_variable changed_;
  int status_ = 0;
  std::string content_;
  bool is_stream_ = false, has_ended_ = false;
  std::string events_;
  std::int64_t tokens_ = 0;
};

/// The jobs that wait for the computing thread, in the order of their arrival.
class JobQueue {
 public:
  static constexpr std::size_t kMostWaiting = 32;

  /// Adds a job, and discards cancelled ones. The job is answered at once with the status 429 if
  /// kMostWaiting jobs wait, with 503 after close().
  void push(const std::shared_ptr<Job>& job);
  /// The next job; nullptr if none came.
  std::shared_ptr<Job> pop(std::chrono::milliseconds limit);
  /// Answers all waiting jobs with 503.
  void close();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> waiting_;
  bool is_closed_ = false;
};

}  // namespace evenkeel::serve
