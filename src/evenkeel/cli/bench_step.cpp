// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/bench/step.h"
#include "evenkeel/cli/bench.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kBenchStepExamples = R"(Examples:
  evenkeel bench step
  evenkeel bench step --preset 151m --set train.batch=1 --rounds 7
  evenkeel bench step --set train.precision=bfloat16 --schemes pre_norm hybrid_norm_star
A step is everything: data, forward, backward, clipping, update, health monitor. The floor is its
FLOPs at the rate of the fastest of the model's own products, measured in the same run.)";

/// Options of `bench step`. Ratios are relative to the first scheme.
struct BenchStepOptions {
  CommonOptions common;
  BenchOptions bench;
  std::vector<std::string> schemes = {"pre_norm", "hybrid_norm", "hybrid_norm_star"};
};

/// The parts of a step, in the order of the table.
constexpr std::array<const char*, 8> kParts = {"products", "attention", "norms", "activation",
                                               "loss",     "optimizer", "other", "between"};

/// Seconds of one profiled step by part. "between" is the time outside LibTorch operators:
/// autograd, C++ code, data loading.
std::map<std::string, double> by_part(const bench::StepArm& arm) {
  std::map<std::string, double> parts;
  for (const char* part : kParts) parts[part] = 0;
  double known = 0;
  for (const auto& [name, seconds] : arm.operators) {
    parts[bench::step_part_of(name)] += seconds;
    known += seconds;
  }
  parts["between"] = std::max(0.0, arm.profiled - known);
  return parts;
}

/// Prints the serial share of a step by part, in per cent; "-" on a busy machine, where threads
/// also wait for other processes and the parts add up to more than the step.
void print_serial_shares(const bench::StepResult& result, bool is_judged) {
  if (result.arms.front().serial.empty()) return;
  const auto print_share = [&](double share) {
    is_judged ? print(" %10.2f", 100 * share) : print(" %10s", "-");
  };
  print("\nserial share: one thread works and all other threads wait, %% of a step\n%-22s", "");
  for (const char* part : kParts) print(" %10s", part);
  print(" %10s", "all");
  for (const auto& arm : result.arms) {
    std::map<std::string, double> parts;
    for (const auto& [name, seconds] : arm.serial) {
      const auto part = name == "between" ? name : bench::step_part_of(name);
      for (const auto& sum : {part, std::string("all")}) parts[sum] += seconds / arm.serial_step;
    }
    print("\n%-22s", arm.scheme.c_str());
    for (const char* part : kParts) print_share(parts[part]);
    print_share(parts["all"]);
  }
  print("\n");
}

/// Prints two tables in ms: parts of a step per scheme, and the longest operators of the first.
void print_parts(const bench::StepResult& result) {
  print("\nwhere the time of one step goes, ms (by operator, one watched step each)\n%-22s", "");
  for (const char* part : kParts) print(" %10s", part);
  for (const auto& arm : result.arms) {
    auto parts = by_part(arm);
    print("\n%-22s", arm.scheme.c_str());
    for (const char* part : kParts) print(" %10.1f", 1e3 * parts[part]);
  }
  print("\n\nthe longest operators of %s, ms\n", result.arms.front().scheme.c_str());
  std::vector<std::pair<double, std::string>> longest;
  for (const auto& [name, seconds] : result.arms.front().operators) {
    longest.emplace_back(seconds, name);
  }
  std::sort(longest.rbegin(), longest.rend());
  constexpr std::size_t kShown = 12;
  for (std::size_t i = 0; i < std::min(kShown, longest.size()); ++i) {
    print("  %-46s %9.2f\n", longest[i].second.c_str(), 1e3 * longest[i].first);
  }
}

/// The rounds, how many were repeated, and the quartiles of the first scheme relative to its
/// median: the spread of the machine.
std::string rounds_text(const bench::StepResult& result) {
  const auto& timing = result.arms.front().timing;
  const auto quartile = [&](int which) {
    return with_digits(timing.quartile(which) / timing.median(), 4);
  };
  return text(timing.seconds.size(), " rounds, ", result.repeated,
              " repeated because other processes ran; half of the times of ",
              result.arms.front().scheme, " are ", quartile(1), " to ", quartile(3),
              " of their median");
}

/// Prints the machine, one line per scheme (seconds and tokens/s of a step, ratio to the GEMM-bound
/// time, ratio to the first scheme, page faults per step), print_parts() and print_serial_shares().
void bench_step_print(const bench::StepResult& result, bool is_judged) {
  print("%s\n%s tokens per step; products at %s FLOP/s; peak memory of all arms %s\n%s\n\n",
        result.machine.description.c_str(), with_commas(result.tokens).c_str(),
        with_unit(result.gemm_rate).c_str(), bytes_text(result.peak_bytes).c_str(),
        rounds_text(result).c_str());
  print("%-22s %9s %9s %9s %8s %7s %-15s %7s %7s\n", "scheme", "median s", "least s", "tokens/s",
        "/floor", "/first", "   interval", "/least", "faults");
  for (const auto& arm : result.arms) {
    const auto& ratio = arm.against_first;
    const auto interval = interval_of(ratio);
    print("%-22s %9.4f %9.4f %9.0f %8.3f %7.3f %-15s %7.3f %7.0f\n", arm.scheme.c_str(),
          arm.timing.median(), arm.timing.least(),
          static_cast<double>(result.tokens) / arm.timing.median(),
          arm.timing.median() / result.gemm_bound_seconds(arm), ratio.median, interval.c_str(),
          ratio.least, arm.faults);
  }
  print_parts(result);
  print_serial_shares(result, is_judged);
}

/// One record per scheme. "floor_seconds" is the GEMM-bound time; "operators" and "serial" are in
/// seconds.
nlohmann::ordered_json bench_step_as_json(const bench::StepResult& result,
                                          const std::string& verdict) {
  auto records = nlohmann::ordered_json::array();
  const auto header = bench_header("step", result.machine);
  for (const auto& arm : result.arms) {
    auto record = header;
    record.update({{"scheme", arm.scheme},
                   {"tokens", result.tokens},
                   {"flops", arm.flops},
                   {"peak_bytes", result.peak_bytes},
                   {"precision", result.machine.description},
                   {"gemm_flops_per_second", result.gemm_rate},
                   {"floor_seconds", result.gemm_bound_seconds(arm)},
                   {"median_seconds", arm.timing.median()},
                   {"least_seconds", arm.timing.least()},
                   {"round_seconds", arm.timing.seconds},
                   {"repeated_rounds", result.repeated},
                   {"over_first", arm.against_first.median},
                   {"over_first_low", arm.against_first.low},
                   {"over_first_high", arm.against_first.high},
                   {"faults", arm.faults},
                   {"parts", by_part(arm)},
                   {"operators", arm.operators},
                   {"not_judged", verdict}});
    if (!arm.serial.empty()) {
      record.update({{"serial", arm.serial}, {"serial_step_seconds", arm.serial_step}});
    }
    records.push_back(std::move(record));
  }
  return records;
}

/// Times the schemes and writes the results.
/// \return Exit::busy if other processes disturbed a counted round (in rounds below half a second:
///         the whole measurement), else Exit::success
/// \throws Error (usage) for an invalid configuration; (io) if --output cannot be written
Exit run_bench_step(const BenchStepOptions& options) {
  use_device(options.common);
  check_no_start(options.common);
  check_output(options.bench);
  const ContentionMonitor monitor;
  const auto result =
      bench::time_steps(options.common.sources(), options.schemes, options.bench.rounds);
  const auto verdict = monitor.verdict(result.contention);
  if (!options.bench.json) {
    bench_step_print(result, /*is_judged=*/verdict.empty());
    print_interval_note(options.bench.rounds);
  }
  write_records(options.bench, bench_step_as_json(result, verdict));
  return exit_of_verdict(verdict);
}

}  // namespace

/// `bench step` times whole training steps of several schemes. The floor is the GEMM-bound time:
/// FLOPs of a step / rate of the fastest GEMM of the model, measured in the same run.
Verb add_bench_step(const Command& bench) {
  const auto options = std::make_shared<BenchStepOptions>();
  const auto command =
      bench.add_subcommand("step", "whole training steps of several schemes, in turn");
  add_config_options(command, options->common);
  command.remove_option("--scheme");
  command.add_option("--schemes", options->schemes, "schemes to compare; ratios are to the first")
      .type_name("NAME|FILE.toml");
  add_device(command, options->common);
  add_bench_options(command, options->bench);
  command.footer(kBenchStepExamples);
  return {command, [options] { return run_bench_step(*options); }};
}

}  // namespace evenkeel::cli
