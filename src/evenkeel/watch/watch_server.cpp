// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/watch/watch_server.h"

#include <fcntl.h>
#include <httplib.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "evenkeel/base/error.h"

namespace evenkeel::watch {

namespace {

constexpr const char* kLoopbackAddress = "127.0.0.1";
constexpr std::chrono::milliseconds kPause{1000};  // between two reads of the files
constexpr std::chrono::milliseconds kSlice{50};    // how soon an end is noticed
constexpr int kMostHeartbeat = 15;                 // pauses without an event
constexpr std::size_t kThreads = WatchServer::kMostStreams + 8;
constexpr time_t kReadSeconds = 5;
constexpr time_t kIdleSeconds = 1;       // of a connection without a request; the end waits for it
constexpr std::size_t kMostHead = 2048;  // bytes of a path

/// Whether a Host header names this machine: a page of another origin cannot read the answers, even
/// if its name resolves to 127.0.0.1 (DNS rebinding).
bool is_loopback_host(const std::string& host) {
  const auto end = host.find(':', host.starts_with('[') ? host.find(']') : 0);
  const auto name = host.substr(0, end);
  return name == "localhost" || name == kLoopbackAddress || name == "[::1]";
}

void watch_close_on_exec(int socket) {
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);  // not SO_REUSEPORT
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
}

}  // namespace

class WatchServer::Listener {
 public:
  Listener(WatchedRuns runs, int port) : runs_(std::move(runs)) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server_.set_socket_options(watch_close_on_exec);
    server_.set_keep_alive_max_count(1);
    server_.set_keep_alive_timeout(kIdleSeconds);
    server_.set_read_timeout(kReadSeconds);
    server_.set_pre_routing_handler(
        [this](const httplib::Request& request, httplib::Response& response) {
          answer(request, response);
          return httplib::Server::HandlerResponse::Handled;
        });
    errno = 0;
    port_ = port == 0 ? server_.bind_to_any_port(kLoopbackAddress) : port;
    if (port_ < 0 || (port != 0 && !server_.bind_to_port(kLoopbackAddress, port))) refuse(port);
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();  // stop() needs a running server
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  ~Listener() {
    is_stopping_ = true;
    server_.stop();
    thread_.join();
  }

  int port() const { return port_; }

 private:
  [[noreturn]] static void refuse(int port) {
    const int reason = errno;
    const auto address = text(kLoopbackAddress, ":", port);
    if (reason == EADDRINUSE) {
      throw Error(Exit::busy, text("--port ", port, ": another program listens on ", address,
                                   "; stop it, or take another port (0: a free one)"));
    }
    throw Error(Exit::io,
                text("--port ", port, ": cannot listen on ", address, ": ", std::strerror(reason)));
  }

  static void set_text(httplib::Response& response, int status, const char* message) {
    response.status = status;
    response.set_content(message, "text/plain");
  }

  void answer(const httplib::Request& request, httplib::Response& response) {
    response.set_header("Cache-Control", "no-store");
    response.set_header("X-Content-Type-Options", "nosniff");
    if (request.get_header_value_count("Host") > 1) {
      return set_text(response, 400, "the request must have the header Host once\n");
    }
    if (!is_loopback_host(request.get_header_value("Host"))) {
      return set_text(response, 403, "the Host must be localhost or 127.0.0.1\n");
    }
    if (request.method != "GET" && request.method != "HEAD") {
      response.set_header("Allow", "GET, HEAD");
      return set_text(response, 405, "wanted GET or HEAD\n");
    }
    if (request.path.size() > kMostHead) return set_text(response, 404, "no such page\n");
    if (request.path == "/events") return answer_events(response);
    try {
      const auto page = runs_.page(request.path);
      if (!page) return set_text(response, 404, "no such page\n");
      response.status = 200;
      response.set_content(*page, "text/html; charset=utf-8");
    } catch (const std::exception& error) {
      set_text(response, 500, text(error.what(), '\n').c_str());
    }
  }

  void answer_events(httplib::Response& response) {
    if (++streams_ > kMostStreams) {
      --streams_;
      return set_text(response, 503, "too many pages are open\n");
    }
    response.status = 200;
    auto last = std::make_shared<std::string>(runs_.signature());
    response.set_chunked_content_provider(
        "text/event-stream",
        [this, last](std::size_t offset, httplib::DataSink& sink) {
          return write_event(*last, offset == 0, sink);
        },
        [this](bool) { --streams_; });
  }

  /// Waits for a change and writes an event, or a comment from time to time, by which a closed
  /// connection is noticed. False: the stream ends.
  bool write_event(std::string& last, bool is_first, httplib::DataSink& sink) {
    const auto send = [&sink](const std::string& each) {
      return sink.write(each.data(), each.size());
    };
    if (is_first) return send("retry: 1000\n\n");
    for (int pause = 0; pause < kMostHeartbeat; ++pause) {
      for (auto waited = std::chrono::milliseconds(0); waited < kPause; waited += kSlice) {
        if (is_stopping_) return false;
        std::this_thread::sleep_for(kSlice);
      }
      if (!sink.is_writable()) return false;
      auto now = runs_.signature();
      if (now == last) continue;
      last = std::move(now);
      return send("event: change\ndata: 1\n\n");
    }
    return send(": no change\n\n");
  }

  WatchedRuns runs_;
  httplib::Server server_;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<int> streams_ = 0;
  int port_ = 0;
  std::thread thread_;
};

WatchServer::WatchServer(WatchedRuns runs, int port)
    : listener_(std::make_unique<Listener>(std::move(runs), port)) {}

WatchServer::~WatchServer() = default;

int WatchServer::port() const {
  return listener_->port();
}

}  // namespace evenkeel::watch
