// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>

namespace evenkeel::serve {

/// The socket of one connection, with the limits that the library does not have: of the time and of
/// the size of a request. The functions return early when `stopping` becomes true.
class Connection final : public httplib::Stream {
 public:
  static constexpr std::chrono::seconds kHeadTime{10}, kBodyTime{30}, kWriteTime{30};

  Connection(int socket, const std::atomic<bool>& stopping)
      : socket_(socket), stopping_(stopping) {}

  /// Reads the head of a request, with the empty line at its end.
  /// \return empty if the client sent nothing
  /// \throws RequestError (408) after kHeadTime; (400) if the client closes the connection in
  ///         the head; (431) for more than kMaxHeadBytes
  std::string read_head();
  /// The next reads give the normalized head, then the body.
  void replay(const std::string& head);
  /// 0; 408 or 413 if read() has ended the body at a limit.
  int limit_status() const { return limit_status_; }
  /// Writes all of a text, unless the client closes the connection or reads too slowly.
  void write_all(std::string_view text);
  /// True if the client has closed the connection.
  bool is_closed_by_client() const;
  /// Ends the answer, then reads what the client has still sent, for a second at most: a socket
  /// that is closed with unread data would discard the answer.
  void finish();

  bool is_readable() const override { return true; }
  bool is_writable() const override { return !is_closed_by_client(); }
  ssize_t read(char* to, size_t size) override;
  ssize_t write(const char* from, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return socket_; }

 private:
  using Time = std::chrono::steady_clock::time_point;
  bool wait_until(short events, Time deadline) const;
  bool receive(Time deadline);
  bool receive_body();

  int socket_;
  const std::atomic<bool>& stopping_;
  std::string buffer_;        // received
  std::size_t position_ = 0;  // in buffer_: the first byte that read() has not given
  std::size_t received_ = 0;  // bytes of the body, framing included
  Time deadline_;             // of the body
  int limit_status_ = 0;
};

}  // namespace evenkeel::serve
