// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
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
  int rounds = 9;                               // timed runs of each arm, 3 to 1,000
  bool json = false;                            // the records as JSON on standard output
  std::optional<std::filesystem::path> output;  // JSON lines file, to which records are appended
};

/// True if the environment variable EVENKEEL_BENCH_SMALL is 1, as in the tests: small operands and
/// short samples, so that a benchmark ends within a second. Its times are meaningless.
bool is_bench_small();

/// --rounds, --json, --output
void add_bench_options(const Command& command, BenchOptions& options);

/// Refuses `train.from`, which has no effect on models that are timed with initial weights.
/// \throws Error (usage)
void check_no_start(const CommonOptions& common);

/// Checks, before the benchmark runs, that --output can be written.
/// \throws Error (io) if the file cannot be opened for appending
void check_output(const BenchOptions& options);

/// The same of the file of any option.
void check_writable(const char* option, const std::filesystem::path& file);

/// Measures the CPU time that other processes take while something is timed.
class ContentionMonitor {
 public:
  /// Takes a short sample before anything is timed.
  ContentionMonitor();

  /// A message for the user if other processes took more than CpuContention::kMaxShare of the CPU
  /// time: the times are printed, but not compared with the goals. "" if they did not, and without
  /// /proc/stat.
  /// \param counted  their share of what was counted; nullopt: the share since the constructor
  std::string verdict(std::optional<double> counted = {}) const;
  bool is_quiet() const { return verdict().empty(); }

 private:
  std::optional<double> before_;
  CpuContention contention_;
};

/// The interval of a ratio: "[0.971, 1.031]"
std::string interval_of(const bench::Ratio& ratio);

/// Prints a line on the intervals of fewer than kRoundsOfInterval rounds: their confidence is less
/// than 95 %.
void print_interval_note(int rounds);

/// Prints the verdict of ContentionMonitor on standard error, if there is one.
/// \return Exit::success for "", else Exit::busy
Exit exit_of_verdict(const std::string& verdict);

/// The first fields of every record: processor, instruction set, threads, versions, date.
nlohmann::ordered_json bench_header(const std::string& bench, const train::Machine& machine);

/// Appends one line per record to the file of --output. With --json also prints all as an array.
void write_records(const BenchOptions& options, const nlohmann::ordered_json& records);

Verb add_bench_compare(const Command& bench);
Verb add_bench_decode(const Command& bench);
Verb add_bench_kernels(const Command& bench);
Verb add_bench_peers(const Command& bench);
Verb add_bench_ranks(const Command& bench);
Verb add_bench_step(const Command& bench);

}  // namespace evenkeel::cli
