// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "evenkeel/serve/job.h"

namespace evenkeel::serve {

/// The answer to a GET.
struct HttpPage {
  int status = 200;
  std::string content_type = "application/json";
  std::string content;
};

/// A request that was answered.
struct HttpLogEntry {
  std::string method, path;  // as the client wrote them; "-" if the request has none
  int status = 0;            // 499: the client went away
  std::int64_t tokens = 0;   // computed
  double milliseconds = 0;
};

/// What the server offers. Several threads call the functions at once.
struct HttpService {
  /// A GET of a known path (request_head.h). \throws RequestError
  std::function<HttpPage(const std::string& path)> page;
  /// Takes over a POST of a known path; it must answer the job.
  std::function<void(const std::shared_ptr<Job>&)> post;
  std::function<void(const HttpLogEntry&)> log;
};

/// An HTTP/1.1 server on 127.0.0.1, with threads of its own. Each connection has one request, and
/// is closed after the answer.
class HttpServer {
 public:
  static constexpr std::size_t kMostConnections = 48;  // more are answered with 503

  /// Listens from now on.
  /// \param port  0: a free one
  /// \throws Error (busy, exit code 75) if the port is in use, (io, 74) if it cannot be used
  HttpServer(int port, HttpService service);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  int port() const;
  /// False after a failure of the listening socket.
  bool is_listening() const;

  class Listener;  // of the library

 private:
  std::unique_ptr<Listener> listener_;
};

}  // namespace evenkeel::serve
