// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

#include "evenkeel/base/cpu_contention.h"
#include "evenkeel/bench/timing.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/train/machine.h"

/// Shared by the subcommands of `bench`: options, the contention monitor, and the JSON records.
namespace evenkeel::cli {

/// Options of every subcommand of `bench`.
struct BenchOptions {
  int rounds = 9;                            // how often each arm runs
  bool json = false;                         // the records as JSON on standard output
  std::optional<std::filesystem::path> out;  // a file of JSON lines to append to
};

/// Whether EVENKEEL_BENCH_SMALL is 1, as in the tests: small operands and short samples, so that a
/// bench ends within a second. Its figures mean nothing.
bool is_bench_small();

/// --rounds, --json, --out
void add_bench_options(const Command& command, BenchOptions& options);

/// Checks, before the benchmark runs, that --out can be written.
/// \throws Error (io)
void check_out(const BenchOptions& options);

/// Measures the CPU time that other processes take while something is timed.
class ContentionMonitor {
 public:
  /// Takes a short sample before anything is timed.
  ContentionMonitor();

  /// A line for the user if other processes took more than CpuContention::kMaxShare since the
  /// start: the figures are then printed, but not judged. "" on a quiet machine, or without
  /// /proc/stat.
  std::string verdict() const;
  bool is_quiet() const { return verdict().empty(); }

 private:
  std::optional<double> before_;
  CpuContention contention_;
};

/// "[0.971, 1.031]"
std::string interval_of(const bench::Ratio& ratio);

/// The exit code for a verdict: done if it is "", else busy, with the verdict on standard error.
Exit exit_of_verdict(const std::string& verdict);

/// The first fields of every record: processor, instruction set, threads, versions, date.
nlohmann::ordered_json bench_header(const std::string& bench, const train::Machine& machine);

/// Appends one line a record to the file of --out, and prints all as an array with --json.
void write_records(const BenchOptions& options, const nlohmann::ordered_json& records);

Verb add_bench_kernels(const Command& bench);
Verb add_bench_peers(const Command& bench);
Verb add_bench_step(const Command& bench);

}  // namespace evenkeel::cli
