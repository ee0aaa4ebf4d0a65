// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <new>
#include <stdexcept>
#include <thread>

#include "evenkeel/base/error.h"
#include "evenkeel/base/terminate_handler.h"
#include "evenkeel/base/threads.h"

namespace evenkeel {
namespace {

/// Ends the process with the exit code of check_threads(), after a limit of one process.
[[noreturn]] void check_threads_under_a_limit(int count) {
  constexpr uid_t kNobody = 65534;  // the limit does not bind root
  if (::geteuid() == 0 && ::setuid(kNobody) != 0) ::_exit(1);
  const rlimit limit{1, 1};
  if (::setrlimit(RLIMIT_NPROC, &limit) != 0) ::_exit(1);
  try {
    check_threads(count);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    ::_exit(static_cast<int>(error.exit()));
  }
  ::_exit(0);
}

TEST(CheckThreads, PassesWithoutALimit) {
  EXPECT_NO_THROW(check_threads(8));
}

TEST(CheckThreads, RefusesMoreThanTheProcessMayCreate) {
  EXPECT_EXIT(check_threads_under_a_limit(1), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(check_threads_under_a_limit(3), ::testing::ExitedWithCode(75),
              "3 threads are needed, but only 1 can be created: Resource temporarily unavailable; "
              "set train.threads=1, or raise `ulimit -u`");
}

template <typename Exception>
void fail(const Exception& exception) {
  throw exception;
}

void end_with(void (*function)()) {
  install_terminate_handler();
  function();
}

TEST(TerminateHandler, GivesMissingMemoryItsExitCode) {
  EXPECT_EXIT(end_with([] { []() noexcept { fail(std::bad_alloc()); }(); }),
              ::testing::ExitedWithCode(75), "^evenkeel: out of memory; `evenkeel plan` shows");
  EXPECT_EXIT(end_with([] { std::thread([] { throw std::bad_alloc(); }).join(); }),
              ::testing::ExitedWithCode(75), "^evenkeel: out of memory");
}

/// Does what operator new does if memory is short, and terminates without a current exception.
void terminate_after_missing_memory() {
  try {
    std::get_new_handler()();
  } catch (const std::bad_alloc&) {
  }
  std::terminate();
}

TEST(TerminateHandler, RemembersMissingMemory) {
  EXPECT_EXIT(end_with(terminate_after_missing_memory), ::testing::ExitedWithCode(75),
              "^evenkeel: out of memory");
}

TEST(TerminateHandler, ReportsAnyOtherExceptionAsABug) {
  EXPECT_EXIT(end_with([] { []() noexcept { fail(std::runtime_error("x")); }(); }),
              ::testing::ExitedWithCode(70), "^evenkeel: an error that nobody handles: a bug");
  EXPECT_EXIT(end_with([] { std::terminate(); }), ::testing::ExitedWithCode(70),
              "^evenkeel: std::terminate");
}

}  // namespace
}  // namespace evenkeel
