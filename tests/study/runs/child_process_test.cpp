// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/child_process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"

namespace evenkeel::study {
namespace {

/// What `env` prints as a child, after a line feed.
std::string environment_of_child() {
  const auto log =
      std::filesystem::path(::testing::TempDir()) / text("child_process-", ::getpid(), ".log");
  std::optional<int> code;
  for (ChildProcess child({"/usr/bin/env"}, log); !code; code = child.exit_code()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(code, 0);
  auto printed = "\n" + read_file(log);
  std::filesystem::remove(log);
  return printed;
}

TEST(ChildProcess, InheritsTheEnvironmentWithoutTheVariablesOfALauncher) {
  const auto removed = std::to_array<const char*>({"RANK",
                                                   "WORLD_SIZE",
                                                   "LOCAL_RANK",
                                                   "LOCAL_WORLD_SIZE",
                                                   "GROUP_RANK",
                                                   "MASTER_ADDR",
                                                   "MASTER_PORT",
                                                   "TORCHELASTIC_RUN_ID",
                                                   "OMPI_COMM_WORLD_RANK",
                                                   "PMI_RANK",
                                                   "PMIX_NAMESPACE",
                                                   "MPI_LOCALNRANKS",
                                                   "SLURM_PROCID",
                                                   "SLURM_NTASKS",
                                                   "SLURM_LOCALID",
                                                   "SLURM_STEP_ID",
                                                   "SLURM_STEPID",
                                                   "EVENKEEL_LAUNCHER",
                                                   "EVENKEEL_LOSS_FD",
                                                   "EVENKEEL_STORE_FD"});
  const auto inherited = std::to_array<const char*>(
      {"SLURM_CPUS_PER_TASK", "SLURM_JOB_ID", "CUDA_VISIBLE_DEVICES", "RANKING"});
  for (const auto* const name : removed) ::setenv(name, "1", 1);
  for (const auto* const name : inherited) ::setenv(name, "1", 1);
  const auto environment = environment_of_child();
  const auto has = [&](const char* name) {
    return environment.find(text("\n", name, "=1\n")) != std::string::npos;
  };
  for (const auto* const name : removed) EXPECT_FALSE(has(name)) << name;
  for (const auto* const name : inherited) EXPECT_TRUE(has(name)) << name;
  for (const auto* const name : removed) ::unsetenv(name);
  for (const auto* const name : inherited) ::unsetenv(name);
}

// A process that the kernel kills writes no line of its own.
TEST(ExitText, NamesTheSignal) {
  EXPECT_EQ(exit_text(137, ""),
            "exit code 137: killed by signal 9 (SIGKILL), often for lack of memory");
  EXPECT_EQ(exit_text(139, "step 3"),
            "exit code 139: killed by signal 11 (SIGSEGV); the last line of its log: step 3");
  EXPECT_EQ(exit_text(128 + 40, ""), "exit code 168: killed by signal 40");
  EXPECT_EQ(exit_text(130, ""), "exit code 130: killed by signal 2 (SIGINT)");
  EXPECT_EQ(exit_text(130, "stopped"), "exit code 130: stopped");
  EXPECT_EQ(exit_text(75, "out of memory"), "exit code 75: out of memory");
  EXPECT_EQ(exit_text(70, ""), "exit code 70: no message");
}

}  // namespace
}  // namespace evenkeel::study
