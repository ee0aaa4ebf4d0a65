// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/serve/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "evenkeel/serve/completion_request.h"
#include "evenkeel/serve/request_error.h"
#include "evenkeel/serve/request_head.h"

namespace evenkeel::serve {

namespace {

using Clock = std::chrono::steady_clock;

/// The bytes of a body with the sizes of its chunks.
constexpr std::size_t kMaxFramedBytes = 2 * kMaxBodyBytes;
constexpr std::size_t kBlockBytes = std::size_t{64} << 10;

}  // namespace

/// Waits for an event of the socket. False: the deadline has passed, or the server stops.
bool Connection::wait_until(short events, Time deadline) const {
  constexpr int kSlice = 50;  // ms: how soon a stop is noticed
  while (!stopping_ && Clock::now() < deadline) {
    pollfd each = {.fd = socket_, .events = events, .revents = 0};
    if (::poll(&each, 1, kSlice) > 0) return true;
  }
  return false;
}

/// Appends what has arrived to the buffer. False: nothing has, or the connection is closed.
bool Connection::receive(Time deadline) {
  if (!wait_until(POLLIN, deadline)) return false;
  const auto before = buffer_.size();
  buffer_.resize(before + kBlockBytes);
  ssize_t count = -1;
  do {
    count = ::recv(socket_, buffer_.data() + before, kBlockBytes, 0);
  } while (count < 0 && errno == EINTR);
  buffer_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return count > 0;
}

std::string Connection::read_head() {
  const auto deadline = Clock::now() + kHeadTime;
  for (;;) {
    for (const std::string_view end : {"\r\n\r\n", "\n\n"}) {
      const auto found = buffer_.find(end);
      if (found == std::string::npos || found + end.size() > kMaxHeadBytes) continue;
      auto head = buffer_.substr(0, found + end.size());
      buffer_.erase(0, head.size());
      return head;
    }
    if (buffer_.size() >= kMaxHeadBytes) {
      throw RequestError(431, text("the request line and headers must have at most ", kMaxHeadBytes,
                                   " bytes, but have more"));
    }
    if (receive(deadline)) continue;
    if (buffer_.empty() || stopping_) return "";
    if (Clock::now() < deadline) throw RequestError(400, "the request ends in its headers");
    throw RequestError(408, text("the headers must arrive within ", kHeadTime.count(), " s"));
  }
}

void Connection::replay(const std::string& head) {
  received_ = buffer_.size();
  buffer_.insert(0, head);
  deadline_ = Clock::now() + kBodyTime;
}

/// Receives a part of the body into the empty buffer. False: the body ends here.
bool Connection::receive_body() {
  buffer_.clear();
  position_ = 0;
  if (limit_status_ != 0) return false;
  if (!receive(deadline_)) {
    if (Clock::now() >= deadline_) limit_status_ = 408;
    return false;
  }
  received_ += buffer_.size();
  if (received_ > kMaxFramedBytes) limit_status_ = 413;
  return limit_status_ == 0;
}

ssize_t Connection::read(char* to, size_t size) {
  if (position_ == buffer_.size() && !receive_body()) return 0;
  const auto count = std::min(size, buffer_.size() - position_);
  std::copy_n(buffer_.data() + position_, count, to);
  position_ += count;
  return static_cast<ssize_t>(count);
}

ssize_t Connection::write(const char* from, size_t size) {
  const auto deadline = Clock::now() + kWriteTime;
  while (wait_until(POLLOUT, deadline)) {
    const auto count = ::send(socket_, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) return count;
    if (errno != EINTR && errno != EAGAIN) return -1;
  }
  return -1;
}

void Connection::write_all(std::string_view text) {
  while (!text.empty()) {
    const auto count = write(text.data(), text.size());
    if (count < 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

bool Connection::is_closed_by_client() const {
  char byte = 0;
  const auto count = ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
}

void Connection::finish() {
  constexpr std::chrono::seconds kDrainTime{1};
  ::shutdown(socket_, SHUT_WR);
  const auto deadline = Clock::now() + kDrainTime;
  std::array<char, 4096> unread{};
  while (wait_until(POLLIN, deadline) && ::recv(socket_, unread.data(), unread.size(), 0) > 0) {
  }
}

void Connection::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip = "127.0.0.1";
  port = 0;
}

void Connection::get_local_ip_and_port(std::string& ip, int& port) const {
  ip = "127.0.0.1";
  port = 0;
}

}  // namespace evenkeel::serve
