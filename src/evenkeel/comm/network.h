// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace evenkeel::comm {

/// Both ends of a path through the network, as IP addresses in text form.
struct Route {
  std::string local;   // the address of this machine on the path
  std::string remote;  // what the name of the other machine means here
};

/// The path to a machine. Sends nothing.
/// \param host  a name or an address
/// \return empty addresses if there is none
Route route_to(const std::string& host, std::uint16_t port);

/// Whether a server listens there. Waits up to 1 s.
/// \param host  a name or an address
bool accepts_connections(const std::string& host, std::uint16_t port);

/// True for 127.0.0.0/8 and ::1, which other machines cannot reach.
bool is_loopback(const std::string& address);

/// The name of the interface with this address: "eth0"; the address itself if there is none.
std::string interface_of(const std::string& address);

/// The names of the interfaces that have an address, each once, sorted.
std::vector<std::string> interfaces();

/// A listening TCP socket on a free port of the loopback interface, inherited by child processes.
struct ListeningSocket {
  int fd = -1;
  std::uint16_t port = 0;
};
/// \throws Error (busy, exit code 75) if there is no free port or descriptor
ListeningSocket listen_on_loopback();

}  // namespace evenkeel::comm
