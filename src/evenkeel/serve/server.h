// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "evenkeel/serve/http_server.h"
#include "evenkeel/serve/job.h"
#include "evenkeel/serve/served_model.h"

namespace evenkeel::serve {

/// A server for completions with one model, in the shape of OpenAI's API (docs/serving.md).
/// Connections have threads of their own; the thread that calls run() computes one request after
/// the other.
class Server {
 public:
  /// Listens from now on. \throws Error as HttpServer
  Server(ServedModel served, int port, std::function<void(const HttpLogEntry&)> log);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  /// Answers the waiting requests with the status 503.
  ~Server();

  int port() const { return http_.port(); }

  /// Answers requests until `stop_wanted` returns true, which is called several times a second and
  /// between two forward passes. An interrupted request is answered with the status 503.
  /// \throws Error (io, exit code 74) if the server cannot listen any longer
  void run(const std::function<bool()>& stop_wanted);

 private:
  HttpPage page(const std::string& path) const;
  void answer(Job& job, const std::function<bool()>& stop_wanted);
  void complete_request(Job& job, const std::function<bool()>& stop_wanted);

  ServedModel served_;
  JobQueue queue_;
  std::int64_t completions_ = 0;
  HttpServer http_;  // its threads use the members above
};

/// The id of a model: "RUN-step-400".
std::string model_id(const std::string& run, std::int64_t step);

}  // namespace evenkeel::serve
