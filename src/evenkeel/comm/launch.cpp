// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/launch.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <set>

#include "evenkeel/base/error.h"
#include "evenkeel/base/print.h"
#include "evenkeel/comm/network.h"

extern char** environ;  // POSIX

namespace evenkeel::comm {

namespace {

using LaunchClock = std::chrono::steady_clock;

/// False under nohup. A process that blocks a signal receives it also while it is ignored.
bool hangup_counts() {
  struct sigaction action{};
  return ::sigaction(SIGHUP, nullptr, &action) != 0 || action.sa_handler != SIG_IGN;
}

bool is_stop(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
}

/// Blocks the signals that launch() waits for, until the destructor.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigemptyset(&set_);
    for (const int each : {SIGCHLD, SIGINT, SIGTERM, SIGUSR1}) sigaddset(&set_, each);
    if (hangup_counts()) sigaddset(&set_, SIGHUP);
    sigprocmask(SIG_BLOCK, &set_, &before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

  /// The next signal; nullopt after 100 ms without any.
  std::optional<int> next() const {
    constexpr timespec kPeriod{.tv_sec = 0, .tv_nsec = 100'000'000};
    const int signal = sigtimedwait(&set_, nullptr, &kPeriod);
    return signal > 0 ? std::optional(signal) : std::nullopt;
  }

 private:
  sigset_t set_{}, before_{};
};

/// Program, arguments and environment in the form of execve(), made before fork().
class Exec {
 public:
  Exec(const std::vector<std::string>& command, std::vector<std::string> added)
      : arguments_(command), environment_(std::move(added)) {
    std::set<std::string> names;
    for (const auto& each : environment_) names.insert(each.substr(0, each.find('=')));
    for (char** each = environ; *each != nullptr; ++each) {  // NOLINT: C
      const std::string variable = *each;
      if (!names.contains(variable.substr(0, variable.find('=')))) environment_.push_back(variable);
    }
    for (auto& each : arguments_) argv_.push_back(each.data());
    for (auto& each : environment_) envp_.push_back(each.data());
    argv_.push_back(nullptr);
    envp_.push_back(nullptr);
  }

  /// Becomes the program. Makes system calls only, as a child of a process with threads must.
  [[noreturn]] void run(pid_t parent, int fd_to_close, bool reads_input) const {
    constexpr int kFailed = 75;
    setpgid(0, 0);  // a Ctrl-C reaches launch() alone, which passes it on once
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(kFailed);
    if (fd_to_close >= 0) close(fd_to_close);
    struct stat input{};
    // A regular file stays: `--config /dev/stdin` opens it again, with an offset of its own.
    const bool is_file = fstat(STDIN_FILENO, &input) == 0 && S_ISREG(input.st_mode);
    if (!reads_input && !is_file) {
      const int none = open("/dev/null", O_RDONLY);
      if (none > STDIN_FILENO) dup2(none, STDIN_FILENO), close(none);
    }
    sigset_t empty;
    sigemptyset(&empty);
    sigprocmask(SIG_SETMASK, &empty, nullptr);
    execve("/proc/self/exe", argv_.data(), envp_.data());
    _exit(kFailed);
  }

 private:
  std::vector<std::string> arguments_, environment_;
  std::vector<char*> argv_, envp_;
};

/// A pipe in which a rank reports that all ranks end because one was lost, or because the exchange
/// failed: Place::loss_fd.
class LossPipe {
 public:
  LossPipe() {
    if (::pipe2(ends_, O_NONBLOCK | O_CLOEXEC) == 0 && ::fcntl(ends_[1], F_SETFD, 0) == 0) return;
    throw Error(Exit::busy, text("--ranks: no pipe can be made: ", std::strerror(errno)));
  }
  LossPipe(const LossPipe&) = delete;
  LossPipe& operator=(const LossPipe&) = delete;
  ~LossPipe() { close(ends_[0]), close(ends_[1]); }

  int writing_end() const { return ends_[1]; }
  bool has_byte() const {
    char byte = 0;
    return read(ends_[0], &byte, 1) == 1;
  }

 private:
  int ends_[2] = {-1, -1};
};

/// The ranks of one start.
class LocalRanks {
 public:
  explicit LocalRanks(const LaunchOptions& options);
  LocalRanks(const LocalRanks&) = delete;
  LocalRanks& operator=(const LocalRanks&) = delete;
  ~LocalRanks() { kill_all(); }

  /// Waits for all ranks. \return the exit code of launch()
  int wait();
  /// True if SIGINT, SIGTERM or SIGHUP arrived.
  bool was_stopped() const { return !stops_.empty(); }
  /// True if a signal ended a rank that launch() did not send it to, or the ranks found one lost.
  bool have_loss() const { return has_signal_ || loss_.has_byte(); }

 private:
  void start(int rank, const ListeningSocket& socket);
  void pass_on(int signal);
  void collect();
  void judge(int rank, int status);
  int code_of(int rank, int status);
  void kill_all();
  bool any_runs() const {
    return std::any_of(processes_.begin(), processes_.end(), [](pid_t each) { return each > 0; });
  }

  const LaunchOptions& options_;
  LossPipe loss_;
  BlockedSignals signals_;
  std::vector<pid_t> processes_;  // by rank; 0: ended
  int code_ = 0;
  std::optional<LaunchClock::time_point> kill_at_;  // after the first failure
  /// SIGINT, SIGTERM and SIGHUP that the ranks got from here.
  std::set<int> stops_;
  bool has_signal_ = false;  // another signal ended a rank
};

LocalRanks::LocalRanks(const LaunchOptions& options) : options_(options) {
  const auto socket = listen_on_loopback();
  try {
    for (int rank = 0; rank < options.ranks; ++rank) start(rank, socket);
  } catch (...) {
    close(socket.fd);
    kill_all();
    throw;
  }
  close(socket.fd);
}

void LocalRanks::start(int rank, const ListeningSocket& socket) {
  const Exec exec(
      options_.command,
      {text("RANK=", rank), text("WORLD_SIZE=", options_.ranks), text("LOCAL_RANK=", rank),
       text("LOCAL_WORLD_SIZE=", options_.ranks), "MASTER_ADDR=127.0.0.1",
       text("MASTER_PORT=", socket.port), "TORCHELASTIC_USE_AGENT_STORE=False",
       "EVENKEEL_LAUNCHER=ranks", text("EVENKEEL_STORE_FD=", socket.fd),
       text("EVENKEEL_LOSS_FD=", loss_.writing_end())});
  const pid_t parent = getpid(), child = fork();
  if (child == 0) exec.run(parent, rank == 0 ? -1 : socket.fd, rank == 0);
  if (child < 0) {
    throw Error(Exit::busy, text("--ranks: process ", rank, " of ", options_.ranks,
                                 " cannot be started: ", std::strerror(errno)));
  }
  processes_.push_back(child);
}

void LocalRanks::pass_on(int signal) {
  if (is_stop(signal)) stops_.insert(signal);
  for (const pid_t each : processes_) {
    if (each > 0) kill(each, signal);
  }
}

void LocalRanks::judge(int rank, int status) {
  const int code = code_of(rank, status);
  processes_[static_cast<std::size_t>(rank)] = 0;
  if (code == 0) return;
  // After a signal the other ranks have to find out; after an exit with a code they know.
  constexpr double kGrace = 5;  // seconds
  const double wait = kGrace + (WIFSIGNALED(status) ? options_.heartbeat_timeout : 0);
  const auto at = LaunchClock::now() + std::chrono::milliseconds(static_cast<int>(1000 * wait));
  kill_at_ = kill_at_ ? std::min(*kill_at_, at) : at;
  if (code_ == 0) code_ = code;
}

/// The exit code of a rank that ended. The first one that a signal ended is reported.
int LocalRanks::code_of(int rank, int status) {
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  const int signal = WTERMSIG(status);
  const auto name = text("signal ", signal, " (", strsignal(signal), ")");
  const bool is_first = code_ == 0;
  if (stops_.contains(signal)) {
    if (is_first) print_message(text("evenkeel: ", name, " ended all ranks"));
    return signal_exit(signal);
  }
  has_signal_ = true;
  if (is_first) {
    print_message(text("evenkeel: rank ", rank, " (process ",
                       processes_[static_cast<std::size_t>(rank)], ") was ended by ", name));
  }
  return static_cast<int>(Exit::busy);
}

void LocalRanks::collect() {
  for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
    int status = 0;
    if (processes_[rank] == 0 || waitpid(processes_[rank], &status, WNOHANG) <= 0) continue;
    judge(static_cast<int>(rank), status);
  }
}

int LocalRanks::wait() {
  while (any_runs()) {
    const auto signal = signals_.next();
    if (signal && *signal != SIGCHLD) pass_on(*signal);
    collect();
    if (kill_at_ && LaunchClock::now() >= *kill_at_) kill_all();
  }
  return code_;
}

void LocalRanks::kill_all() {
  for (auto& each : processes_) {
    if (each == 0) continue;
    kill(each, SIGKILL);
    waitpid(each, nullptr, 0);
    each = 0;
  }
}

/// Waits for so long. \return false at once if SIGINT, SIGTERM or SIGHUP arrives
bool passes_without_stop(const BlockedSignals& signals, std::chrono::seconds pause) {
  const auto end = LaunchClock::now() + pause;
  while (LaunchClock::now() < end) {
    const auto signal = signals.next();
    if (signal && is_stop(*signal)) return false;
  }
  return true;
}

}  // namespace

int launch(const LaunchOptions& options) {
  constexpr std::chrono::seconds kLongestPause{60};
  const BlockedSignals signals;  // between the starts, too
  std::chrono::seconds pause{1};
  for (int attempt = 0;; ++attempt) {
    int code = 0;
    {
      LocalRanks ranks(options);
      code = ranks.wait();
      const bool is_loss = code == static_cast<int>(Exit::busy) && ranks.have_loss();
      if (!is_loss || ranks.was_stopped() || attempt == options.restarts) return code;
    }
    print_message(text("evenkeel: all ranks start again from the last checkpoint in ",
                       pause.count(), " s: restart ", attempt + 1, " of ", options.restarts));
    if (!passes_without_stop(signals, pause)) return code;
    pause = std::min(2 * pause, kLongestPause);
  }
}

}  // namespace evenkeel::comm
