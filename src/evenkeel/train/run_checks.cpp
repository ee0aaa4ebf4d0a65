// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/run_checks.h"

#include <c10/core/ScalarType.h>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/plan/device_memory.h"

namespace evenkeel::train {

namespace {

[[noreturn]] void refuse_memory(double needed, double installed) {
  throw Error(Exit::busy, text("this would take about ", bytes_text(needed), " of memory, but ",
                               plan::memory_owner(), " has ", bytes_text(installed),
                               "; `evenkeel plan` shows the parts, and what to change"));
}

}  // namespace

void check_installed_memory(double needed) {
  constexpr double kBeyond = 1.25;  // above the error of the prediction
  const double installed = plan::device_memory().whole;
  if (installed > 0 && needed > kBeyond * installed) refuse_memory(needed, installed);
}

void check_memory(const nn::Footprint& predicted, int processes, Console& console) {
  const auto needed = predicted.total() * processes;
  check_installed_memory(needed);
  const double free = plan::device_memory().free;
  if (free == 0 || needed <= free) return;
  console.warn(text("warning: this will take about ", bytes_text(needed), " of memory, but ",
                    bytes_text(free), " are free; `evenkeel plan` shows the parts"));
}

void check_inference_memory(const std::vector<nn::ParameterSpec>& specs, const norm::Shape& shape,
                            nn::Precision precision, nn::ParameterUse use) {
  const auto bytes_of = [](at::ScalarType dtype) {
    return static_cast<double>(c10::elementSize(dtype));
  };
  const double master = bytes_of(nn::master_dtype(precision));
  const double compute = bytes_of(nn::compute_dtype(precision));
  double needed = 0;
  for (const auto& spec : specs) {
    double values = 1;
    for (const auto size : spec.shape) values *= static_cast<double>(size);
    const bool trains = use == nn::ParameterUse::training;  // with masters and gradients
    needed += values * (trains ? 2 * master + (compute < master ? compute : 0) : compute);
  }
  constexpr double kAngleBytes = 40;  // of a pair of features: float64 angle, cosine, sine, a copy
  const auto width = static_cast<double>(shape.head_width());
  const auto cached = 2.0 * static_cast<double>(shape.layers * shape.kv_heads) * width;
  needed += static_cast<double>(shape.context) * (kAngleBytes * width / 2 + compute * cached);
  const double installed = plan::device_memory().whole;
  if (installed > 0 && needed > installed) refuse_memory(needed, installed);
}

void warn_of_unreached_probes(const config::Config& config, std::int64_t steps, Console& console) {
  for (const auto step : config.probe.steps) {
    if (step <= steps) continue;
    console.warn(text("warning: probe.steps names step ", step, ", but the run ends with step ",
                      steps, ": nothing is measured there"));
  }
}

void note_unreached_peak(std::int64_t steps, const optim::Schedule& schedule, Console& console) {
  const auto warmup = schedule.warmup();
  if (warmup <= static_cast<double>(steps)) return;
  console.info(text("note: schedule.warmup takes ", warmup, " steps, and the run has ", steps,
                    ": the learning rate never gets to schedule.peak"));
}

}  // namespace evenkeel::train
