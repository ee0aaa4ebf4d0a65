// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/launcher_variables.h"
#include "evenkeel/store/directory.h"

namespace evenkeel::study {

namespace {

constexpr int kSignalExitBase = 128;  // exit code of a signal, as in shells

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalExitBase + WTERMSIG(status);
}

/// "9 (SIGKILL)", "35" for one without a name
std::string signal_text(int number) {
  constexpr std::array<std::pair<int, const char*>, 17> kNames = {{{SIGHUP, "SIGHUP"},
                                                                   {SIGINT, "SIGINT"},
                                                                   {SIGQUIT, "SIGQUIT"},
                                                                   {SIGILL, "SIGILL"},
                                                                   {SIGTRAP, "SIGTRAP"},
                                                                   {SIGABRT, "SIGABRT"},
                                                                   {SIGBUS, "SIGBUS"},
                                                                   {SIGFPE, "SIGFPE"},
                                                                   {SIGKILL, "SIGKILL"},
                                                                   {SIGUSR1, "SIGUSR1"},
                                                                   {SIGSEGV, "SIGSEGV"},
                                                                   {SIGUSR2, "SIGUSR2"},
                                                                   {SIGPIPE, "SIGPIPE"},
                                                                   {SIGALRM, "SIGALRM"},
                                                                   {SIGTERM, "SIGTERM"},
                                                                   {SIGXCPU, "SIGXCPU"},
                                                                   {SIGXFSZ, "SIGXFSZ"}}};
  for (const auto& [known, name] : kNames) {
    if (known == number) return text(number, " (", name, ")");
  }
  return text(number);
}

/// The environment of this process, in the form of execve(), without the variables of a launcher: a
/// run is a single process, also where srun has started this worker as one of several tasks.
std::vector<char*> environment_of_run() {
  std::vector<char*> variables;
  for (char** each = ::environ; each != nullptr && *each != nullptr; ++each) {  // NOLINT: C
    const std::string_view variable = *each;
    if (!is_launcher_variable(variable.substr(0, variable.find('=')))) variables.push_back(*each);
  }
  variables.push_back(nullptr);
  return variables;
}

/// Runs in the new process: only async-signal-safe calls are allowed between fork and exec. Signals
/// are blocked until our handlers are removed.
[[noreturn]] void exec_child(char* const* arguments, char* const* environment, int log,
                             pid_t parent, const sigset_t& signals) {
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
  ::execve(arguments[0], arguments, environment);
  ::_exit(static_cast<int>(Exit::internal));
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& arguments,
                           const std::filesystem::path& log) {
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (file < 0) throw Error(Exit::io, text(log.string(), ": cannot write: ", std::strerror(errno)));
  std::vector<char*> pointers;
  pointers.reserve(arguments.size());
  for (const auto& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  const auto environment = environment_of_run();
  const auto parent = ::getpid();
  sigset_t all, before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  pid_ = ::fork();
  if (pid_ == 0) exec_child(pointers.data(), environment.data(), file, parent, before);
  const int error = errno;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  ::close(file);
  if (pid_ < 0) {
    throw Error(Exit::io,
                text(arguments.front(), ": no process can be made: ", std::strerror(error)));
  }
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), has_sent_sigterm_(other.has_sent_sigterm_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(has_sent_sigterm_, other.has_sent_sigterm_);
  return *this;
}

ChildProcess::~ChildProcess() {
  terminate();
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
}

std::optional<int> ChildProcess::exit_code() {
  int status = 0;
  if (pid_ <= 0) return std::nullopt;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = -1;
  return exit_code_of(status);
}

void ChildProcess::terminate() {
  if (pid_ <= 0 || std::exchange(has_sent_sigterm_, true)) return;
  ::kill(pid_, SIGTERM);
}

std::string exit_text(int code, const std::string& line) {
  auto out = text("exit code ", code, ": ");
  // A second signal ends the program with a code and a line of its own.
  const bool is_own_code = code <= kSignalExitBase || code == static_cast<int>(Exit::stopped);
  if (is_own_code && !line.empty()) return out + line;
  if (code <= kSignalExitBase) return out + "no message";
  out += "killed by signal " + signal_text(code - kSignalExitBase);
  if (code == kSignalExitBase + SIGKILL) out += ", often for lack of memory";
  return line.empty() ? out : out + "; the last line of its log: " + line;
}

std::string last_log_line(const std::filesystem::path& log) {
  auto content = store::Directory(log.parent_path()).read(log.filename().string(), kMaxRecordBytes);
  while (!content.empty() && content.back() == '\n') content.pop_back();
  const auto end = content.find_last_of('\n');
  const auto line = end == std::string::npos ? content : content.substr(end + 1);
  constexpr std::string_view kName = "evenkeel: ";
  return line.starts_with(kName) ? line.substr(kName.size()) : line;
}

}  // namespace evenkeel::study
