// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/run_checks.h"

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/plan/run_length.h"
#include "evenkeel/train/machine.h"

namespace evenkeel::train {

void check_memory(const nn::Footprint& predicted, Console& console) {
  constexpr double kBeyond =
      1.25;  // factor on the installed memory, above the error of the prediction
  const auto needed = predicted.total();
  const auto free = available_bytes(), installed = total_bytes();
  if (installed > 0 && needed > kBeyond * installed) {
    throw Error(Exit::busy, text("this would take about ", bytes_text(needed),
                                 " of memory, but the machine has ", bytes_text(installed),
                                 "; `evenkeel plan` shows the parts, and what to change"));
  }
  if (free == 0 || needed <= free) return;
  console.warn(text("warning: this will take about ", bytes_text(needed), " of memory, but ",
                    bytes_text(free), " are free; `evenkeel plan` shows the parts"));
}

void warn_of_unreached_probes(const config::Config& config, Console& console) {
  const auto last = plan::steps_of(config);
  for (const auto step : config.probe.steps) {
    if (step <= last) continue;
    console.warn(text("warning: probe.steps names step ", step, ", but the run ends with step ",
                      last, ": nothing is measured there"));
  }
}

void note_unreached_peak(const config::Config& config, const optim::Schedule& schedule,
                         Console& console) {
  const auto last = plan::steps_of(config);
  const auto warmup = schedule.warmup();
  if (warmup < static_cast<double>(last)) return;
  console.info(text("note: schedule.warmup takes ", warmup, " steps, and the run has ", last,
                    ": the learning rate never gets to schedule.peak"));
}

}  // namespace evenkeel::train
