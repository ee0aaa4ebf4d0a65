// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/worker.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"

namespace evenkeel::study {

namespace {

constexpr int kBySignal = 128;  // as shells say it

int code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : kBySignal + WTERMSIG(status);
}

/// In the new process: nothing but calls that are allowed between fork and exec. Signals are
/// blocked until our handlers, which only note them, are gone.
[[noreturn]] void become(char* const* words, int log, pid_t parent, const sigset_t& signals) {
  ::setpgid(0, 0);
  ::signal(SIGTERM, SIG_DFL);
  ::signal(SIGINT, SIG_DFL);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  if (::getppid() != parent) ::_exit(static_cast<int>(Exit::stopped));  // it died just now
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::execv(words[0], words);
  ::_exit(static_cast<int>(Exit::internal));
}

}  // namespace

Worker::Worker(const std::vector<std::string>& words, const std::filesystem::path& log) {
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) throw Error(Exit::io, text(log.string(), ": cannot write: ", std::strerror(errno)));
  std::vector<char*> pointers;
  for (const auto& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  const auto parent = ::getpid();
  sigset_t all, before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  process_ = ::fork();
  if (process_ == 0) become(pointers.data(), file, parent, before);
  const int error = errno;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  ::close(file);
  if (process_ < 0) {
    throw Error(Exit::io, text(words.front(), ": no process can be made: ", std::strerror(error)));
  }
}

Worker::Worker(Worker&& other) noexcept
    : process_(std::exchange(other.process_, -1)), stopped_(other.stopped_) {}

Worker& Worker::operator=(Worker&& other) noexcept {
  std::swap(process_, other.process_);
  std::swap(stopped_, other.stopped_);
  return *this;
}

Worker::~Worker() {
  stop();
  if (process_ > 0) ::waitpid(process_, nullptr, 0);
}

std::optional<int> Worker::ended() {
  int status = 0;
  if (process_ <= 0) return std::nullopt;
  if (::waitpid(process_, &status, WNOHANG) != process_) return std::nullopt;
  process_ = -1;
  return code_of(status);
}

void Worker::stop() {
  if (process_ <= 0 || std::exchange(stopped_, true)) return;
  ::kill(process_, SIGTERM);
}

std::string last_line_of(const std::filesystem::path& log) {
  auto content = read_file(log);
  while (!content.empty() && content.back() == '\n') content.pop_back();
  const auto end = content.find_last_of('\n');
  const auto line = end == std::string::npos ? content : content.substr(end + 1);
  constexpr std::string_view kName = "evenkeel: ";
  return line.starts_with(kName) ? line.substr(kName.size()) : line;
}

}  // namespace evenkeel::study
