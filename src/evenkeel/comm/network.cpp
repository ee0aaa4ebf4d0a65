// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/network.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>

#include "evenkeel/base/error.h"

namespace evenkeel::comm {

namespace {

/// The text form of a socket address; empty if it has none.
std::string address_text(const sockaddr* address, socklen_t size) {
  std::array<char, NI_MAXHOST> host{};
  const int error =
      getnameinfo(address, size, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? host.data() : "";
}

socklen_t size_of(const sockaddr& address) {
  return address.sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

using Interfaces = std::unique_ptr<ifaddrs, decltype(&freeifaddrs)>;

Interfaces network_interfaces() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) list = nullptr;
  return {list, &freeifaddrs};
}

bool has_address(const ifaddrs& interface) {
  if (interface.ifa_addr == nullptr) return false;
  const auto family = interface.ifa_addr->sa_family;
  return family == AF_INET || family == AF_INET6;
}

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

/// The addresses of a name; null if it has none.
AddressList addresses_of(const std::string& host, std::uint16_t port, int socket_type) {
  addrinfo hints{};
  hints.ai_socktype = socket_type;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) found = nullptr;
  return {found, &freeaddrinfo};
}

/// Connects and closes again.
bool accepts(const addrinfo& to) {
  const int fd = socket(to.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const timeval limit{.tv_sec = 1, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);  // also the limit of connect
  const bool is_accepted = connect(fd, to.ai_addr, to.ai_addrlen) == 0;
  close(fd);
  return is_accepted;
}

/// The address of this machine on the path to `to`: that of a connected datagram socket.
std::string local_address(const addrinfo& to) {
  const int fd = socket(to.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return "";
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  auto* const address = reinterpret_cast<sockaddr*>(&own);  // NOLINT: C
  const bool is_known =
      connect(fd, to.ai_addr, to.ai_addrlen) == 0 && getsockname(fd, address, &size) == 0;
  close(fd);
  return is_known ? address_text(address, size) : "";
}

}  // namespace

Route route_to(const std::string& host, std::uint16_t port) {
  const auto list = addresses_of(host, port, SOCK_DGRAM);
  for (const auto* each = list.get(); each != nullptr; each = each->ai_next) {
    auto local = local_address(*each);
    if (!local.empty()) return {std::move(local), address_text(each->ai_addr, each->ai_addrlen)};
  }
  return {};
}

bool accepts_connections(const std::string& host, std::uint16_t port) {
  const auto list = addresses_of(host, port, SOCK_STREAM);
  for (const auto* each = list.get(); each != nullptr; each = each->ai_next) {
    if (accepts(*each)) return true;
  }
  return false;
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

std::string interface_of(const std::string& address) {
  const auto list = network_interfaces();
  for (const auto* each = list.get(); each != nullptr; each = each->ifa_next) {
    if (has_address(*each) && address_text(each->ifa_addr, size_of(*each->ifa_addr)) == address)
      return each->ifa_name;
  }
  return address;
}

std::vector<std::string> interfaces() {
  std::set<std::string> names;
  const auto list = network_interfaces();
  for (const auto* each = list.get(); each != nullptr; each = each->ifa_next) {
    if (has_address(*each)) names.insert(each->ifa_name);
  }
  return {names.begin(), names.end()};
}

ListeningSocket listen_on_loopback() {
  ListeningSocket out;
  out.fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);  // NOLINT: C
  const bool listens = out.fd >= 0 && bind(out.fd, any, size) == 0 &&
                       listen(out.fd, SOMAXCONN) == 0 && getsockname(out.fd, any, &size) == 0;
  if (!listens)
    throw Error(Exit::busy,
                text("--ranks: no port of this machine can be opened: ", std::strerror(errno)));
  out.port = ntohs(address.sin_port);
  return out;
}

}  // namespace evenkeel::comm
