// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/child.h"

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

extern char** environ;  // POSIX

namespace evenkeel::bench {

namespace {

/// Two ends of one line, of which no child inherits what is not its own.
std::array<int, 2> line_of() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw Error(Exit::io, text("no line to another process: ", std::strerror(errno)));
  }
  return ends;
}

/// Whether the process has ended within `seconds`.
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

/// The last line that says something; of a Python program that is its error.
std::string last_line(const std::filesystem::path& log) {
  std::ifstream in(log);
  std::string last;
  for (std::string line; std::getline(in, line);) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  }
  return last;
}

}  // namespace

Child::Child(const std::vector<std::string>& words, const std::filesystem::path& log)
    : name_(words.front()), log_(log) {
  const auto ends = line_of();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  std::vector<char*> argv;
  for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));  // NOLINT: C
  argv.push_back(nullptr);
  const int error = posix_spawnp(&process_, argv.front(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error == 0) line_ = fdopen(ends[0], "r");
  if (line_ == nullptr) {
    close(ends[0]);
    throw Error(Exit::io, text(name_, ": cannot be started: ", std::strerror(error)));
  }
}

Child::~Child() {
  constexpr double kPatience = 10;  // seconds
  std::fclose(line_);               // the end of its questions is its sign to end
  if (ends_within(process_, kPatience)) return;
  kill(process_, SIGKILL);
  ends_within(process_, kPatience);
}

void Child::fail(const std::string& what) const {
  const auto said = last_line(log_);
  throw Error(Exit::io, text(name_, ": ", what, said.empty() ? "" : "; its last words: ", said));
}

nlohmann::json Child::answer() {
  char* line = nullptr;
  std::size_t size = 0;
  const auto length = getline(&line, &size, line_);
  const std::unique_ptr<char, decltype(&std::free)> owner(line, &std::free);
  if (length <= 0) fail("ended before its time");
  auto json = nlohmann::json::parse(line, line + length, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) fail("gave an answer that is no JSON object");
  return json;
}

nlohmann::json Child::ask(const nlohmann::json& question) {
  const auto line = question.dump() + "\n";
  for (std::size_t sent = 0; sent < line.size();) {
    const auto now = send(fileno(line_), line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (now < 0 && errno != EINTR) fail("ended before its time");
    sent += now < 0 ? 0 : static_cast<std::size_t>(now);
  }
  return answer();
}

}  // namespace evenkeel::bench
