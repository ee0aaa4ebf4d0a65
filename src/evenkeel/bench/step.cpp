// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/step.h"

#include <ATen/ATen.h>
#include <sys/resource.h>

#include <algorithm>
#include <memory>

#include "evenkeel/config/scheme.h"
#include "evenkeel/data/corpus.h"
#include "evenkeel/nn/declare.h"
#include "evenkeel/train/trainer.h"

namespace evenkeel::bench {

namespace {

rusage usage() {
  rusage all{};
  getrusage(RUSAGE_SELF, &all);
  return all;
}

struct Running {
  config::Config config;
  norm::Shape shape;
  std::unique_ptr<train::Trainer> trainer;
};

Running start(config::Sources sources, const std::string& scheme, const data::Corpora& corpora,
              nn::Precision precision) {
  sources.scheme = scheme;
  Running running;
  running.config = config::resolve(sources);
  running.shape = config::shape_of(running.config, data::kByteVocabulary);
  running.trainer =
      std::make_unique<train::Trainer>(running.config, running.shape, precision, corpora.train);
  return running;
}

/// The products of a training step that have the most FLOPs, forward: x w^T.
std::vector<Arm> products(const norm::Shape& shape, std::int64_t tokens, at::ScalarType dtype) {
  std::vector<Arm> arms;
  for (const auto& [out, in] :
       {std::pair(2 * shape.inner, shape.width), std::pair(shape.width, shape.inner),
        std::pair(shape.width, shape.width)}) {
    const auto x = at::randn({tokens, in}).to(dtype);
    const auto w = at::randn({out, in}).to(dtype);
    arms.push_back({std::to_string(2 * tokens * out * in), [=] { at::linear(x, w); }});
  }
  return arms;
}

/// \return FLOP/s of the fastest
double best_rate(const std::vector<Arm>& arms) {
  double best = 0;
  for (const auto& timing : interleaved(arms, 3, /*warmups=*/1)) {
    best = std::max(best, std::stod(timing.name) / timing.least());
  }
  return best;
}

}  // namespace

StepResult time_steps(const config::Sources& sources, const std::vector<std::string>& schemes,
                      int rounds) {
  auto first = sources;
  first.scheme = schemes.front();
  const auto config = config::resolve(first);
  StepResult result;
  result.machine = train::use_machine(config.train);
  const auto corpora = data::load(config.data, config.model.context);
  result.tokens = config.train.batch * config.model.context;

  std::vector<Running> running;
  std::vector<Arm> arms;
  for (const auto& scheme : schemes) {
    running.push_back(start(sources, scheme, corpora, result.machine.precision));
    arms.push_back({scheme, [trainer = running.back().trainer.get()] { trainer->step(); }});
  }
  const auto rates =
      products(running.front().shape, result.tokens, nn::compute_dtype(result.machine.precision));
  result.gemm_rate = best_rate(rates);
  const auto timings = interleaved(arms, rounds);
  result.gemm_rate = std::max(result.gemm_rate, best_rate(rates));

  for (std::size_t i = 0; i < arms.size(); ++i) {
    const auto& [config_of, shape, trainer] = running[i];
    const auto& scheme = trainer->model().scheme();
    const auto rows = train::embedding_rows(config_of.model, shape.vocabulary);
    StepArm arm{.scheme = schemes[i], .timing = timings[i]};
    arm.flops = nn::flops_per_token(scheme, rows) * static_cast<double>(result.tokens);
    arm.against_first = ratio(timings[i], timings.front());
    const auto faults = usage().ru_minflt;
    const Arm watched{schemes[i], [&] { arm.operators = seconds_by_operator(arms[i].run); }};
    arm.watched = interleaved({watched}, 1, /*warmups=*/0).front().least();
    arm.faults = static_cast<double>(usage().ru_minflt - faults);
    result.arms.push_back(std::move(arm));
  }
  result.peak_bytes = 1024.0 * static_cast<double>(usage().ru_maxrss);
  return result;
}

}  // namespace evenkeel::bench
