// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/subprocess.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <thread>

#include "evenkeel/base/error.h"
#include "evenkeel/base/json_parser.h"

extern char** environ;  // POSIX

namespace evenkeel::bench {

namespace {

/// Creates a socket pair with close-on-exec.
std::array<int, 2> socket_pair() {
  std::array<int, 2> sockets{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    throw Error(Exit::io, text("no line to another process: ", std::strerror(errno)));
  }
  return sockets;
}

/// True if the process exits within `seconds`.
bool ends_within(pid_t process, double seconds) {
  constexpr auto kPause = std::chrono::milliseconds(10);
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::duration<double>(seconds)) {
    int status = 0;
    const auto ended = waitpid(process, &status, WNOHANG);
    if (ended == process || (ended < 0 && errno != EINTR)) return true;
    std::this_thread::sleep_for(kPause);
  }
  return false;
}

/// The last line that is not blank. In Python's standard error, this is the error message.
std::string last_nonblank_line(const std::filesystem::path& log) {
  std::ifstream in(log);
  std::string last;
  for (std::string line; std::getline(in, line);) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  }
  return last;
}

}  // namespace

Subprocess::Subprocess(const std::vector<std::string>& command, const std::filesystem::path& log)
    : name_(command.front()), log_(log) {
  const auto sockets = socket_pair();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, sockets[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, sockets[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  std::vector<char*> argv;
  for (const auto& argument : command)
    argv.push_back(const_cast<char*>(argument.c_str()));  // NOLINT: C
  argv.push_back(nullptr);
  const int error = posix_spawnp(&process_, argv.front(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(sockets[1]);
  if (error == 0) socket_ = fdopen(sockets[0], "r");
  if (socket_ == nullptr) {
    close(sockets[0]);
    throw Error(Exit::io, text(name_, ": cannot be started: ", std::strerror(error)));
  }
}

Subprocess::~Subprocess() {
  constexpr double kTimeout = 10;  // seconds
  std::fclose(socket_);            // the process exits at the end of its input
  if (ends_within(process_, kTimeout)) return;
  kill(process_, SIGKILL);
  ends_within(process_, kTimeout);
}

void Subprocess::fail(const std::string& what) const {
  const auto error_line = last_nonblank_line(log_);
  throw Error(Exit::io,
              text(name_, ": ", what, error_line.empty() ? "" : "; its last words: ", error_line));
}

nlohmann::json Subprocess::read_reply() {
  char* line = nullptr;
  std::size_t size = 0;
  const auto length = getline(&line, &size, socket_);
  const std::unique_ptr<char, decltype(&std::free)> owner(line, &std::free);
  if (length <= 0) fail("ended before its time");
  auto json = parse_json({line, static_cast<std::size_t>(length)});
  if (!json.is_object()) fail("gave an answer that is no JSON object");
  return json;
}

nlohmann::json Subprocess::request(const nlohmann::json& question) {
  const auto line = question.dump() + "\n";
  for (std::size_t written = 0; written < line.size();) {
    const auto now =
        send(fileno(socket_), line.data() + written, line.size() - written, MSG_NOSIGNAL);
    if (now < 0 && errno != EINTR) fail("ended before its time");
    written += now < 0 ? 0 : static_cast<std::size_t>(now);
  }
  return read_reply();
}

}  // namespace evenkeel::bench
