// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/measured.h"

#include <algorithm>
#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"

namespace evenkeel::study {

namespace {

double of_profile(const report::Series& profile, Measure::As as) {
  const auto values = report::finite(profile.y);
  if (values.empty()) return std::nan("");
  switch (as) {
    case Measure::As::slope:
      return report::flow_of(profile).slope;
    case Measure::As::steepness:
      return std::abs(report::flow_of(profile).slope);
    case Measure::As::spread:
      return report::flow_of(profile).spread;
    case Measure::As::mean:
      return report::mean_of_last(values, values.size());
    case Measure::As::largest:
      return *std::max_element(values.begin(), values.end());
    case Measure::As::first:
      return values.front();
    case Measure::As::last:
      return values.back();
  }
  return std::nan("");
}

double of_probe(const report::Run& run, const Measure& measure) {
  const auto* const map = report::find(run.layers, measure.probe, measure.part);
  if (map == nullptr || map->values.empty()) return std::nan("");
  const auto step =
      measure.step > 0 ? static_cast<double>(measure.step) : map->values.rbegin()->first;
  return of_profile(map->at(step), measure.as);
}

}  // namespace

double measured(const report::Run& run, const Measure& measure) {
  switch (measure.of) {
    case Measure::Of::val_loss:
      return report::last(run.validation_loss.y);
    case Measure::Of::val_gap:
      return report::last(run.gap.y);
    case Measure::Of::loss:
      return report::final_loss(run);
    case Measure::Of::probe:
      return of_probe(run, measure);
  }
  return std::nan("");
}

void check_measure(const Measure& measure, const config::Config& config) {
  const auto has = [](const std::vector<std::string>& list, const std::string& word) {
    return std::find(list.begin(), list.end(), word) != list.end();
  };
  if (measure.of == Measure::Of::val_gap && !config.data.train.front().starts_with("builtin:")) {
    throw Error(Exit::usage,
                text("measure: \"val_gap\" is for built-in text, whose entropy is known, "
                     "but data.train is ",
                     config.data.train.front(), "; take \"val_loss\""));
  }
  if (measure.of != Measure::Of::probe) return;
  const auto& probe = config.probe;
  if (!has(probe.what, "all") && !has(probe.what, measure.probe)) {
    throw Error(Exit::usage, text("measure: probe.what must name ", measure.probe));
  }
  const bool by_list = measure.step > 0 ? std::find(probe.steps.begin(), probe.steps.end(),
                                                    measure.step) != probe.steps.end()
                                        : !probe.steps.empty();
  const bool by_interval = probe.every > 0 && measure.step % probe.every == 0;
  if (by_list || by_interval) return;
  throw Error(Exit::usage, text("measure: ", measure.name(),
                                " is never probed; name the step in "
                                "probe.steps, or set probe.every"));
}

std::string failure_of(const report::Run& run, double fails_above) {
  constexpr int kDigits = 4;
  if (run.state == "diverged")
    return text("diverged at step ", with_commas(std::llround(run.step)));
  const auto& losses = run.validation_loss.y;
  if (losses.empty() || !std::isfinite(losses.back())) return "no finite validation loss";
  if (fails_above > 0 && losses.back() > fails_above) {
    return text("validation loss ", with_digits(losses.back(), kDigits), " above ",
                shortest(fails_above));
  }
  return "";
}

}  // namespace evenkeel::study
