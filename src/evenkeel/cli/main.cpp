// SPDX-License-Identifier: Apache-2.0
#include <ATen/Parallel.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "evenkeel/base/mkl_cnr.h"
#include "evenkeel/base/nearest.h"
#include "evenkeel/base/print.h"
#include "evenkeel/base/terminate_handler.h"
#include "evenkeel/base/threads.h"
#include "evenkeel/base/version.h"
#include "evenkeel/cli/failure.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/memory/caching_allocator.h"
#include "evenkeel/ops/common/mkl_warm_up.h"
#include "evenkeel/train/signals.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kFooter = R"(Start with:
  evenkeel train                       a small HybridNorm* model on a built-in corpus, in a minute
  evenkeel train --scheme pre_norm     the same under another normalization
  evenkeel schemes                     the list of schemes
Exit codes: docs/exit_codes.md. Every verb: evenkeel VERB --help)";

/// Prints "evenkeel: WHAT" on standard error.
void complain(const char* what) {
  print_message(text("evenkeel: ", what));
}

/// Suggests the nearest command; the message of CLI11 has no suggestion.
/// \throws Error (usage) if `word` is neither an option nor a command
void check_verb(const std::string& word, const std::vector<Verb>& verbs) {
  std::vector<std::string> listed;
  for (const auto& each : verbs) {
    if (each.command.name() == word) return;
    if (!each.command.info().is_hidden) listed.push_back(each.command.name());
  }
  if (word.starts_with('-')) return;
  throw Error(Exit::usage, text("no verb is named \"", word, "\"", did_you_mean(word, listed)));
}

/// Limits the threads of a parallel region to those that can be created; without this, the OpenMP
/// runtime would end the process. A run has a number of its own (train.threads).
void limit_threads() {
  const int wanted = at::get_num_threads();
  const int possible = thread_limit(wanted).count;
  if (possible < wanted) at::set_num_threads(possible);
}

/// Parses the command line and runs its command.
/// \return the exit code of the command, of --help or of --version
/// \throws Error (usage) for an invalid command line; errors of the command
int run(int argc, char** argv) {
  const Program whole("evenkeel",
                      "Trains decoder transformers and measures what normalization does to them.",
                      text("evenkeel ", kVersion, " (", commit(), ")"));
  const auto program = whole.command();
  program.footer(kFooter);
  program.require_subcommand();
  const auto verbs = add_verbs(program);
  if (argc > 1) check_verb(argv[1], verbs);
  if (const auto code = whole.parse(argc, argv)) return *code;
  for (const auto& each : verbs) {
    if (!each.command.parsed()) continue;
    if (!each.catches_signals) train::release_signals();
    if (each.computes) {
      limit_threads();
      ops::warm_up_mkl();
    }
    return static_cast<int>(each.body());
  }
  return static_cast<int>(Exit::usage);
}

/// Runs the program. An exception becomes one line on standard error and an exit code
/// (cli/failure.h).
int run_with_errors_reported(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {  // without a further allocation
    complain(kOutOfMemory);
    return static_cast<int>(Exit::busy);
  } catch (...) {
    const auto failure = current_failure();
    complain(failure.message.c_str());
    if (failure.exit == Exit::internal) complain(kBugLine);
    return static_cast<int>(failure.exit);
  }
}

/// Opens /dev/null as each standard stream that is closed. Otherwise the first files of the program
/// would get these descriptors, and messages would go into them. The stream still fails, as a
/// closed one does: standard input is opened for writing, the two others for reading.
void occupy_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const bool is_closed = ::fcntl(stream, F_GETFD) < 0 && errno == EBADF;
    if (!is_closed) continue;
    ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // the lowest free number
  }
}

/// The exit code; 74 (io) in place of 0 if standard output could not be written completely.
int with_output_checked(int code) {
  const int error = flush_output();
  if (error == 0) return code;
  complain(output_error_text(error).c_str());
  return code == 0 ? static_cast<int>(Exit::io) : code;
}

/// Called by exit(), which only libraries call. The OpenMP runtime calls exit(1) if a thread or
/// memory is short, but code 1 is that of a check (docs/exit_codes.md).
extern "C" void on_library_exit(int status, void* /*unused*/) {
  if (status == EXIT_FAILURE) ::_exit(static_cast<int>(Exit::busy));
}

/// The loader calls it before the constructors of the libraries, which take most of the time before
/// main().
[[gnu::section(".preinit_array"),
  gnu::used]] void (*const kBeforeConstructors)() = train::hold_signals;

}  // namespace

}  // namespace evenkeel::cli

int main(int argc, char** argv) {
  evenkeel::cli::occupy_closed_streams();
  evenkeel::install_terminate_handler();
  ::on_exit(evenkeel::cli::on_library_exit, nullptr);
  evenkeel::enable_mkl_cnr();
  evenkeel::memory::install_caching_allocator();
  // Without exit(): the destructors of LibTorch's static objects take 70 ms and save nothing.
  ::_exit(evenkeel::cli::with_output_checked(evenkeel::cli::run_with_errors_reported(argc, argv)));
}
