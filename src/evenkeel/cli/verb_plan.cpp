// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>

#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/cli/plan_ranks.h"
#include "evenkeel/cli/plan_text.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/config/config.h"
#include "evenkeel/data/input_kinds.h"
#include "evenkeel/data/text_encoding.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/plan/plan.h"
#include "evenkeel/train/machine.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kPlanExamples = R"(Examples:
  evenkeel plan                                         the default run
  evenkeel plan --preset 151m --set train.batch=1       one sequence a step
  evenkeel plan --run runs/x-1 --set train.batch=64     a run, with larger steps
  evenkeel plan --set data.train=book.txt --tokens-per-second 20000
  evenkeel plan --preset 7b --json
  evenkeel plan --preset 7b --ranks 64                  64 GPUs: memory, time of a step
  evenkeel plan --preset 7b --ranks 64 --machine h100)";

/// The plan of a configuration on this machine.
struct PlanReport {
  config::Config config;
  std::string machine;  // one line, from Machine::description
  plan::Plan plan;
  TextPlan text;
  double available = 0;  // free memory now, bytes; 0: unknown
};

struct PlanOptions {
  CommonOptions common;
  std::optional<double> tokens_per_second;  // --tokens-per-second
  RankPlanOptions ranks;
};

/// A number with three significant digits: "1.23e+18".
std::string scientific(double value) {
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), "%.2e", value);
  return out.data();
}

/// The plan of the configuration of --run and the options.
/// \throws Error (usage), SchemeError for an invalid configuration
PlanReport plan_report(const PlanOptions& options) {
  const auto& common = options.common;
  PlanReport report{.config = config::resolve(common.sources_with_run())};
  data::check_unused_format(report.config);
  const auto machine = train::configure_machine(report.config.train);
  report.machine = machine.description;
  report.plan = plan::plan_of(report.config, machine, data::vocabulary_of(report.config));
  report.available = machine.free_memory;
  report.text.sources = data::text_sizes(report.config.data, report.config.model.vocabulary);
  report.text.run_tokens = report.plan.tokens;
  report.text.tokens_per_second = options.tokens_per_second;
  if (!options.tokens_per_second && common.run) {
    report.text.tokens_per_second = measured_speed(*common.run);
  }
  return report;
}

/// A sentence: the run fits into free memory, or the keys that reduce its memory.
std::string fit_verdict(const PlanReport& report) {
  const auto& plan = report.plan;
  const auto& memory = plan.memory;
  if (memory.total() <= report.available) return "it fits";
  const double fixed = memory.weights + memory.gradients + memory.moments + memory.program;
  if (fixed > report.available) {
    return text(
        "it does not fit, whatever the batch: only a smaller model would fit (model.width, ",
        "model.layers, model.inner, model.vocabulary",
        plan.scheme.shape.experts.count > 0 ? ", model.experts.count" : "", ")");
  }
  return text("it does not fit: ",
              plan.micro_batch_size > 1 ? "fewer sequences at once (train.micro_batch), " : "",
              plan.recompute != "block" ? "activation checkpointing (model.recompute=block), " : "",
              "a shorter context (model.context) or a smaller model may fit");
}

/// Prints parameters, FLOPs, steps, and memory by purpose.
void plan_print(const PlanReport& report) {
  const auto& plan = report.plan;
  const auto line = [](const char* name, const std::string& value, const char* remark = "") {
    print("%-19s %12s  %s\n", name, value.c_str(), remark);
  };
  print("%s under %s, on %s\n\n", report.config.preset.c_str(), report.config.scheme.name.c_str(),
        report.machine.c_str());
  line("parameters", with_commas(plan.counts.total));
  line("  without embedding", with_commas(plan.counts.without_embedding()), "and without the head");
  line("  of norms", with_commas(plan.counts.norms));
  if (plan.scheme.shape.experts.count > 0) {
    line("  active", with_commas(plan.active_parameters),
         ("per token: " + norm::describe(plan.scheme.shape.experts)).c_str());
  }
  line("FLOPs per token", with_unit(plan.flops_per_token),
       "forward and backward, causal attention");
  line("  of norms", with_unit(plan.norm_flops_per_token), "not included: 12 per normalized value");
  line("steps", with_commas(plan.steps));
  line("tokens", with_unit(plan.tokens));
  line("FLOPs of the run", scientific(plan.flops()));
  line("micro-batch size", with_commas(plan.micro_batch_size), "sequences per forward pass");
  print("\nmemory\n");
  const auto& memory = plan.memory;
  line("  weights", bytes_text(memory.weights));
  line("  gradients", bytes_text(memory.gradients));
  line("  moments", bytes_text(memory.moments));
  line("  activations", bytes_text(memory.activations),
       plan.recompute == "none" ? "" : ("model.recompute = \"" + plan.recompute + "\"").c_str());
  line("  temporary", bytes_text(memory.temporary),
       "logits of a chunk, gradients of the head and of one block");
  if (memory.checkpoint > 0)
    line("  checkpoint", bytes_text(memory.checkpoint), "the copy of checkpoint.background");
  line("  program", bytes_text(memory.program));
  line("  total", bytes_text(memory.total()));
  if (report.available > 0) line("  available", bytes_text(report.available));
  print_text_plan(report.text);
  if (report.available <= 0) return;
  print("\n%s\n", fit_verdict(report).c_str());
}

/// The same as JSON, with memory in bytes.
nlohmann::ordered_json plan_as_json(const PlanReport& report) {
  const auto& plan = report.plan;
  const auto& memory = plan.memory;
  nlohmann::ordered_json out = {
      {"preset", report.config.preset},
      {"scheme", report.config.scheme.name},
      {"parameters", plan.counts.total},
      {"parameters_without_embedding", plan.counts.without_embedding()},
      {"norm_parameters", plan.counts.norms},
      {"active_parameters", plan.active_parameters},
      {"flops_per_token", plan.flops_per_token},
      {"norm_flops_per_token", plan.norm_flops_per_token},
      {"steps", plan.steps},
      {"tokens", whole_number(plan.tokens)},
      {"micro_batch", plan.micro_batch_size},
      {"recompute", plan.recompute},
      {"memory_bytes",
       {{"weights", whole_number(memory.weights)},
        {"gradients", whole_number(memory.gradients)},
        {"moments", whole_number(memory.moments)},
        {"activations", whole_number(memory.activations)},
        {"temporary", whole_number(memory.temporary)},
        {"checkpoint", whole_number(memory.checkpoint)},
        {"program", whole_number(memory.program)},
        {"total", whole_number(memory.total())}}},
      {"available_bytes", whole_number(report.available)},
      {"fits", report.available <= 0 || memory.total() <= report.available}};
  add_text_plan(report.text, out);
  return out;
}

/// Prints the plan as text or as JSON.
/// \return Exit::success, also for a run that does not fit
Exit run_plan(const PlanOptions& options) {
  const auto speed = options.tokens_per_second;
  if (speed && !(*speed > 0 && std::isfinite(*speed))) {
    throw Error(Exit::usage, text("--tokens-per-second must be a number > 0, but is ", *speed));
  }
  if (options.ranks.ranks > 0) {
    const bool has_device = options.common.device != CommonOptions().device;
    if (speed || has_device) {
      throw Error(Exit::usage, text(speed ? "--tokens-per-second" : "--device",
                                    " has no effect with --ranks; leave it out"));
    }
    return print_rank_plan(config::resolve(options.common.sources_with_run()), options.ranks,
                           options.common.json);
  }
  if (options.ranks.hosts > 0 || !options.ranks.machine.empty()) {
    throw Error(Exit::usage,
                "--hosts and --machine need --ranks, whose machines they describe; add --ranks");
  }
  use_device(options.common);
  const auto report = plan_report(options);
  for (const auto& source : report.text.sources) {
    for (const auto& warning : source.warnings) print_message("warning: " + warning);
  }
  if (options.common.json) {
    print_json(plan_as_json(report));
  } else {
    plan_print(report);
  }
  return Exit::success;
}

}  // namespace

/// `plan` prints parameters, FLOPs and memory of a run without starting it, and the size of its
/// text: tokens, documents, epochs. FLOPs are those of
/// forward and backward, a multiply-add counts as 2 (nn::flops_per_token()), attention is causal.
/// Memory is the estimate of plan::footprint_of() in bytes, compared with the memory that is free
/// now. With --ranks it prints memory and time of a step on many processes or GPUs instead, for a
/// machine of a machine file. Exit codes: 0, also where the run does not fit; 65 a text is missing
/// or damaged.
Verb add_plan(const Command& program) {
  const auto options = std::make_shared<PlanOptions>();
  const auto command = program.add_subcommand("plan", verb_summary("plan"));
  add_config_options(command, options->common);
  add_run(command, options->common, "run folder; also gives the measured speed");
  add_device(command, options->common);
  add_json(command, options->common);
  command.add_option("--tokens-per-second", options->tokens_per_second,
                     "tokens per second, for the time of the run; default: that of --run");
  command
      .add_option("--ranks", options->ranks.ranks,
                  "processes or GPUs of the run; prints memory and time of a step")
      .type_name("R")
      .between(1, 1048576);
  command
      .add_option("--hosts", options->ranks.hosts,
                  "hosts of the ranks; default: as few as the machine allows")
      .type_name("H")
      .between(1, 1048576);
  command
      .add_option("--machine", options->ranks.machine,
                  "machine of the ranks: h100, h200, or a TOML file; default: h200")
      .type_name("NAME|FILE")
      .not_empty();
  command.footer(kPlanExamples);
  return {command, [options] { return run_plan(*options); }};
}

}  // namespace evenkeel::cli
