// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/serve/http_server.h"

#include <fcntl.h>
#include <httplib.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <sstream>
#include <thread>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/serve/completion_request.h"
#include "evenkeel/serve/connection.h"
#include "evenkeel/serve/request_error.h"
#include "evenkeel/serve/request_head.h"

namespace evenkeel::serve {

namespace {

constexpr const char* kLoopback = "127.0.0.1";
constexpr const char* kJson = "application/json";
constexpr std::chrono::milliseconds kGrace{1000};  // for the answers to interrupted requests
constexpr int kBacklog = 128;  // connections that wait for a thread; the library's 5 cost a second
constexpr std::size_t kMostLogged = 200;  // bytes of a request line
constexpr int kClientClosed = 499;        // nobody reads this status; it is for the log

using Clock = std::chrono::steady_clock;

/// True in the thread that accepts connections while it answers one because all others are in use.
thread_local bool is_overload = false;

/// A thread per connection, at most HttpServer::kMostConnections; further connections are answered
/// by the accepting thread, with is_overload.
class ConnectionThreads final : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> task) override {
    bool is_taken = false;
    try {
      is_taken = try_enqueue(task);
    } catch (const std::exception&) {
      is_taken = false;  // no thread can be created, or memory is short
    }
    if (is_taken) return;
    is_overload = true;
    task();
    is_overload = false;
  }

  void shutdown() override {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    changed_.notify_all();
    for (auto& each : threads_) each.join();
    threads_.clear();
  }

 private:
  bool try_enqueue(const std::function<void()>& task) {
    const std::lock_guard lock(mutex_);
    if (idle_ <= tasks_.size()) {
      if (threads_.size() >= HttpServer::kMostConnections) return false;
      threads_.emplace_back([this] { work(); });
      ++idle_;
    }
    tasks_.push_back(task);
    changed_.notify_one();
    return true;
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return is_stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const auto task = std::move(tasks_.front());
      tasks_.pop_front();
      --idle_;
      lock.unlock();
      task();
      lock.lock();
      ++idle_;
    }
  }

  std::mutex mutex_;  // of all that follows
  std::condition_variable changed_;
  std::vector<std::thread> threads_;
  std::deque<std::function<void()>> tasks_;
  std::size_t idle_ = 0;  // threads without a task
  bool is_stopping_ = false;
};

/// The request of one connection, and its answer. The library's handlers have no argument of ours.
struct Exchange {
  Connection* connection = nullptr;
  HttpLogEntry log{.method = "-", .path = "-"};
  bool has_job = false;
};
thread_local Exchange* current = nullptr;

void set_error(httplib::Response& response, const RequestError& error) {
  response.status = error.status();
  response.set_content(error.body().dump(), kJson);
}

/// Waits until a job has a status.
/// \return 0: the client has gone, and the job is cancelled
int status_of(Job& job, const Connection& connection) {
  constexpr std::chrono::milliseconds kSlice{50};
  for (;;) {
    if (const auto status = job.wait_for_status(kSlice)) return status;
    if (!connection.is_closed_by_client()) continue;
    job.cancel();
    return 0;
  }
}

/// Writes the events that a stream has. False: the client has gone.
bool write_events(Job& job, httplib::DataSink& sink) {
  constexpr std::chrono::milliseconds kSlice{50};
  const auto events = job.wait_for_events(kSlice);
  if (!events) {
    sink.done();
    return true;
  }
  if (events->empty() ? sink.is_writable() : sink.write(events->data(), events->size()))
    return true;
  job.cancel();
  return false;
}

/// Answers a request with the answer of a job, when it has one.
void set_answer(const std::shared_ptr<Job>& job, httplib::Response& response) {
  response.status = status_of(*job, *current->connection);
  if (response.status == 0) {
    response.status = kClientClosed;
    return;
  }
  if (!job->is_stream()) {
    current->log.tokens = job->tokens();
    return response.set_content(job->take_content(), kJson);
  }
  response.set_header("Cache-Control", "no-cache");
  response.set_chunked_content_provider(
      "text/event-stream",
      [job](std::size_t, httplib::DataSink& sink) { return write_events(*job, sink); },
      [job](bool is_complete) {
        if (!is_complete) job->cancel();
        if (current == nullptr) return;
        current->log.tokens = job->tokens();
        if (!is_complete) current->log.status = kClientClosed;
      });
}

void close_on_exec(int socket) {
  const int yes = 1;
  // Not SO_REUSEPORT, the library's default: a second server could share the port.
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
}

}  // namespace

/// The library's server with the limits of Connection.
class HttpServer::Listener final : public httplib::Server {
 public:
  Listener(int port, HttpService service) : service_(std::move(service)) {
    new_task_queue = [] { return new ConnectionThreads; };
    set_socket_options(close_on_exec);
    set_handlers();
    errno = 0;
    port_ = port == 0 ? bind_to_any_port(kLoopback) : port;
    if (port_ < 0 || (port != 0 && !bind_to_port(kLoopback, port))) refuse_port(port);
    ::listen(svr_sock_, kBacklog);
    thread_ = std::thread([this] {
      listen_after_bind();
      is_listening_ = false;
    });
  }

  ~Listener() override {
    const auto end = Clock::now() + kGrace;
    while (answering_ > 0 && Clock::now() < end) std::this_thread::sleep_for(kGrace / 100);
    is_stopping_ = true;
    while (!is_running() && is_listening_) std::this_thread::yield();  // stop() needs a running one
    stop();
    thread_.join();
  }

  int port() const { return port_; }
  bool is_listening() const { return is_listening_; }

 private:
  [[noreturn]] static void refuse_port(int port) {
    const int reason = errno;
    const auto address = text(kLoopback, ":", port);
    if (reason == EADDRINUSE) {
      throw evenkeel::Error(Exit::busy,
                            text("--serve ", port, ": another program listens on ", address,
                                 "; stop it, or take another port (0: a free one)"));
    }
    throw evenkeel::Error(Exit::io, text("--serve ", port, ": cannot listen on ", address, ": ",
                                         std::strerror(reason)));
  }

  void set_handlers() {
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      if (request.method == "POST") return HandlerResponse::Unhandled;
      try {
        const auto page = service_.page(request.path);
        response.status = page.status;
        response.set_content(page.content, page.content_type);
      } catch (const RequestError& error) {
        set_error(response, error);
      }
      return HandlerResponse::Handled;
    });
    for (const auto* const path : {"/v1/completions", "/tokenize", "/detokenize"}) {
      Post(path, [this](const httplib::Request& request, httplib::Response& response) {
        post(request, response);
      });
    }
    set_logger([](const httplib::Request&, const httplib::Response& response) {
      if (current != nullptr) current->log.status = response.status;
    });
    set_error_handler([](const httplib::Request&, httplib::Response& response) {
      const bool is_set = !response.body.empty() || response.status == kClientClosed;
      if (is_set || current == nullptr) return;
      set_error(response, limit_error(current->connection->limit_status()));
    });
  }

  void post(const httplib::Request& request, httplib::Response& response) {
    if (request.body.size() > kMaxBodyBytes) return set_error(response, limit_error(413));
    const auto job = std::make_shared<Job>(request.path, request.body);
    current->has_job = true;
    ++answering_;
    service_.post(job);
    set_answer(job, response);
  }

  /// Why the library could not read a body.
  static RequestError limit_error(int status) {
    if (status == 413) {
      return {413, text("the body must have at most ", kMaxBodyBytes, " bytes, but has more")};
    }
    if (status == 408) {
      return {408, text("the body must arrive within ", Connection::kBodyTime.count(), " s")};
    }
    return {400, "the body must have the length or the chunks that the headers promise"};
  }

  bool process_and_close_socket(socket_t sock) override {
    Connection connection(sock, is_stopping_);
    Exchange exchange{.connection = &connection};
    current = &exchange;
    const auto start = Clock::now();
    bool is_answered = false;
    try {
      is_answered = answer(exchange);
      const std::chrono::duration<double, std::milli> time = Clock::now() - start;
      exchange.log.milliseconds = time.count();
      if (is_answered) service_.log(exchange.log);
    } catch (const std::exception&) {
      is_answered = false;  // no memory for the answer: the connection is closed
    }
    current = nullptr;
    if (exchange.has_job) --answering_;
    if (is_answered && !is_overload) connection.finish();
    ::close(sock);
    return is_answered;
  }

  /// Answers the request of a connection. False: it has none.
  bool answer(Exchange& exchange) {
    try {
      if (is_overload) {
        throw RequestError(503, "too many connections are open; connect again later");
      }
      const auto head = exchange.connection->read_head();
      if (head.empty()) return false;
      answer_head(exchange, head);
    } catch (const RequestError& error) {
      refuse(exchange, error);
    } catch (const std::exception& error) {
      refuse(exchange, RequestError(500, error.what()));
    }
    return true;
  }

  void answer_head(Exchange& exchange, const std::string& head) {
    std::istringstream(head.substr(0, kMostLogged)) >> exchange.log.method >> exchange.log.path;
    exchange.log.path = exchange.log.path.substr(0, exchange.log.path.find('?'));
    const auto parsed = parse_request_head(head);
    exchange.connection->replay(parsed.normalized);
    bool is_closed = false;
    process_request(*exchange.connection, /*close_connection=*/true, is_closed, [](auto&) {});
  }

  /// Writes the answer to a request that the library does not see.
  static void refuse(Exchange& exchange, const RequestError& error) {
    exchange.log.status = error.status();
    const auto content = error.body().dump();
    const auto allowed = methods_of(exchange.log.path);
    const auto allow = error.status() == 405 ? text("Allow: ", allowed, "\r\n") : "";
    exchange.connection->write_all(text(
        "HTTP/1.1 ", error.status(), " ", reason_phrase(error.status()), "\r\n", allow,
        "Content-Type: ", kJson, "\r\nConnection: close\r\n", "Content-Length: ", content.size(),
        "\r\n\r\n", exchange.log.method == "HEAD" ? "" : content));
  }

  HttpService service_;
  int port_ = 0;
  std::atomic<int> answering_ = 0;  // exchanges with a job
  std::atomic<bool> is_stopping_ = false;
  std::atomic<bool> is_listening_ = true;
  std::thread thread_;
};

HttpServer::HttpServer(int port, HttpService service)
    : listener_(std::make_unique<Listener>(port, std::move(service))) {}

HttpServer::~HttpServer() = default;

int HttpServer::port() const {
  return listener_->port();
}

bool HttpServer::is_listening() const {
  return listener_->is_listening();
}

}  // namespace evenkeel::serve
