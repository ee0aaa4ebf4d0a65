// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "evenkeel/base/file.h"
#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/bench/ranks.h"
#include "evenkeel/cli/bench.h"
#include "evenkeel/cli/ranks.h"
#include "evenkeel/comm/agreement.h"
#include "evenkeel/train/signals.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kBenchRanksExamples = R"(Examples:
  evenkeel bench ranks --ranks 2
  evenkeel bench ranks --ranks 2 --machine here.toml       then: plan --ranks 8 --machine here.toml
  torchrun --no-python --nproc-per-node 4 evenkeel bench ranks
"exact" is reduce_scatter and all_gather, whose bits do not depend on the number of ranks. The ratio
compares it to all_reduce of the engine (Gloo or NCCL), which sends as many bytes. A step of all
ranks is compared to that of one rank with all threads.)";

/// Options of `bench ranks`.
struct BenchRanksOptions {
  CommonOptions common;
  BenchOptions bench;
  RankOptions ranks;
  std::optional<std::filesystem::path> machine;  // --machine
};

/// Bytes of the buffers. The machine file and the ratios in the documentation are of kMainBytes.
constexpr std::int64_t kMainBytes = std::int64_t{128} << 20;

std::vector<std::int64_t> exchange_sizes() {
  constexpr std::int64_t kKiB = 1 << 10;
  if (is_bench_small()) return {64 * kKiB, 1024 * kKiB};
  return {64 * kKiB, 1024 * kKiB, 16 * 1024 * kKiB, kMainBytes, 2 * kMainBytes};
}

/// The exchange of kMainBytes, or the largest one.
const bench::ExchangeTimes& main_exchange(const std::vector<bench::ExchangeTimes>& all) {
  const auto found = std::find_if(all.begin(), all.end(), [](const bench::ExchangeTimes& each) {
    return each.bytes >= kMainBytes;
  });
  return found == all.end() ? all.back() : *found;
}

void bench_ranks_print(const std::vector<bench::ExchangeTimes>& exchanges,
                       const bench::RankSteps& steps, const comm::Group& group) {
  const int ranks = group.ranks();
  print("%d ranks, %s; %s\n\n", ranks, group.placement().network.c_str(),
        steps.machine.description.c_str());
  print("%10s %14s %14s %10s %12s %14s %8s %s\n", "buffer", "reduce_scatter", "all_gather", "exact",
        "all_reduce", "reduce_scatter", "exact /", "interval");
  print("%10s %14s %14s %10s %12s %14s %8s\n", "", "ms (GB/s)", "ms (GB/s)", "ms", "engine, ms",
        "engine, ms", "engine");
  for (const auto& each : exchanges) {
    const auto timed = [&](const bench::Timing& timing) {
      return text(with_digits(1e3 * timing.median(), 3), " (",
                  with_digits(each.rate(timing, ranks) / 1e9, 2), ")");
    };
    print("%10s %14s %14s %10.3f %12.3f %14.3f %8.3f %s\n",
          bytes_text(static_cast<double>(each.bytes)).c_str(), timed(each.reduce_scatter).c_str(),
          timed(each.all_gather).c_str(), 1e3 * each.exact.median(),
          1e3 * each.engine_all_reduce.median(), 1e3 * each.engine_reduce_scatter.median(),
          each.exact_over_engine.median, interval_of(each.exact_over_engine).c_str());
  }
  print("\nstep   one rank of %d threads %.4f s, %d ranks of %d %.4f s: ratio %.3f %s\n",
        steps.machine.threads * static_cast<int>(group.placement().ranks_on_cores),
        steps.alone.median(), ranks, steps.machine.threads, steps.together.median(),
        steps.together_over_alone.median, interval_of(steps.together_over_alone).c_str());
}

/// The times of each round, which `bench compare` reads.
nlohmann::ordered_json exchange_rounds(const bench::ExchangeTimes& times) {
  return {{"reduce_scatter", times.reduce_scatter.seconds},
          {"all_gather", times.all_gather.seconds},
          {"exact", times.exact.seconds},
          {"engine_all_reduce", times.engine_all_reduce.seconds},
          {"engine_reduce_scatter", times.engine_reduce_scatter.seconds}};
}

nlohmann::ordered_json bench_ranks_as_json(const std::vector<bench::ExchangeTimes>& exchanges,
                                           const bench::RankSteps& steps,
                                           const comm::Group& group) {
  auto records = nlohmann::ordered_json::array();
  auto header = bench_header("ranks", steps.machine);
  header.update({{"ranks", group.ranks()},
                 {"hosts", group.placement().hosts},
                 {"network", group.placement().network}});
  for (const auto& each : exchanges) {
    auto record = header;
    record.update({{"what", "exchange"},
                   {"bytes", each.bytes},
                   {"reduce_scatter_seconds", each.reduce_scatter.median()},
                   {"all_gather_seconds", each.all_gather.median()},
                   {"exact_seconds", each.exact.median()},
                   {"engine_all_reduce_seconds", each.engine_all_reduce.median()},
                   {"engine_reduce_scatter_seconds", each.engine_reduce_scatter.median()},
                   {"round_seconds", exchange_rounds(each)},
                   {"exact_over_engine", each.exact_over_engine.median},
                   {"exact_over_engine_low", each.exact_over_engine.low},
                   {"exact_over_engine_high", each.exact_over_engine.high}});
    records.push_back(std::move(record));
  }
  header.update(
      {{"what", "step"},
       {"scheme", steps.scheme},
       {"flops", steps.flops},
       {"tokens", steps.tokens},
       {"gemm_flops_per_second", steps.gemm_rate},
       {"memory_bytes_per_second", steps.memory_rate},
       {"alone_seconds", steps.alone.median()},
       {"together_seconds", steps.together.median()},
       {"round_seconds", {{"alone", steps.alone.seconds}, {"together", steps.together.seconds}}},
       {"together_over_alone", steps.together_over_alone.median},
       {"together_over_alone_low", steps.together_over_alone.low},
       {"together_over_alone_high", steps.together_over_alone.high}});
  records.push_back(std::move(header));
  return records;
}

/// Measures as a rank; rank 0 prints and writes.
Exit bench_rank(const BenchRanksOptions& options, comm::Group& group) {
  if (group.ranks() == 1) {
    throw Error(Exit::usage,
                "bench ranks: needs at least 2 ranks; add --ranks 2, or start it with "
                "torchrun --no-python, srun or mpirun");
  }
  comm::check_equal(group, {{"--rounds", text(options.bench.rounds)}});
  if (group.is_first()) {
    check_output(options.bench);
    if (options.machine) check_writable("--machine", *options.machine);
  }
  const auto exchanges = bench::time_exchanges(group, exchange_sizes(), options.bench.rounds);
  const auto steps = bench::time_rank_steps(group, options.common.sources(), options.bench.rounds);
  if (!group.is_first()) return Exit::success;
  if (!options.bench.json) {
    bench_ranks_print(exchanges, steps, group);
    print_interval_note(options.bench.rounds);
  }
  write_records(options.bench, bench_ranks_as_json(exchanges, steps, group));
  if (options.machine)
    write_file(*options.machine, bench::machine_file(main_exchange(exchanges), steps, group));
  return Exit::success;
}

Exit run_bench_ranks(const BenchRanksOptions& options) {
  check_no_start(options.common);
  if (const auto exit = launch_ranks(options.common, options.ranks)) return *exit;
  auto group = join_ranks(options.common);
  train::release_signals();  // nothing is saved: a signal ends the process
  return run_rank(group, [&] { return bench_rank(options, group); });
}

}  // namespace

/// `bench ranks` times the exchange of several ranks, and their training steps. Ranks of one
/// machine compete for its cores, so that only figures of several machines depend on other
/// processes' share.
Verb add_bench_ranks(const Command& bench) {
  const auto options = std::make_shared<BenchRanksOptions>();
  const auto command =
      bench.add_subcommand("ranks", "exchange and steps of several processes, in turn");
  add_config_options(command, options->common);
  add_ranks(command, options->ranks);
  command.add_option("--machine", options->machine, "file to write for `plan --ranks N --machine`")
      .type_name("FILE.toml")
      .not_empty();
  add_bench_options(command, options->bench);
  command.footer(kBenchRanksExamples);
  return {command, [options] { return run_bench_ranks(*options); }};
}

}  // namespace evenkeel::cli
