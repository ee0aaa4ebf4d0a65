// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <set>

#include "evenkeel/base/nearest.h"
#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/bench/kernel_cases.h"
#include "evenkeel/cli/bench.h"
#include "evenkeel/ops/common/compute_device.h"
#include "evenkeel/train/machine.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kBenchKernelsExamples = R"(Examples:
  evenkeel bench kernels
  evenkeel bench kernels --only rms_norm adamw --rounds 15 --output kernels.jsonl
Columns: ms is the median. G/s counts bytes moved, for attention and the loss head FLOPs. The last
columns are ratios of our time to that of: probe, which moves the same memory without arithmetic;
formula, plain LibTorch operations; torch, LibTorch's own fused operator.)";

/// Options of `bench kernels`. `only` has names of operators; empty: all operators.
struct BenchKernelsOptions {
  CommonOptions common;
  BenchOptions bench;
  std::vector<std::string> only;
};

/// One kernel case and the timings of its arms.
struct KernelRow {
  bench::KernelCase kernel;
  std::vector<bench::Timing> timings;  // ours first

  const bench::Timing& ours() const { return timings.front(); }
  /// Our time / time of the arm; nullopt if the case has no such arm.
  std::optional<bench::Ratio> over(const std::string& arm) const {
    for (const auto& timing : timings) {
      if (timing.name == arm) return bench::ratio(ours(), timing);
    }
    return std::nullopt;
  }
};

/// Checks --only.
/// \throws Error (usage) if no case has such an operator
void check_names(const std::vector<std::string>& only,
                 const std::vector<bench::KernelCase>& cases) {
  std::set<std::string> known;
  for (const auto& each : cases) known.insert(each.op);
  for (const auto& name : only) {
    if (known.contains(name)) continue;
    throw Error(Exit::usage, text("--only ", name, ": no operator has this name",
                                  did_you_mean(name, {known.begin(), known.end()})));
  }
}

/// The default sizes; in the tests a smaller optimizer.
bench::KernelOptions kernel_options() {
  bench::KernelOptions options;
  if (ops::compute_device().is_cuda()) {
    options = {.rows = 65536, .widths = {1024, 2048, 4096}, .parameters = 200'000'000};
  }
  if (is_bench_small()) options.parameters = 1'000'000;
  return options;
}

/// Times the arms, interleaved, with enough calls per round that a round takes kMinSeconds.
KernelRow time(const bench::KernelCase& kernel, int rounds) {
  constexpr double kMinSeconds = 0.03;  // long against the clock's and the threads' overhead
  const auto arms = kernel.arms();
  return {kernel, bench::interleaved_timings(arms, rounds, /*warmups=*/2,
                                             bench::calls_for(arms.front(), kMinSeconds))};
}

/// The median of a ratio with three significant digits; "-" for nullopt.
std::string cell(const std::optional<bench::Ratio>& ratio) {
  return ratio ? with_digits(ratio->median, 3) : "-";
}

/// The largest ratio to the probe that is allowed; "-" without a goal.
std::string goal(const bench::KernelCase& kernel) {
  return kernel.allowed == 0 ? "-" : with_digits(kernel.allowed, 3);
}

/// Prints one line of the table: times in ms, rates in 10^9 bytes or FLOPs per second.
/// \param is_quiet  false: neither "within" nor "ABOVE" is printed
void bench_kernels_print(const KernelRow& row, bool is_quiet) {
  const auto probe = row.over("probe");
  const char* const mark = !probe || !is_quiet                   ? ""
                           : row.kernel.allowed == 0             ? ""
                           : probe->median <= row.kernel.allowed ? "  within"
                                                                 : "  ABOVE";
  print("%-20s %-9s %-9s %-19s %8.3f %6.1f %7s %6s %8s %6s%s\n", row.kernel.op.c_str(),
        row.kernel.pass.c_str(), row.kernel.dtype.c_str(), row.kernel.shape.c_str(),
        1e3 * row.ours().median(),
        1e-9 * std::max(row.kernel.bytes, row.kernel.flops) / row.ours().median(),
        cell(probe).c_str(), goal(row.kernel).c_str(), cell(row.over("formula")).c_str(),
        cell(row.over("torch")).c_str(), mark);
  flush_output();
}

/// A record: the case, "seconds" of each arm, and "over": our time / time of each other arm.
/// \param verdict  of ContentionMonitor, the value of "not_judged"
nlohmann::ordered_json bench_kernels_as_json(const KernelRow& row,
                                             const nlohmann::ordered_json& header,
                                             const std::string& verdict) {
  auto record = header;
  record.update({{"op", row.kernel.op},
                 {"pass", row.kernel.pass},
                 {"dtype", row.kernel.dtype},
                 {"shape", row.kernel.shape},
                 {"bytes", row.kernel.bytes},
                 {"flops", row.kernel.flops},
                 {"allowed", row.kernel.allowed},
                 {"not_judged", verdict}});
  for (const auto& timing : row.timings) {
    record["seconds"][timing.name] = {
        {"median", timing.median()}, {"least", timing.least()}, {"rounds", timing.seconds}};
    if (timing.name == "ours") continue;
    const auto ratio = bench::ratio(row.ours(), timing);
    record["over"][timing.name] = {
        {"median", ratio.median}, {"low", ratio.low}, {"high", ratio.high}, {"least", ratio.least}};
  }
  return record;
}

/// Times the selected operators and prints each line as soon as it is measured.
/// \return Exit::busy if ContentionMonitor has a verdict, else Exit::success
/// \throws Error (usage) for an unknown operator; (io) if --output cannot be written
Exit run_bench_kernels(const BenchKernelsOptions& options) {
  use_device(options.common);
  const auto machine = train::configure_machine({});
  const auto header = bench_header("kernels", machine);
  const auto cases = bench::kernel_cases(kernel_options());
  check_names(options.only, cases);
  check_output(options.bench);
  const ContentionMonitor monitor;
  if (!options.bench.json) {
    print("%s\n\n%-20s %-9s %-9s %-19s %8s %6s %7s %6s %8s %6s\n", machine.description.c_str(),
          "operator", "pass", "dtype", "shape", "ms", "G/s", "/probe", "goal", "/formula",
          "/torch");
  }
  std::vector<KernelRow> rows;
  for (const auto& each : cases) {
    const bool wanted = options.only.empty() || std::find(options.only.begin(), options.only.end(),
                                                          each.op) != options.only.end();
    if (!wanted) continue;
    rows.push_back(time(each, options.bench.rounds));
    if (!options.bench.json) bench_kernels_print(rows.back(), monitor.is_quiet());
  }
  const auto verdict = monitor.verdict();
  auto records = nlohmann::ordered_json::array();
  for (const auto& row : rows) records.push_back(bench_kernels_as_json(row, header, verdict));
  write_records(options.bench, records);
  return exit_of_verdict(verdict);
}

}  // namespace

/// `bench kernels` times each operator, forward and backward, against a memory-bandwidth baseline
/// (probe) that moves the same bytes, the unfused LibTorch reference (formula) and LibTorch's fused
/// operator (torch). "ABOVE": the ratio to the probe exceeds the goal.
/// Exit codes: 64 --only names no operator; 74 and 75 as `bench`.
Verb add_bench_kernels(const Command& bench) {
  const auto options = std::make_shared<BenchKernelsOptions>();
  const auto command = bench.add_subcommand("kernels", "each operator, forward and backward");
  command.add_option("--only", options->only, "names of operators to time; default: all")
      .type_name("NAME");
  add_device(command, options->common);
  add_bench_options(command, options->bench);
  command.footer(kBenchKernelsExamples);
  return {command, [options] { return run_bench_kernels(*options); }};
}

}  // namespace evenkeel::cli
