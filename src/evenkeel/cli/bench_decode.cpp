// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <memory>

#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/bench/decode.h"
#include "evenkeel/cli/bench.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kBenchDecodeExamples = R"(Examples:
  evenkeel bench decode --preset 151m
  evenkeel bench decode --preset 151m --weights bfloat16 int8 --batches 1 4
A step adds one token to each sequence. "/copy" is the rate at which a step reads the weights of its
linear layers, divided by the bandwidth (read and write) of a memory copy.)";

struct BenchDecodeOptions {
  CommonOptions common;
  BenchOptions bench;
  bench::DecodeRequest request{.weights = {"float32", "bfloat16", "int8"}, .batches = {1, 8, 32}};
};

std::string copy_share(const bench::DecodeArm& arm) {
  return arm.over_copy ? with_digits(arm.over_copy->median, 3) : "-";
}

/// Prints the machine, a line per batch and dtype of weights, and a line per prefill.
void bench_decode_print(const bench::DecodeResult& result) {
  print("%s\n%s, %s parameters, activations with int8 weights: %s\n",
        result.machine.description.c_str(), result.scheme.c_str(),
        with_unit(static_cast<double>(result.parameters)).c_str(), result.compute_dtype.c_str());
  print(
      "%lld tokens of each sequence in the cache; a copy moves %s/s; %zu rounds, %d repeated "
      "because "
      "other processes ran\n\n",
      static_cast<long long>(result.prompt), bytes_text(result.copy_rate).c_str(),
      result.decode.front().timing.seconds.size(), result.repeated);
  print("%-6s %-9s %9s %9s %8s %7s %s\n", "batch", "weights", "median ms", "tokens/s", "/copy",
        "/first", "   interval");
  for (const auto& arm : result.decode) {
    print("%-6lld %-9s %9.2f %9.0f %8s %7.3f %s\n", static_cast<long long>(arm.batch),
          arm.weights.c_str(), 1e3 * arm.timing.median(),
          static_cast<double>(arm.batch) / arm.timing.median(), copy_share(arm).c_str(),
          arm.against_first.median, interval_of(arm.against_first).c_str());
  }
  print("\n%-16s %9s %9s %10s %s\n", "prefill, weights", "median ms", "tokens/s", "/forward",
        "   interval");
  for (const auto& arm : result.prefill) {
    print("%-16s %9.2f %9.0f %10.3f %s\n", arm.weights.c_str(), 1e3 * arm.timing.median(),
          static_cast<double>(result.prompt) / arm.timing.median(), arm.against_forward.median,
          interval_of(arm.against_forward).c_str());
  }
}

nlohmann::ordered_json ratio_as_json(const bench::Ratio& ratio) {
  return {{"median", ratio.median}, {"low", ratio.low}, {"high", ratio.high}};
}

/// One record per line of the tables: "case" is decode or prefill.
nlohmann::ordered_json bench_decode_as_json(const bench::DecodeResult& result,
                                            const std::string& verdict) {
  auto records = nlohmann::ordered_json::array();
  auto header = bench_header("decode", result.machine);
  header.update({{"scheme", result.scheme},
                 {"parameters", result.parameters},
                 {"prompt", result.prompt},
                 {"copy_bytes_per_second", result.copy_rate},
                 {"repeated_rounds", result.repeated},
                 {"not_judged", verdict}});
  for (const auto& arm : result.decode) {
    auto record = header;
    record.update({{"case", "decode"},
                   {"weights", arm.weights},
                   {"batch", arm.batch},
                   {"median_seconds", arm.timing.median()},
                   {"round_seconds", arm.timing.seconds},
                   {"over_first", ratio_as_json(arm.against_first)}});
    if (arm.over_copy) {
      record.update(
          {{"weight_bytes", *arm.weight_bytes}, {"of_copy", ratio_as_json(*arm.over_copy)}});
    }
    records.push_back(std::move(record));
  }
  for (const auto& arm : result.prefill) {
    auto record = header;
    record.update({{"case", "prefill"},
                   {"weights", arm.weights},
                   {"batch", 1},
                   {"median_seconds", arm.timing.median()},
                   {"round_seconds", arm.timing.seconds},
                   {"over_forward", ratio_as_json(arm.against_forward)}});
    records.push_back(std::move(record));
  }
  return records;
}

/// Times decoding and writes the results.
/// \return Exit::busy if other processes disturbed a counted round (in rounds below half a second:
///         the whole measurement), else Exit::success
/// \throws Error (usage) for an invalid configuration; (io) if --output cannot be written
Exit run_bench_decode(const BenchDecodeOptions& options) {
  use_device(options.common);
  check_no_start(options.common);
  check_output(options.bench);
  for (const auto batch : options.request.batches) {
    if (batch < 1) throw Error(Exit::usage, text("--batches must be at least 1, but is ", batch));
  }
  if (options.request.prompt < 1) {
    throw Error(Exit::usage, text("--prompt must be at least 1, but is ", options.request.prompt));
  }
  auto request = options.request;
  request.rounds = options.bench.rounds;
  const ContentionMonitor monitor;
  const auto result = bench::time_decoding(options.common.sources(), request);
  const auto verdict = monitor.verdict(result.contention);
  if (!options.bench.json) {
    bench_decode_print(result);
    print_interval_note(options.bench.rounds);
  }
  write_records(options.bench, bench_decode_as_json(result, verdict));
  return exit_of_verdict(verdict);
}

}  // namespace

/// `bench decode` times decoding with a key-value cache, and prefill, of a model with its initial
/// weights: dtypes of weights and batches in turn.
Verb add_bench_decode(const Command& bench) {
  const auto options = std::make_shared<BenchDecodeOptions>();
  const auto command = bench.add_subcommand(
      "decode", "decoding with weights in float32, bfloat16 and int8, in turn");
  add_config_options(command, options->common);
  command
      .add_option("--weights", options->request.weights,
                  "dtypes of weights to compare, the first is the reference; default: all")
      .type_name("DTYPE")
      .one_of({"float32", "bfloat16", "int8"});
  command.add_option("--batches", options->request.batches, "sequences per step; default: 1 8 32")
      .type_name("INT");
  command.add_option("--prompt", options->request.prompt, "tokens of each sequence in the cache")
      .show_default();
  add_device(command, options->common);
  add_bench_options(command, options->bench);
  command.footer(kBenchDecodeExamples);
  return {command, [options] { return run_bench_decode(*options); }};
}

}  // namespace evenkeel::cli
