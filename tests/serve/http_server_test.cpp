// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/serve/http_server.h"

#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/serve/request_error.h"

namespace evenkeel::serve {
namespace {

/// A server that computes nothing: a thread answers each POST with its body.
class EchoServer {
 public:
  EchoServer()
      : http_(0, {.page = [](const std::string& path) { return page(path); },
                  .post = [this](const std::shared_ptr<Job>& job) { queue_.push(job); },
                  .log = [this](const HttpLogEntry& entry) { add(entry); }}),
        computing_([this] { compute(); }) {}

  ~EchoServer() {
    is_stopping_ = true;
    computing_.join();
  }

  int port() const { return http_.port(); }
  httplib::Client client() const { return httplib::Client("127.0.0.1", port()); }

  std::vector<HttpLogEntry> log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

 private:
  static HttpPage page(const std::string& path) {
    if (path == "/health") throw RequestError(404, "gone");
    return {.content_type = "text/plain", .content = "page " + path};
  }

  void add(const HttpLogEntry& entry) {
    const std::lock_guard lock(mutex_);
    log_.push_back(entry);
  }

  void compute() {
    while (!is_stopping_) {
      const auto job = queue_.pop(std::chrono::milliseconds(5));
      if (job == nullptr) continue;
      if (job->path() != "/tokenize") {
        job->answer(200, job->body(), 7);
        continue;
      }
      job->begin_stream();
      for (int i = 0; i < 3; ++i) job->add_event(job->body());
      job->end_stream(3);
    }
    queue_.close();
  }

  JobQueue queue_;
  std::mutex mutex_;
  std::vector<HttpLogEntry> log_;
  std::atomic<bool> is_stopping_ = false;
  HttpServer http_;
  std::thread computing_;
};

TEST(HttpServer, AnswersPagesAndJobs) {
  EchoServer server;
  auto client = server.client();
  EXPECT_EQ(client.Get("/v1/models")->body, "page /v1/models");
  EXPECT_EQ(client.Get("/health")->status, 404);
  const auto whole = client.Post("/v1/completions", "{\"a\": 1}", "application/json");
  EXPECT_EQ(whole->status, 200);
  EXPECT_EQ(whole->body, "{\"a\": 1}");
  EXPECT_EQ(whole->get_header_value("Connection"), "close");
  const auto stream = client.Post("/tokenize", "x", "application/json");
  EXPECT_EQ(stream->get_header_value("Content-Type"), "text/event-stream");
  EXPECT_EQ(stream->body, "data: x\n\ndata: x\n\ndata: x\n\n");
  EXPECT_EQ(client.Put("/v1/completions", "x", "application/json")->status, 405);
}

// Of the library, and of refusals that it does not see.
TEST(HttpServer, NamesTheReasonOfARefusal) {
  EchoServer server;
  auto client = server.client();
  EXPECT_EQ(client.Get("/health")->reason, "Not Found");
  EXPECT_EQ(client.Get("/nothing")->reason, "Not Found");
  EXPECT_EQ(client.Put("/v1/completions", "x", "application/json")->reason, "Method Not Allowed");
  EXPECT_EQ(client.Post("/v1/completions", "x", "text/plain")->reason, "Unsupported Media Type");
  const httplib::Headers other_host = {{"Host", "evil.example"}};
  EXPECT_EQ(client.Get("/health", other_host)->reason, "Forbidden");
}

TEST(HttpServer, LogsEachRequestOnce) {
  EchoServer server;
  auto client = server.client();
  client.Get("/nothing?a=b");
  client.Post("/v1/completions", "{}", "application/json");
  client.Post("/tokenize", "{}", "application/json");
  while (server.log().size() < 3) std::this_thread::yield();
  std::map<std::string, HttpLogEntry> log;
  for (const auto& each : server.log()) log[each.path] = each;
  ASSERT_EQ(log.size(), 3u);
  EXPECT_EQ(log["/nothing"].status, 404);
  EXPECT_EQ(log["/v1/completions"].method, "POST");
  EXPECT_EQ(log["/v1/completions"].tokens, 7);
  EXPECT_EQ(log["/tokenize"].tokens, 3);
}

TEST(HttpServer, AnswersManyClientsAtOnce) {
  EchoServer server;
  std::atomic<int> good = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 16; ++i) {
    clients.emplace_back([&, i] {
      auto client = server.client();
      for (int j = 0; j < 5; ++j) {
        const auto body = "{\"n\": " + std::to_string(10 * i + j) + "}";
        const auto result = client.Post("/v1/completions", body, "application/json");
        good += result && result->status == 200 && result->body == body ? 1 : 0;
      }
    });
  }
  for (auto& each : clients) each.join();
  EXPECT_EQ(good, 80);
}

TEST(HttpServer, RefusesAPortInUse) {
  const EchoServer server;
  try {
    const HttpServer second(server.port(), {});
    FAIL() << "two servers share a port";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::busy);
  }
}

TEST(HttpServer, StopsWhileClientsAreConnected) {
  std::vector<std::thread> asking;
  {
    EchoServer server;
    for (int i = 0; i < 8; ++i) {
      asking.emplace_back([port = server.port()] {
        httplib::Client client("127.0.0.1", port);
        while (client.Get("/")) {
        }
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  for (auto& each : asking) each.join();
}

}  // namespace
}  // namespace evenkeel::serve
