// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/bench.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <system_error>

#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/base/utc_time.h"
#include "evenkeel/store/json_lines.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kBenchExamples = R"(Examples:
  evenkeel bench kernels                       each operator against the memory it must move
  evenkeel bench kernels --only rms_norm
  evenkeel bench step                          whole training steps of three schemes, in turn
  evenkeel bench step --preset 151m --set train.batch=1 --schemes pre_norm hybrid_norm
  evenkeel bench peers                         the same training in PyTorch
  evenkeel bench decode --preset 151m          decoding with weights in float32, bfloat16 and int8
  evenkeel bench ranks --ranks 2               exchange and steps of several processes
  evenkeel bench compare old.jsonl new.jsonl   what got slower between two files of --output
All arms run in turn; a ratio compares times of one round. On a busy machine the figures
are shown but not judged (exit code 75).)";

constexpr double kSampleSeconds = 0.5, kSmallSampleSeconds = 0.05;

}  // namespace

bool is_bench_small() {
  const char* const value = std::getenv("EVENKEEL_BENCH_SMALL");
  return value != nullptr && std::string_view(value) == "1";
}

void add_bench_options(const Command& command, BenchOptions& options) {
  command.add_option("--rounds", options.rounds, "timed rounds; each round runs every case once")
      .show_default()
      .between(3, 1000);
  command.add_flag("--json", options.json, "results as JSON on standard output");
  command
      .add_option("--output", options.output,
                  "JSON lines file to which the results are appended; default: none")
      .type_name("FILE.jsonl")
      .not_empty();
}

void check_no_start(const CommonOptions& common) {
  const auto from = config::resolve(common.sources()).train.from;
  if (from.empty()) return;
  throw Error(Exit::usage,
              text("train.from has no effect on a benchmark, whose models have initial weights; "
                   "leave out train.from = ",
                   from, ", or set it to \"\""));
}

void check_output(const BenchOptions& options) {
  if (options.output) check_writable("--output", *options.output);
}

void check_writable(const char* option, const std::filesystem::path& file) {
  errno = 0;
  if (std::ofstream(file, std::ios::app)) return;
  throw Error(Exit::io, text(option, " ", file.string(),
                             ": cannot be written: ", std::generic_category().message(errno)));
}

ContentionMonitor::ContentionMonitor()
    : before_(cpu_contention_over(is_bench_small() ? kSmallSampleSeconds : kSampleSeconds)) {}

std::string ContentionMonitor::verdict(std::optional<double> counted) const {
  const auto during = contention_.share();
  const double share = counted.value_or(std::max(before_.value_or(0), during.value_or(0)));
  if (share <= CpuContention::kMaxShare) return "";
  return text("not judged: other processes took ", std::lround(100 * share),
              " % of the processors' time; run it again on a quiet machine");
}

std::string interval_of(const bench::Ratio& ratio) {
  return text("[", with_digits(ratio.low, 4), ", ", with_digits(ratio.high, 4), "]");
}

void print_interval_note(int rounds) {
  if (rounds >= bench::kRoundsOfInterval) return;
  print(
      "\ninterval: the range of %d rounds, which covers the median with %s; --rounds %d gives 95 "
      "%%\n",
      rounds, percent(bench::range_confidence(rounds)).c_str(), bench::kRoundsOfInterval);
}

Exit exit_of_verdict(const std::string& verdict) {
  if (verdict.empty()) return Exit::success;
  print_message(verdict);
  return Exit::busy;
}

nlohmann::ordered_json bench_header(const std::string& bench, const train::Machine& machine) {
  return {{"bench", bench}, {"date", utc_now()}, {"machine", train::provenance_of(machine)}};
}

void write_records(const BenchOptions& options, const nlohmann::ordered_json& records) {
  if (options.json) print_json(records, 2);
  if (!options.output) return;
  store::JsonLinesFile file(*options.output);
  for (const auto& record : records) file.append(record);
}

/// `bench` times operators (kernels), training steps (step), decoding (decode), or Evenkeel and
/// PyTorch (peers). The arms of a comparison are interleaved. A ratio is the median of the ratios
/// of the rounds. Exit codes: 74 --output cannot be written; 75 other processes took more than
/// CpuContention::kMaxShare of the CPU time, so times are not compared with goals.
Verb add_bench(const Command& program) {
  const auto command = program.add_subcommand("bench", verb_summary("bench"));
  command.footer(kBenchExamples);
  command.require_subcommand();
  const std::vector<Verb> subcommands = {add_bench_kernels(command), add_bench_step(command),
                                         add_bench_peers(command),   add_bench_decode(command),
                                         add_bench_ranks(command),   add_bench_compare(command)};
  return {command,
          [subcommands] {
            for (const auto& subcommand : subcommands) {
              if (subcommand.command.parsed()) return subcommand.body();
            }
            return Exit::usage;
          },
          /*computes=*/true};
}

}  // namespace evenkeel::cli
