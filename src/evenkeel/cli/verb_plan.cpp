// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <memory>

#include "evenkeel/base/number.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/data/corpus.h"
#include "evenkeel/nn/flops.h"
#include "evenkeel/nn/footprint.h"
#include "evenkeel/nn/parameter_specs.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/train/machine.h"
#include "evenkeel/train/trainer.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kPlanExamples = R"(Examples:
  evenkeel plan                                         the default run
  evenkeel plan --preset 151m --set train.batch=1       one sequence a step
  evenkeel plan --run runs/x-1 --set train.batch=64     a run, with larger steps
  evenkeel plan --preset 7b --json)";

/// Size, work and memory of a run, computed without starting it.
struct Plan {
  config::Config config;
  std::string machine;
  nn::ParameterCounts counts;
  norm::Experts experts;
  std::int64_t active = 0;  // parameters used per token (mixture of experts: top-k and shared)
  nn::Footprint memory;
  double available = 0;  // free memory now, bytes; 0: unknown
  double flops_per_token = 0, norm_flops_per_token = 0;
  std::int64_t steps = 0, micro_batch = 0;
  double tokens() const {
    return static_cast<double>(steps) *
           static_cast<double>(config.train.batch * config.model.context);
  }
};

/// A number with three significant digits: "1.23e+18".
std::string scientific(double value) {
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), "%.2e", value);
  return out.data();
}

/// Computes the plan of the configuration of --run and the options.
/// \throws Error (usage), SchemeError for an invalid configuration
Plan plan_of(const CommonOptions& common) {
  Plan plan;
  plan.config = config::resolve(common.sources_with_run());
  const auto& config = plan.config;
  const auto shape = config::shape_of(config, data::kByteVocabulary);
  const auto scheme = config::bind(config.scheme, shape);
  const auto machine = train::configure_machine(config.train);
  const auto padded_vocabulary = train::padded_vocabulary_size(config.model, shape.vocabulary);
  plan.machine = machine.description;
  plan.steps = train::steps_of(config);
  plan.micro_batch = train::micro_batch_size(config, shape.vocabulary);
  const auto specs = nn::parameter_specs(scheme, padded_vocabulary, config.model.tied);
  plan.counts = nn::parameter_counts(specs);
  plan.experts = shape.experts;
  plan.active = nn::active_parameters(specs, shape);
  plan.flops_per_token = nn::flops_per_token(scheme, padded_vocabulary);
  plan.norm_flops_per_token = nn::norm_flops_per_token(scheme);
  plan.memory = train::footprint_of(config, scheme, padded_vocabulary, machine.precision);
  plan.available = train::available_bytes();
  return plan;
}

/// A sentence: the run fits into free memory, or the keys that reduce its memory.
std::string fit_verdict(const Plan& plan) {
  const auto& memory = plan.memory;
  if (memory.total() <= plan.available) return "it fits";
  const double fixed = memory.weights + memory.gradients + memory.moments + memory.program;
  if (fixed > plan.available) {
    return text("it does not fit, whatever the batch: only a smaller model would (model.width, ",
                "model.layers, model.inner, model.vocabulary",
                plan.experts.count > 0 ? ", model.experts.count" : "", ")");
  }
  return text("it does not fit: ",
              plan.micro_batch > 1 ? "fewer sequences at once (train.micro_batch), " : "",
              plan.config.model.recompute != "block"
                  ? "activation checkpointing (model.recompute=block), "
                  : "",
              "a shorter context (model.context) or a smaller model may");
}

/// Prints parameters, FLOPs, steps, and memory by purpose.
void plan_print(const Plan& plan) {
  const auto line = [](const char* name, const std::string& value, const char* remark = "") {
    std::printf("%-18s %12s  %s\n", name, value.c_str(), remark);
  };
  std::printf("%s under %s, on %s\n\n", plan.config.preset.c_str(), plan.config.scheme.name.c_str(),
              plan.machine.c_str());
  line("parameters", with_commas(plan.counts.total));
  line("  without tokens", with_commas(plan.counts.without_embedding()),
       "embedding and head not counted");
  line("  of norms", with_commas(plan.counts.norms));
  if (plan.experts.count > 0) {
    line("  active", with_commas(plan.active),
         ("on a token: " + norm::describe(plan.experts)).c_str());
  }
  line("FLOPs per token", with_unit(plan.flops_per_token),
       "forward and backward, causal attention");
  line("  of norms", with_unit(plan.norm_flops_per_token),
       "not among them: 12 for each value normed");
  line("steps", with_commas(plan.steps));
  line("tokens", with_unit(plan.tokens()));
  line("FLOPs of the run", scientific(plan.tokens() * plan.flops_per_token));
  line("sequences at once", with_commas(plan.micro_batch), "a step may take several such parts");
  std::printf("\nmemory\n");
  const auto& memory = plan.memory;
  line("  weights", bytes_text(memory.weights));
  line("  gradients", bytes_text(memory.gradients));
  line("  moments", bytes_text(memory.moments));
  line("  activations", bytes_text(memory.activations));
  line("  passing", bytes_text(memory.temporary),
       "logits of a chunk, gradients of the head and inside a block");
  line("  program", bytes_text(memory.program));
  line("  together", bytes_text(memory.total()));
  if (plan.available <= 0) return;
  line("  free here", bytes_text(plan.available));
  std::printf("\n%s\n", fit_verdict(plan).c_str());
}

/// The content of plan_print(). Memory is in bytes; "fits" is true if free memory is unknown.
nlohmann::ordered_json plan_as_json(const Plan& plan) {
  const auto& memory = plan.memory;
  return {{"preset", plan.config.preset},
          {"scheme", plan.config.scheme.name},
          {"parameters", plan.counts.total},
          {"parameters_without_embedding", plan.counts.without_embedding()},
          {"norm_parameters", plan.counts.norms},
          {"active_parameters", plan.active},
          {"flops_per_token", plan.flops_per_token},
          {"norm_flops_per_token", plan.norm_flops_per_token},
          {"steps", plan.steps},
          {"tokens", plan.tokens()},
          {"micro_batch", plan.micro_batch},
          {"memory_bytes",
           {{"weights", memory.weights},
            {"gradients", memory.gradients},
            {"moments", memory.moments},
            {"activations", memory.activations},
            {"passing", memory.temporary},
            {"program", memory.program},
            {"total", memory.total()}}},
          {"available_bytes", plan.available},
          {"fits", plan.available <= 0 || memory.total() <= plan.available}};
}

/// Prints the plan as text or as JSON.
/// \return Exit::success, also for a run that does not fit
Exit run_plan(const CommonOptions& common) {
  check_device(common);
  const auto plan = plan_of(common);
  if (common.json) {
    print_json(plan_as_json(plan));
  } else {
    plan_print(plan);
  }
  return Exit::success;
}

}  // namespace

/// `plan` prints parameters, FLOPs and memory of a run without starting it. FLOPs are those of
/// forward and backward, a multiply-add counts as 2 (nn::flops_per_token()), attention is causal.
/// Memory is the estimate of train::footprint_of() in bytes, compared with the memory that is free
/// now. Exit code: 0, also for a run that does not fit.
Verb add_plan(const Command& program) {
  const auto common = std::make_shared<CommonOptions>();
  const auto command =
      program.add_subcommand("plan", "size, work and memory of a run, before it starts");
  add_config_options(command, *common);
  add_run(command, *common);
  add_device(command, *common);
  add_json(command, *common);
  command.footer(kPlanExamples);
  return {command, [common] { return run_plan(*common); }};
}

}  // namespace evenkeel::cli
