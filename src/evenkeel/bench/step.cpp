// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/step.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <memory>

#include "evenkeel/bench/gemm_rate.h"
#include "evenkeel/bench/usage.h"
#include "evenkeel/data/load_corpora.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/ops/common/short_waits.h"
#include "evenkeel/plan/memory.h"
#include "evenkeel/plan/plan.h"
#include "evenkeel/plan/run_length.h"
#include "evenkeel/train/run_checks.h"
#include "evenkeel/train/trainer.h"

namespace evenkeel::bench {

namespace {

struct ActiveRun {
  config::Config config;
  plan::Plan plan;
  norm::Shape shape;
  std::unique_ptr<train::Trainer> trainer;
};

/// A run of at least `steps` steps: the schedule, and expressions of the step, do not end before.
config::Config with_steps(config::Config config, std::int64_t steps) {
  if (plan::steps_of(config) >= steps) return config;
  config.train.steps = steps;
  config.train.tokens = 0;
  if (config.schedule.steps < steps) config.schedule.steps = 0;  // as long as the run
  return config;
}

/// \param steps  that will be timed, at most
ActiveRun planned_run(config::Sources sources, const std::string& scheme, std::int64_t steps,
                      const data::Corpora& corpora, const train::Machine& machine) {
  sources.scheme = scheme;
  ActiveRun running;
  running.config = with_steps(config::resolve(sources), steps);
  running.plan = plan::plan_of(running.config, machine, corpora.encoding->vocabulary());
  running.config = plan::with_recompute(running.config, running.plan);
  running.shape = running.plan.scheme.shape;
  return running;
}

std::vector<ActiveRun> planned_runs(const config::Sources& sources,
                                    const std::vector<std::string>& schemes, int rounds,
                                    const data::Corpora& corpora, const train::Machine& machine) {
  constexpr std::int64_t kWarmupsAndProfiles = 8;
  const auto steps = 2 * std::int64_t{rounds} + kWarmupsAndProfiles;  // each round may be repeated
  std::vector<ActiveRun> running;
  running.reserve(schemes.size());
  for (const auto& scheme : schemes) {
    running.push_back(planned_run(sources, scheme, steps, corpora, machine));
  }
  return running;
}

/// Creates the models.
/// \throws Error (busy) if all together need more than the installed memory
void create_models(std::vector<ActiveRun>& running, const data::Corpora& corpora,
                   const train::Machine& machine) {
  double states = 0, passes = 0;  // one scheme computes at a time; CUDA graphs keep their memory
  for (const auto& each : running) {
    const auto& memory = each.plan.memory;
    const double own = memory.weights + memory.gradients + memory.moments,
                 pass = memory.total() - own;
    states += own;
    const bool keeps = machine.device.is_cuda() && each.config.train.cuda_graphs;
    passes = keeps ? passes + pass : std::max(passes, pass);
  }
  train::check_installed_memory(states + passes);
  for (auto& each : running) {
    each.trainer =
        std::make_unique<train::Trainer>(each.config, each.shape, machine.precision, corpora);
  }
}

/// The rate of the model's fastest GEMM, and the share of CPU time that other processes took.
struct GemmMeasurement {
  double rate = 0;                   // FLOP/s
  std::optional<double> contention;  // contention_during()
};

GemmMeasurement gemm_measurement(const std::vector<Arm>& gemms) {
  GemmMeasurement result;
  result.contention = contention_during([&] { result.rate = best_gemm_rate(gemms); });
  return result;
}

/// The rate is the larger of two, so one undisturbed measurement is enough.
std::optional<double> least(std::optional<double> one, std::optional<double> other) {
  if (!one || !other) return one ? one : other;
  return std::min(*one, *other);
}

/// The share of rounds, and of GEMMs if it is known.
std::optional<double> largest(std::optional<double> of_rounds, std::optional<double> of_gemms) {
  if (!of_rounds || !of_gemms) return of_rounds;
  return std::max(*of_rounds, *of_gemms);
}

/// The profiled steps of an arm.
void profile_step(StepArm& arm, const Arm& timed, const train::Machine& machine) {
  const auto faults = usage().faults;
  const auto times = operator_times(timed.run);
  arm.operators = times.seconds;
  arm.profiled = times.elapsed;
  arm.faults = usage().faults - faults;
  if (machine.threads < 2 || machine.device.is_cuda() || ops::are_waits_fixed()) return;
  const ops::ShortWaits asleep(machine.threads);
  timed.run();  // while the threads of the teams change
  const auto watched = operator_times(timed.run);
  arm.serial = watched.serial_seconds(machine.threads);
  arm.serial_step = watched.elapsed;
}

}  // namespace

StepResult time_steps(const config::Sources& sources, const std::vector<std::string>& schemes,
                      int rounds) {
  auto first = sources;
  first.scheme = schemes.front();
  const auto config = config::resolve(first);
  StepResult result;
  result.machine = train::configure_machine(config.train);
  const auto corpora =
      data::load_corpora(config.data, config.model.context, config.model.vocabulary);
  result.tokens = config.train.batch * config.model.context;

  auto running = planned_runs(sources, schemes, rounds, corpora, result.machine);
  create_models(running, corpora, result.machine);
  std::vector<Arm> arms;
  arms.reserve(schemes.size());
  for (std::size_t i = 0; i < schemes.size(); ++i) {
    arms.push_back({schemes[i], [trainer = running[i].trainer.get()] { trainer->step(); }});
  }
  const auto rows = running.front().plan.micro_batch_size * config.model.context;
  const auto gemms =
      gemm_arms(running.front().shape, rows, nn::compute_dtype(result.machine.precision));
  const auto gemms_before = gemm_measurement(gemms);
  const auto timed = repeated_timings(arms, rounds);
  const auto& timings = timed.timings;
  result.repeated = timed.repeated;
  const auto gemms_after = gemm_measurement(gemms);
  result.gemm_rate = std::max(gemms_before.rate, gemms_after.rate);
  result.contention =
      largest(timed.contention, least(gemms_before.contention, gemms_after.contention));

  for (std::size_t i = 0; i < arms.size(); ++i) {
    StepArm arm{.scheme = schemes[i], .timing = timings[i]};
    arm.flops = running[i].plan.flops_per_token * static_cast<double>(result.tokens);
    arm.against_first = ratio(timings[i], timings.front());
    profile_step(arm, arms[i], result.machine);
    result.arms.push_back(std::move(arm));
  }
  result.peak_bytes = usage().peak_bytes;
  return result;
}

}  // namespace evenkeel::bench
