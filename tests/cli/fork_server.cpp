// SPDX-License-Identifier: Apache-2.0
// Preloaded into the program (LD_PRELOAD): main() does not run at once, but in a fork for each
// command line that arrives. Loading LibTorch takes most of the time of a short command; this way
// it happens once. The client is fork_server.py. A request is one message: the folder, the number
// of arguments, the arguments and the environment, each ended by a zero byte; with it come four
// descriptors: standard input, output and error, and a socket that gets the process number and, at
// its end, the wait status.
#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

using Main = int (*)(int, char**, char**);

constexpr std::size_t kMostBytes = 1 << 20;

Main real_main = nullptr;
int requests = -1;  ///< the socket where they arrive

/// How a process ended, as fork_server.py reads it.
struct ExitReport {
  std::int64_t status = 0;       ///< as of wait()
  std::int64_t maximum_rss = 0;  ///< KiB
};

struct Request {
  std::vector<char*> strings;  ///< into the message
  std::array<int, 4> descriptors{};
};

/// Waits for a request. Ends the process when the other side has closed the socket.
Request next_request(std::vector<char>& message) {
  message.assign(kMostBytes, 0);
  iovec part{.iov_base = message.data(), .iov_len = message.size() - 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(Request::descriptors))> control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const auto got = recvmsg(requests, &header, 0);
  if (got <= 0 || CMSG_FIRSTHDR(&header) == nullptr) _exit(0);
  Request request;
  std::memcpy(request.descriptors.data(), CMSG_DATA(CMSG_FIRSTHDR(&header)),
              sizeof(request.descriptors));
  for (char* at = message.data(); at < message.data() + got; at += std::strlen(at) + 1)
    request.strings.push_back(at);
  return request;
}

/// Runs main() in this process, a fork, and ends it.
[[noreturn]] void run(const Request& request) {
  for (int each = 0; each < 3; ++each) dup2(request.descriptors.at(each), each);
  for (const int each : request.descriptors) close(each);
  close(requests);
  const auto* strings = request.strings.data();
  if (chdir(strings[0]) != 0) _exit(126);
  const int count = std::stoi(strings[1]);
  std::vector<char*> arguments(strings + 2, strings + 2 + count);
  std::vector<char*> environment(strings + 2 + count, strings + request.strings.size());
  arguments.push_back(nullptr);
  environment.push_back(nullptr);
  environ = environment.data();
  std::exit(real_main(count, arguments.data(), environ));
}

/// Forks main(), and sends its process number and how it ended. Sends less if the system cannot.
[[noreturn]] void run_and_report(const Request& request) {
  std::signal(SIGCHLD, SIG_DFL);
  const pid_t child = fork();
  if (child == 0) run(request);
  const int status_socket = request.descriptors[3];
  if (child < 0 || write(status_socket, &child, sizeof child) != sizeof child) _exit(1);
  int status = 0;
  rusage usage{};
  pid_t ended = 0;
  do {
    ended = wait4(child, &status, 0, &usage);
  } while (ended < 0 && errno == EINTR);
  if (ended != child) _exit(1);
  const ExitReport report{.status = status, .maximum_rss = usage.ru_maxrss};
  _exit(write(status_socket, &report, sizeof report) == sizeof report ? 0 : 1);
}

int serve(int /*count*/, char** /*arguments*/, char** /*environment*/) {
  requests = std::stoi(std::getenv("EVENKEEL_FORK_SOCKET"));
  std::signal(SIGCHLD, SIG_IGN);
  std::vector<char> message;
  while (true) {
    const auto request = next_request(message);
    if (fork() == 0) run_and_report(request);
    for (const int each : request.descriptors) close(each);
  }
}

}  // namespace

/// Replaces the function of the C library that calls main().
extern "C" int __libc_start_main(Main main, int count, char** arguments, void (*init)(),
                                 void (*fini)(), void (*rtld_fini)(), void* stack_end) {
  using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  real_main = main;
  const auto start = reinterpret_cast<Start>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return start(serve, count, arguments, init, fini, rtld_fini, stack_end);
}
