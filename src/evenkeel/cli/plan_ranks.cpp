// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/plan_ranks.h"

#include <nlohmann/json.hpp>

#include <array>
#include <functional>
#include <vector>

#include "evenkeel/base/file.h"
#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/cli/plan_text.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/data/text_encoding.h"
#include "evenkeel/plan/ranks.h"

namespace evenkeel::cli {

namespace {

constexpr double kWantedEfficiency = 0.9;
constexpr std::array kShardNames = {"none", "optimizer", "gradients"};  // in the order of kShards

/// What the page shows.
struct RankReport {
  const config::Config& config;
  plan::Hardware hardware;
  plan::RankPlan plan;
  std::array<std::int64_t, 3> max_ranks{};  // with kWantedEfficiency, in the order of kShards
};

/// The machine of --machine: a file if the name has a dot or a slash.
plan::Hardware find_hardware(const std::string& machine) {
  if (machine.empty()) return plan::built_in_hardware(kDefaultMachine);
  const bool is_file = machine.find_first_of("./") != std::string::npos;
  return is_file ? plan::parse_hardware(read_file(machine), machine)
                 : plan::built_in_hardware(machine);
}

RankReport rank_report(const config::Config& config, const RankPlanOptions& options) {
  RankReport report{.config = config, .hardware = find_hardware(options.machine)};
  const auto vocabulary = data::vocabulary_of(config);
  report.plan = plan::rank_plan(config, report.hardware, vocabulary, options.ranks, options.hosts);
  for (std::size_t i = 0; i < plan::kShards.size(); ++i) {
    report.max_ranks.at(i) = plan::max_efficient_ranks(config, report.hardware, vocabulary,
                                                       plan::kShards.at(i), kWantedEfficiency);
  }
  return report;
}

using ShardCell = std::function<std::string(const plan::ShardPlan&)>;

/// One row of the table: a value for each value of distributed.shard.
void print_shard_row(const RankReport& report, const char* name, const ShardCell& shard_cell) {
  print("%-24s", name);
  for (const auto& each : report.plan.by_shard) print(" %12s", shard_cell(each).c_str());
  print("\n");
}

/// "42.9 s", "3.21 ms"
std::string time_text(double seconds) {
  constexpr double kMilli = 1e-3;
  if (seconds == 0) return "0";
  return seconds >= 1 ? with_digits(seconds, 3) + " s" : with_digits(seconds / kMilli, 3) + " ms";
}

void print_memory(const RankReport& report) {
  using plan::RankMemory;
  const std::vector<std::pair<const char*, double RankMemory::*>> rows = {
      {"  weights", &RankMemory::weights},         {"  optimizer", &RankMemory::optimizer},
      {"  gradients", &RankMemory::gradients},     {"  exchange buffers", &RankMemory::buffers},
      {"  activations", &RankMemory::activations}, {"  temporary", &RankMemory::temporary},
      {"  program", &RankMemory::program}};
  print("memory of a rank\n");
  for (const auto& [name, member] : rows) {
    print_shard_row(report, name, [member = member](const plan::ShardPlan& each) {
      return bytes_text(each.memory.*member);
    });
  }
  print_shard_row(report, "  total",
                  [](const auto& each) { return bytes_text(each.memory.total()); });
  const auto& hardware = report.hardware;
  const auto fits = text("  fits ", bytes_text(hardware.memory_share * hardware.memory_bytes));
  print_shard_row(report, fits.c_str(), [](const auto& each) { return each.fits ? "yes" : "no"; });
  print_shard_row(report, "  largest micro-batch",
                  [](const auto& each) { return with_commas(each.max_micro_batch); });
}

void print_step(const RankReport& report) {
  using plan::RankStep;
  const auto& plan = report.plan;
  const std::vector<std::pair<const char*, double RankStep::*>> rows = {
      {"  compute", &RankStep::compute},
      {"  reduce-scatter", &RankStep::reduce_scatter},
      {"  all-gather", &RankStep::all_gather},
      {"  of both not hidden", &RankStep::exposed},
      {"  update", &RankStep::update}};
  print("\nstep of %s tokens\n", with_unit(plan.step_tokens).c_str());
  print_shard_row(report, "  sent by a rank", [](const auto& each) {
    return bytes_text(each.reduce_scatter_bytes + each.all_gather_bytes);
  });
  for (const auto& [name, member] : rows) {
    print_shard_row(report, name, [member = member](const plan::ShardPlan& each) {
      return time_text(each.step.*member);
    });
  }
  print_shard_row(report, "  step", [](const auto& each) { return time_text(each.step.total()); });
  print_shard_row(report, "  efficiency",
                  [](const auto& each) { return percent(each.step.efficiency()); });
  print_shard_row(report, "  MFU", [&](const auto& each) { return percent(plan.mfu(each)); });
  print_shard_row(report, "  tokens per second", [&](const auto& each) {
    return with_unit(plan.step_tokens / each.step.total());
  });
  print_shard_row(report, "  run", [&](const auto& each) {
    return run_time_text(static_cast<double>(plan.plan.steps) * each.step.total());
  });
}

/// What helps where no rank has enough memory, or the exchange takes more than a tenth of the step;
/// "" if neither is so.
std::string rank_verdict(const RankReport& report) {
  const auto& best = report.plan.at(plan::Shard::gradients);
  const auto& usual = report.plan.at(plan::Shard::optimizer).step;
  std::string out;
  if (!best.fits) {
    const auto& plan = report.plan.plan;
    out +=
        text("\nit does not fit: ",
             plan.micro_batch_size > 1 ? "fewer sequences at once (train.micro_batch), " : "",
             plan.recompute != "block" ? "activation checkpointing (model.recompute=block), " : "",
             "more ranks or a smaller model may fit\n");
  }
  if (usual.efficiency() < kWantedEfficiency) {
    out += text("\nthe exchange and the update take ", percent(1 - usual.efficiency()),
                " of a step: fewer ranks, a larger train.batch or a faster network would be more "
                "efficient\n");
  }
  return out;
}

void print_rank_text(const RankReport& report) {
  const auto& plan = report.plan;
  print("%s under %s on %s rank%s, %s to a host: %s (%s), %s\n", report.config.preset.c_str(),
        report.config.scheme.name.c_str(), with_commas(plan.ranks).c_str(),
        plan.ranks == 1 ? "" : "s", with_commas(plan.ranks / plan.hosts).c_str(),
        report.hardware.title.c_str(), report.hardware.name.c_str(),
        report.config.train.precision == "auto" ? report.hardware.precision.c_str()
                                                : report.config.train.precision.c_str());
  print("%s parameters; sequences of a step per rank: %s; micro-batch size %s\n\n",
        with_unit(static_cast<double>(plan.plan.counts.total)).c_str(),
        with_commas(plan.sequences).c_str(), with_commas(plan.plan.micro_batch_size).c_str());
  print("%-24s", "distributed.shard");
  for (const auto* name : kShardNames) print(" %12s", name);
  print("\n");
  print_memory(report);
  print_step(report);
  print("\n%-24s", "ranks at 90 % efficiency");
  for (const auto ranks : report.max_ranks) print(" %12s", with_commas(ranks).c_str());
  print("  at most\n");
  print("%s", rank_verdict(report).c_str());
}

nlohmann::ordered_json shard_json(const RankReport& report, const plan::ShardPlan& each,
                                  std::int64_t max_ranks) {
  const auto& memory = each.memory;
  const auto& step = each.step;
  return {{"memory_bytes",
           {{"weights", whole_number(memory.weights)},
            {"optimizer", whole_number(memory.optimizer)},
            {"gradients", whole_number(memory.gradients)},
            {"buffers", whole_number(memory.buffers)},
            {"activations", whole_number(memory.activations)},
            {"temporary", whole_number(memory.temporary)},
            {"program", whole_number(memory.program)},
            {"total", whole_number(memory.total())}}},
          {"fits", each.fits},
          {"max_micro_batch", each.max_micro_batch},
          {"sent_bytes",
           {{"reduce_scatter", whole_number(each.reduce_scatter_bytes)},
            {"all_gather", whole_number(each.all_gather_bytes)}}},
          {"step_s",
           {{"compute", step.compute},
            {"reduce_scatter", step.reduce_scatter},
            {"all_gather", step.all_gather},
            {"exposed", step.exposed},
            {"update", step.update},
            {"total", step.total()}}},
          {"efficiency", step.efficiency()},
          {"mfu", report.plan.mfu(each)},
          {"tokens_per_second", report.plan.step_tokens / step.total()},
          {"run_s", static_cast<double>(report.plan.plan.steps) * step.total()},
          {"ranks_at_90_percent", max_ranks}};
}

nlohmann::ordered_json rank_json(const RankReport& report) {
  const auto& plan = report.plan;
  nlohmann::ordered_json out = {{"preset", report.config.preset},
                                {"scheme", report.config.scheme.name},
                                {"machine", report.hardware.name},
                                {"ranks", plan.ranks},
                                {"hosts", plan.hosts},
                                {"gradient_shards", plan.gradient_shards},
                                {"parameters", plan.plan.counts.total},
                                {"flops_per_token", plan.plan.flops_per_token},
                                {"steps", plan.plan.steps},
                                {"step_tokens", whole_number(plan.step_tokens)},
                                {"sequences_per_rank", plan.sequences},
                                {"micro_batch", plan.plan.micro_batch_size}};
  for (std::size_t i = 0; i < kShardNames.size(); ++i) {
    out["shard"][kShardNames.at(i)] =
        shard_json(report, plan.by_shard.at(i), report.max_ranks.at(i));
  }
  return out;
}

}  // namespace

Exit print_rank_plan(const config::Config& config, const RankPlanOptions& options, bool json) {
  const auto report = rank_report(config, options);
  if (json) {
    print_json(rank_json(report));
  } else {
    print_rank_text(report);
  }
  return Exit::success;
}

}  // namespace evenkeel::cli
