// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/serve/request_head.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>

#include "evenkeel/serve/completion_request.h"
#include "evenkeel/serve/request_error.h"

namespace evenkeel::serve {

namespace {

constexpr std::string_view kGet = "GET, HEAD";
constexpr std::string_view kPost = "POST";

/// Headers by their names in lower case.
using Headers = std::multimap<std::string, std::string>;

[[noreturn]] void refuse_head(const std::string& reason) {
  throw RequestError(400, "the request " + reason);
}

bool is_token_character(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= '0' && byte <= '9') return true;
  const auto letter = byte | 0x20U;
  if (letter >= 'a' && letter <= 'z') return true;
  return std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

/// RFC 9110, section 5.6.2.
bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_character);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (auto& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// The next line of `rest`, which ends with CR LF.
std::string_view next_line(std::string_view& rest) {
  const auto end = rest.find("\r\n");
  if (end == std::string_view::npos) refuse_head("must have lines that end with CR LF");
  const auto line = rest.substr(0, end);
  rest.remove_prefix(end + 2);
  return line;
}

RequestHead request_line(std::string_view line) {
  const auto first = line.find(' ');
  const auto last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    refuse_head("must begin with METHOD PATH HTTP/1.1");
  }
  const auto version = line.substr(last + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") refuse_head("must be HTTP/1.1");
  const auto target = line.substr(first + 1, last - first - 1);
  const bool is_visible =
      std::all_of(target.begin(), target.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (!target.starts_with('/') || !is_visible || target.size() > kMaxTargetBytes) {
    refuse_head(text("must have a path that starts with / and has at most ", kMaxTargetBytes,
                     " visible ASCII characters"));
  }
  RequestHead head{.method = std::string(line.substr(0, first)),
                   .path = std::string(target.substr(0, target.find_first_of("?#")))};
  if (!is_token(head.method)) refuse_head("must begin with a method");
  return head;
}

Headers headers_of(std::string_view rest) {
  Headers headers;
  for (auto line = next_line(rest); !line.empty(); line = next_line(rest)) {
    const auto colon = line.find(':');
    const auto name = line.substr(0, colon);
    if (colon == std::string_view::npos || !is_token(name)) {
      refuse_head("must have headers of the form NAME: VALUE");
    }
    const auto value = trimmed(line.substr(colon + 1));
    const bool is_clean = std::all_of(value.begin(), value.end(), [](char c) {
      const auto byte = static_cast<unsigned char>(c);
      return (byte >= 0x20 && byte != 0x7f) || byte == '\t';
    });
    if (!is_clean) refuse_head("must have headers without control characters");
    headers.emplace(lower(name), value);
    if (headers.size() > kMaxHeaders)
      refuse_head(text("must have at most ", kMaxHeaders, " headers"));
  }
  return headers;
}

/// The value of a header that may occur once; empty if it is absent.
std::string single(const Headers& headers, const std::string& name) {
  if (headers.count(name) > 1) refuse_head("must have the header " + name + " once");
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

void check_host(const Headers& headers) {
  const auto host = lower(single(headers, "host"));
  const auto colon = host.rfind(':');
  const bool has_port = colon != std::string::npos && host.find(']', colon) == std::string::npos;
  const auto name = has_port ? host.substr(0, colon) : host;
  const bool is_number =
      !has_port || std::all_of(host.begin() + static_cast<std::ptrdiff_t>(colon) + 1, host.end(),
                               [](char c) { return c >= '0' && c <= '9'; });
  if (is_number && (name == "localhost" || name == "127.0.0.1" || name == "[::1]")) return;
  throw RequestError(403, text("the header Host must be localhost, 127.0.0.1 or [::1], but is \"",
                               quoted(host), "\""));
}

void check_route(const RequestHead& head) {
  const auto methods = methods_of(head.path);
  if (methods.empty()) {
    throw RequestError(404, text("no page is named ", quoted(head.path),
                                 "; GET / lists the pages of this server"));
  }
  const bool is_known =
      methods == kPost ? head.method == "POST" : head.method == "GET" || head.method == "HEAD";
  if (is_known) return;
  throw RequestError(405, text(quoted(head.path), ": the method must be ", methods, ", but is ",
                               quoted(head.method)));
}

/// Checks Content-Length and Transfer-Encoding of a POST; the header lines of the body.
std::string framing_of(const Headers& headers) {
  const auto length = single(headers, "content-length");
  const auto transfer = lower(single(headers, "transfer-encoding"));
  if (!length.empty() && !transfer.empty()) {
    refuse_head("must have Content-Length or Transfer-Encoding, but has both");
  }
  if (!transfer.empty()) {
    if (transfer != "chunked") refuse_head("must have the Transfer-Encoding chunked");
    return "Transfer-Encoding: chunked\r\n";
  }
  if (length.empty()) throw RequestError(411, "the request must have a Content-Length");
  std::uint64_t bytes = 0;
  const auto* const end = length.data() + length.size();
  const auto parsed = std::from_chars(length.data(), end, bytes);
  const bool is_large = parsed.ec == std::errc::result_out_of_range || bytes > kMaxBodyBytes;
  if (parsed.ec == std::errc::invalid_argument || parsed.ptr != end) {
    refuse_head("must have a number as Content-Length");
  }
  if (is_large) {
    throw RequestError(413, text("the body must have at most ", kMaxBodyBytes, " bytes, but has ",
                                 quoted(length)));
  }
  return "Content-Length: " + std::to_string(bytes) + "\r\n";
}

void check_content(const Headers& headers) {
  const auto type = single(headers, "content-type");
  if (lower(trimmed(std::string_view(type).substr(0, type.find(';')))) != "application/json") {
    throw RequestError(415, text("the header Content-Type must be application/json, but is \"",
                                 quoted(type), "\""));
  }
  const auto encoding = lower(single(headers, "content-encoding"));
  if (encoding.empty() || encoding == "identity") return;
  throw RequestError(415, "the body must not be compressed; leave Content-Encoding out");
}

}  // namespace

std::string_view methods_of(std::string_view path) {
  if (path == "/v1/completions" || path == "/tokenize" || path == "/detokenize") return kPost;
  if (path == "/" || path == "/health" || path == "/v1/models" || path == "/tokenizer_info") {
    return kGet;
  }
  constexpr std::string_view kModel = "/v1/models/";
  return path.starts_with(kModel) && path.size() > kModel.size() ? kGet : "";
}

RequestHead parse_request_head(std::string_view head) {
  auto rest = head;
  auto out = request_line(next_line(rest));
  const auto headers = headers_of(rest);
  check_host(headers);
  check_route(out);
  out.normalized = out.method + " " + out.path + " HTTP/1.1\r\n";
  if (out.method == "POST") {
    check_content(headers);
    out.normalized += framing_of(headers) + "Content-Type: application/json\r\n";
    if (lower(single(headers, "expect")) == "100-continue") {
      out.normalized += "Expect: 100-continue\r\n";
    }
  }
  out.normalized += "Connection: close\r\n\r\n";
  return out;
}

}  // namespace evenkeel::serve
