// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/serve/request_head.h"

#include <gtest/gtest.h>

#include "serve/request_refusal.h"

namespace evenkeel::serve {
namespace {

const std::string kHost = "Host: localhost:8000\r\n";
const std::string kPost = "POST /v1/completions HTTP/1.1\r\n" + kHost;
const std::string kJson = "Content-Type: application/json\r\n";

std::string refused_head(const std::string& head) {
  return testing::request_refusal([&] { parse_request_head(head); });
}

TEST(RequestHead, KeepsOnlyTheHeadersThatTheServerUses) {
  const auto head = parse_request_head(
      "POST /v1/completions?a=b HTTP/1.1\r\nHOST: 127.0.0.1:8000\r\nUser-Agent: x\r\nRange: "
      "bytes=0-1\r\nAccept-Encoding: gzip\r\ncontent-type: application/json; charset=utf-8\r\n"
      "Content-Length: 0017\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.path, "/v1/completions");
  EXPECT_EQ(head.normalized,
            "POST /v1/completions HTTP/1.1\r\nContent-Length: 17\r\nContent-Type: "
            "application/json\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n");
}

TEST(RequestHead, IgnoresTheBodyOfAGet) {
  EXPECT_EQ(parse_request_head("HEAD /health HTTP/1.0\r\n" + kHost + "Content-Length: 9\r\n\r\n")
                .normalized,
            "HEAD /health HTTP/1.1\r\nConnection: close\r\n\r\n");
}

TEST(RequestHead, AcceptsTheNamesOfTheLoopbackOnly) {
  for (const auto* const host :
       {"localhost", "LOCALHOST:1", "127.0.0.1:65535", "127.0.0.1", "[::1]", "[::1]:80"}) {
    EXPECT_EQ(refused_head("GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n"),
              "accepted");
  }
  for (const auto* const host :
       {"evil.example", "localhost.evil.example", "127.0.0.1.nip.io:80", "localhost:80x", "[::2]",
        "0.0.0.0", "", "localhost:80@evil.example", "127.0.0.1, evil.example"}) {
    EXPECT_EQ(refused_head("GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n"),
              "403 the header Host must be localhost, 127.0.0.1 or [::1], but is \"" +
                  std::string(host) + "\"");
  }
  EXPECT_EQ(refused_head("GET / HTTP/1.1\r\n\r\n"),
            "403 the header Host must be localhost, 127.0.0.1 or [::1], but is \"\"");
  EXPECT_EQ(refused_head("GET / HTTP/1.1\r\n" + kHost + kHost + "\r\n"),
            "400 the request must have the header host once");
}

TEST(RequestHead, NamesPathsAndMethodsThatItDoesNotHave) {
  EXPECT_EQ(refused_head("GET /../../etc/passwd HTTP/1.1\r\n" + kHost + "\r\n"),
            "404 no page is named /../../etc/passwd; GET / lists the pages of this server");
  EXPECT_EQ(refused_head("GET /%2e%2e/ HTTP/1.1\r\n" + kHost + "\r\n").substr(0, 4), "404 ");
  EXPECT_EQ(refused_head("GET /v1/models/ HTTP/1.1\r\n" + kHost + "\r\n").substr(0, 4), "404 ");
  EXPECT_EQ(refused_head("PUT /v1/completions HTTP/1.1\r\n" + kHost + "\r\n"),
            "405 /v1/completions: the method must be POST, but is PUT");
  EXPECT_EQ(refused_head("OPTIONS /v1/models HTTP/1.1\r\n" + kHost + "\r\n"),
            "405 /v1/models: the method must be GET, HEAD, but is OPTIONS");
}

TEST(RequestHead, RefusesWhatIsNoHttp) {
  const std::string form = "400 the request must begin with METHOD PATH HTTP/1.1";
  EXPECT_EQ(refused_head("\r\n\r\n"), form);
  EXPECT_EQ(refused_head("GET /\r\n\r\n"), form);
  EXPECT_EQ(refused_head("GET / HTTP/2\r\n\r\n"), "400 the request must be HTTP/1.1");
  EXPECT_EQ(refused_head("GET / HTTP/1.1\nHost: localhost\n\n"),
            "400 the request must have lines that end with CR LF");
  const auto path =
      "400 the request must have a path that starts with / and has at most 2048 visible ASCII "
      "characters";
  for (const auto& target : {std::string("x"), std::string("http://a/"), std::string("/a b"),
                             "/" + std::string(2048, 'a'), std::string("/\xc3\xa9")}) {
    EXPECT_EQ(refused_head("GET " + target + " HTTP/1.1\r\n" + kHost + "\r\n"), path) << target;
  }
  const std::string named = "400 the request must have headers of the form NAME: VALUE";
  for (const auto* const line : {" folded", "no colon", "a b: c", ": c", "Host : localhost"}) {
    EXPECT_EQ(refused_head("GET / HTTP/1.1\r\n" + kHost + line + "\r\n\r\n"), named) << line;
  }
  EXPECT_EQ(refused_head("GET / HTTP/1.1\r\n" + kHost + "A: \x1b[2J\r\n\r\n"),
            "400 the request must have headers without control characters");
  std::string many;
  for (int i = 0; i < 101; ++i) many += "A: b\r\n";
  EXPECT_EQ(refused_head("GET / HTTP/1.1\r\n" + many + "\r\n"),
            "400 the request must have at most 100 headers");
}

TEST(RequestHead, ChecksTheFramingOfABody) {
  const auto post = [](const std::string& lines) {
    return refused_head(kPost + kJson + lines + "\r\n");
  };
  EXPECT_EQ(post("Content-Length: 4194304\r\n"), "accepted");
  EXPECT_EQ(post("Transfer-Encoding: Chunked\r\n"), "accepted");
  EXPECT_EQ(post(""), "411 the request must have a Content-Length");
  EXPECT_EQ(post("Content-Length: 4194305\r\n"),
            "413 the body must have at most 4194304 bytes, but has 4194305");
  EXPECT_EQ(post("Content-Length: 99999999999999999999\r\n").substr(0, 3), "413");
  for (const auto* const length : {"-1", "+1", "1x", "0x10", "1, 1"}) {
    EXPECT_EQ(post("Content-Length: " + std::string(length) + "\r\n"),
              "400 the request must have a number as Content-Length");
  }
  EXPECT_EQ(post("Content-Length: 1\r\nContent-Length: 2\r\n"),
            "400 the request must have the header content-length once");
  EXPECT_EQ(post("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
            "400 the request must have Content-Length or Transfer-Encoding, but has both");
  EXPECT_EQ(post("Transfer-Encoding: gzip, chunked\r\n"),
            "400 the request must have the Transfer-Encoding chunked");
}

// A page of another origin can send other types without asking first.
TEST(RequestHead, TakesJsonOnly) {
  EXPECT_EQ(refused_head(kPost + "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n"),
            "415 the header Content-Type must be application/json, but is \"text/plain\"");
  EXPECT_EQ(refused_head(kPost + kJson + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n"),
            "415 the body must not be compressed; leave Content-Encoding out");
}

}  // namespace
}  // namespace evenkeel::serve
