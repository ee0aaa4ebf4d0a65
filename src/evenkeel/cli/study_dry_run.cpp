// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/study_dry_run.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/base/printable.h"
#include "evenkeel/bench/gemm_rate.h"
#include "evenkeel/cli/plan_text.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/data/text_encoding.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/plan/plan.h"
#include "evenkeel/study/runs/disk_space.h"
#include "evenkeel/train/machine.h"

namespace evenkeel::cli {

namespace {

/// ": a difference of 0.01 nats per token where the differences of a seed deviate by 0.005 or less"
std::string smallest_effect_text(const study::Study& study, const study::DryRun& plan) {
  const auto effect = study::smallest_effect_of(study, study.measure);
  if (!effect) return "";
  const auto unit = study.measure.difference_unit();
  return text(": a difference of ", with_digits(*effect, 2), unit.empty() ? "" : " ", unit,
              " where the differences of a seed deviate by ",
              with_digits(*effect / plan.minimum_detectable_effect, 2), " or less");
}

/// A sentence with the minimum detectable effect, in standard deviations, and the deviation at
/// which that is the smallest effect of interest.
std::string detectable_effect_text(const study::Study& study, const study::DryRun& plan) {
  const auto seeds = study.seeds.size();
  if (seeds < 2) return "one seed gives no verdict; two are the least";
  return text("with ", seeds, " seeds and ", plan.hypotheses,
              plan.hypotheses == 1 ? " hypothesis" : " hypotheses",
              ", the minimum detectable effect at 80 % power is ",
              with_digits(plan.minimum_detectable_effect, 2), " standard deviations",
              smallest_effect_text(study, plan));
}

/// The FLOP/s of all runs that train at a time, from the rate of the fastest matrix product of the
/// largest run, which is measured here. Runs share a GPU. Trainings of small models took 1.6 to 2.5
/// times the time of their FLOPs at that rate, evaluations included.
double estimated_rate(const study::StudyRequest& request, const study::DryRun& plan) {
  constexpr double kUtilization = 0.45;
  constexpr std::int64_t kMaxTokens = 256;  // a product takes a second at most
  const auto& study = request.study;
  auto config =
      study::config_of(study, study::grid_points(study)[plan.largest_arm], study.seeds.front(), {});
  if (!study.exclusive) config.train.threads = 1;
  const auto machine = train::configure_machine(config.train);
  const auto run = plan::plan_of(config, machine, data::vocabulary_of(config));
  const auto tokens = std::min(kMaxTokens, run.micro_batch_size * config.model.context);
  const auto rate = bench::best_gemm_rate(
      bench::gemm_arms(run.scheme.shape, tokens, nn::compute_dtype(machine.precision)));
  return kUtilization * rate * (machine.device.is_cuda() ? 1 : plan.at_once);
}

/// The hours that the other runs take.
struct Hours {
  double hours = 0;
  bool is_estimate = false;  // by estimated_rate(); else by the finished runs
};

Hours hours_of(const study::StudyRequest& request, const study::DryRun& plan) {
  if (const auto measured = plan.hours()) return {*measured};
  if (plan.is_finished()) return {0};
  return {plan.hours_at(estimated_rate(request, plan)), true};
}

nlohmann::ordered_json json_of(const study::DryRun& plan, const Hours& left, double free_memory,
                               std::int64_t free_disk) {
  return {{"arms", plan.arms},
          {"runs", plan.runs},
          {"finished", plan.cached},
          {"further_runs", plan.further_runs},
          {"further_finished", plan.further_cached},
          {"searches", plan.search_runs},
          {"searches_finished", plan.search_cached},
          {"flops", plan.flops},
          {"tokens", plan.tokens},
          {"most_bytes", plan.max_bytes},
          {"search_flops", plan.search_flops},
          {"questions", plan.hypotheses},
          {"largest", plan.largest_run},
          {"hours", left.hours},
          {"hours_are_estimated", left.is_estimate},
          {"checkpoint_bytes", plan.checkpoint_bytes},
          {"free_disk_bytes", free_disk >= 0 ? nlohmann::ordered_json(free_disk) : nullptr},
          {"free_bytes", free_memory}};
}

/// The lines on time, memory and disk.
void print_resources(const study::DryRun& plan, const Hours& left, double free_memory,
                     std::int64_t free_disk) {
  constexpr double kHour = 3600;
  if (plan.is_finished()) return print("all runs are finished\n");
  print("the %sruns take about %s here, %s\n",
        plan.cached + plan.further_cached + plan.search_cached > 0 ? "other " : "",
        run_time_text(kHour * left.hours).c_str(),
        left.is_estimate ? "estimated from the rate of a matrix product"
                         : "at the speed of the finished ones");
  print("largest run: %s (%s of memory, %s free here%s)\n",
        printable_line(plan.largest_run).c_str(), bytes_text(plan.max_bytes).c_str(),
        bytes_text(free_memory).c_str(), plan.max_bytes > free_memory ? ": it does not fit" : "");
  print("checkpoints: %s of disk", bytes_text(plan.checkpoint_bytes).c_str());
  if (free_disk >= 0) {
    const auto free = static_cast<double>(free_disk);
    print(", %s free here%s", bytes_text(free).c_str(),
          plan.disk_bytes() > free ? ": they do not fit" : "");
  }
  print("\n");
}

}  // namespace

void print_dry_run(const study::StudyRequest& request, const study::Resources& resources,
                   bool json) {
  const auto plan = study::dry_run(request, resources);
  const auto free_disk = study::free_disk_bytes(resources.run_cache);
  const auto left = hours_of(request, plan);
  if (json) return print_json(json_of(plan, left, resources.memory_bytes, free_disk));
  const auto seeds = request.study.seeds.size();
  print("%s\n%zu arms, %zu seed%s: %zu runs", printable_line(request.study.title).c_str(),
        plan.arms, seeds, seeds == 1 ? "" : "s", plan.runs);
  if (plan.cached > 0) print(", %zu of them finished", plan.cached);
  if (plan.further_runs > 0) {
    print(", and %s%zu near the best values of %s", plan.cached < plan.runs ? "about " : "",
          plan.further_runs, request.study.refine->axis.c_str());
  }
  if (plan.further_cached > 0) print(", %zu of them finished", plan.further_cached);
  if (plan.search_runs > 0) {
    print(", and %zu, most of them shorter, to search %s", plan.search_runs,
          request.study.tune->key.c_str());
  }
  if (plan.search_cached > 0) print(", %zu of them finished", plan.search_cached);
  print("\n%s tokens, %s FLOPs", with_unit(plan.tokens).c_str(),
        with_digits(plan.flops, 3).c_str());
  if (plan.search_runs > 0) print(", and %s to search", with_digits(plan.search_flops, 3).c_str());
  print("\n%s\n", detectable_effect_text(request.study, plan).c_str());
  for (const auto& each : study::undecidable_claims(request.study)) print("%s\n", each.c_str());
  print_resources(plan, left, resources.memory_bytes, free_disk);
}

}  // namespace evenkeel::cli
