// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

#include "evenkeel/base/cpu_contention.h"
#include "evenkeel/bench/timing.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/train/machine.h"

/// What the benchmarks share: options, the contention monitor, and lines of JSON.
namespace evenkeel::cli {

struct BenchOptions {
  int rounds = 9;
  bool json = false;
  std::optional<std::filesystem::path> out;  // a file of JSON lines to append to
};

/// Whether EVENKEEL_BENCH_SMALL is 1, as in the tests: small operands and short samples, so that a
/// bench ends within a second. Its figures mean nothing.
bool is_bench_small();

void add_bench_options(const Command& command, BenchOptions& options);

/// Before minutes are spent: whether results can be written where they are wanted.
/// \throws Error (io)
void check_out(const BenchOptions& options);

/// Measures the CPU time that other processes take while something is timed.
class ContentionMonitor {
 public:
  /// Takes a short sample before anything is timed.
  ContentionMonitor();

  /// Of the time since then: a line for the user if others took too much of the machine; the
  /// figures are shown, but not judged. Empty on a quiet machine, or where the kernel says nothing.
  std::string verdict() const;
  bool is_quiet() const { return verdict().empty(); }

 private:
  std::optional<double> before_;
  CpuContention contention_;
};

/// "[0.971, 1.031]"
std::string interval_of(const bench::Ratio& ratio);

/// How a bench ends after this verdict: done, or busy, which standard error then says.
Exit exit_of_verdict(const std::string& verdict);

/// Processor, instruction set, threads, versions, date: what every line of JSON begins with.
nlohmann::ordered_json bench_header(const std::string& bench, const train::Machine& machine);

/// Appends one line a record to the file, or prints them all as an array, as the options say.
void write_records(const BenchOptions& options, const nlohmann::ordered_json& records);

Verb add_bench_kernels(const Command& bench);
Verb add_bench_peers(const Command& bench);
Verb add_bench_step(const Command& bench);

}  // namespace evenkeel::cli
