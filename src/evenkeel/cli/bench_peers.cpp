// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <memory>

#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/bench/peers.h"
#include "evenkeel/cli/bench.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kBenchPeersExamples = R"(Examples:
  evenkeel bench peers
  evenkeel bench peers --preset 151m --set train.batch=1 --against eager --rounds 7
  evenkeel bench peers --scheme pre_norm --set train.precision=bfloat16
The same weights, batches, precision, optimizer and constant rate in all processes; losses of the first
steps are compared, and nothing is timed if they differ. The PyTorch side is bench/peers/torch_peer.py.)";

/// Options of `bench peers`.
struct BenchPeersOptions {
  CommonOptions common;
  BenchOptions bench;
  bench::PeersOptions peers;
};

/// Prints machine and model, then one line per process: seconds and tokens/s of a step, ratio to
/// the GEMM-bound time, our time / its time, peak memory, page faults per step.
void bench_peers_print(const bench::PeersResult& result) {
  print(
      "%s\nagainst PyTorch %s; %s, %s parameters, %s tokens per step; losses of the first "
      "steps differ by %s at most\n\n",
      result.machine.description.c_str(), result.torch.c_str(), result.scheme.c_str(),
      with_commas(static_cast<std::int64_t>(result.parameters)).c_str(),
      with_commas(result.tokens).c_str(), with_digits(result.max_loss_difference, 2).c_str());
  print("%-10s %9s %9s %9s %8s %8s %-15s %7s %10s %9s\n", "process", "median s", "least s",
        "tokens/s", "/floor", "ours/it", "   interval", "/least", "peak", "faults");
  const double floor = result.flops / result.gemm_rate;
  for (const auto& peer : result.peers) {
    const auto& ratio = peer.ours_over_peer;
    const auto interval = interval_of(ratio);
    print("%-10s %9.4f %9.4f %9.0f %8.3f %8.3f %-15s %7.3f %10s %9.0f\n", peer.name.c_str(),
          peer.timing.median(), peer.timing.least(),
          static_cast<double>(result.tokens) / peer.timing.median(), peer.timing.median() / floor,
          ratio.median, interval.c_str(), ratio.least, bytes_text(peer.peak_bytes).c_str(),
          peer.faults);
  }
}

/// One record per process, ours first. "floor_seconds" is the GEMM-bound time of a step.
nlohmann::ordered_json bench_peers_as_json(const bench::PeersResult& result,
                                           const std::string& verdict) {
  auto records = nlohmann::ordered_json::array();
  const auto header = bench_header("peers", result.machine);
  for (const auto& peer : result.peers) {
    auto record = header;
    record.update({{"process", peer.name},
                   {"torch", result.torch},
                   {"scheme", result.scheme},
                   {"parameters", result.parameters},
                   {"tokens", result.tokens},
                   {"precision", result.machine.description},
                   {"losses", peer.losses},
                   {"gemm_flops_per_second", result.gemm_rate},
                   {"floor_seconds", result.flops / result.gemm_rate},
                   {"median_seconds", peer.timing.median()},
                   {"least_seconds", peer.timing.least()},
                   {"round_seconds", peer.timing.seconds},
                   {"ours_over_it", peer.ours_over_peer.median},
                   {"ours_over_it_low", peer.ours_over_peer.low},
                   {"ours_over_it_high", peer.ours_over_peer.high},
                   {"peak_bytes", peer.peak_bytes},
                   {"faults", peer.faults},
                   {"not_judged", verdict}});
    records.push_back(std::move(record));
  }
  return records;
}

/// Compares with PyTorch and writes the results.
/// \return Exit::busy if ContentionMonitor has a verdict, else Exit::success
/// \throws Error (check_failed) if the losses of the first steps differ between the processes; (io)
///         if --output cannot be written, or Python or torch is missing
Exit run_bench_peers(const BenchPeersOptions& options) {
  auto peers = options.peers;
  peers.rounds = options.bench.rounds;
  use_device(options.common);
  check_no_start(options.common);
  check_output(options.bench);
  const ContentionMonitor monitor;
  const auto result = bench::compare_with_pytorch(options.common.sources(), peers);
  const auto verdict = monitor.verdict();
  if (!options.bench.json) {
    bench_peers_print(result);
    print_interval_note(options.bench.rounds);
  }
  write_records(options.bench, bench_peers_as_json(result, verdict));
  return exit_of_verdict(verdict);
}

}  // namespace

/// `bench peers` times the training step of Evenkeel and of PyTorch, each in its own process, with
/// equal weights and batches. EVENKEEL_PYTHON or --python names the interpreter.
/// Exit codes: 1 the losses of the first steps differ, so nothing is timed; 74 Python or torch is
/// missing; 75 as `bench`.
Verb add_bench_peers(const Command& bench) {
  const auto options = std::make_shared<BenchPeersOptions>();
  const char* const python = std::getenv("EVENKEEL_PYTHON");
  if (python != nullptr && *python != '\0') options->peers.python = python;
  const auto command =
      bench.add_subcommand("peers", "the same training in PyTorch, eager and compiled, in turn");
  add_config_options(command, options->common);
  command
      .add_option("--against", options->peers.modes,
                  "modes of PyTorch to compare with; default: both")
      .one_of({"eager", "compile"})
      .type_name("HOW");
  command
      .add_option(
          "--python", options->peers.python,
          "Python that can import torch; default: $EVENKEEL_PYTHON, which ./ek sets, or python3")
      .type_name("PROGRAM")
      .not_empty();
  add_device(command, options->common);
  add_bench_options(command, options->bench);
  command.footer(kBenchPeersExamples);
  return {command, [options] { return run_bench_peers(*options); }};
}

}  // namespace evenkeel::cli
