// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace evenkeel::serve {

inline constexpr std::size_t kMaxHeadBytes = std::size_t{16} << 10;
inline constexpr std::size_t kMaxHeaders = 100;
inline constexpr std::size_t kMaxTargetBytes = 2048;

/// The request line and the headers of an HTTP request.
struct RequestHead {
  std::string method;  // "GET"
  std::string path;    // without a query
  /// The request line and the headers that the server uses; all others are left out.
  std::string normalized;
};

/// Reads and checks the head of a request, before a library sees it. These requests are refused:
///
/// | request                                                          | status |
/// | ---------------------------------------------------------------- | ------ |
/// | a head that is not HTTP/1.0 or 1.1, or exceeds a limit           | 400    |
/// | a Host other than localhost, 127.0.0.1 and [::1] (DNS rebinding) | 403    |
/// | a path that no route has                                         | 404    |
/// | a method that the path does not have                             | 405    |
/// | POST without Content-Length and without Transfer-Encoding        | 411    |
/// | Content-Length above kMaxBodyBytes                               | 413    |
/// | POST with another Content-Type than application/json, or with a Content-Encoding | 415 |
///
/// A page of another origin can send a POST with a Content-Type of its own only after a request
/// with the method OPTIONS, which has the status 405.
/// \param head  with the empty line at its end
/// \throws RequestError
RequestHead parse_request_head(std::string_view head);

/// The methods of a path, for the header Allow: "GET, HEAD" or "POST"; empty: no route has the
/// path.
std::string_view methods_of(std::string_view path);

}  // namespace evenkeel::serve
