// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/overhead.h"

#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/report/html.h"
#include "evenkeel/study/measured.h"

namespace evenkeel::study {

Table overhead_table(const Results& results) {
  Table table{{{"arm", Column::Kind::name},
               {"parameters of norms", Column::Kind::number},
               {"of all", Column::Kind::number},
               {"FLOPs of norms", Column::Kind::number},
               {"ms a step", Column::Kind::number},
               {"tokens a second", Column::Kind::number}}};
  if (results.study.measure.of != Measure::Of::step_time) return table;
  constexpr int kPlaces = 3;
  for (const auto& arm : results.arms) {
    std::vector<double> times, speeds;
    for (const auto& member : arm.members) {
      if (member.state != Member::State::finished) continue;
      times.push_back(milliseconds_of(member.run));
      speeds.push_back(report::median(report::finite(member.run.tokens_per_second.y)));
    }
    const auto all = static_cast<double>(arm.parameters);
    table.rows.push_back(
        {{arm.name},
         {with_commas(arm.norm_parameters)},
         {percent(static_cast<double>(arm.norm_parameters) / all)},
         {percent(arm.norms_share)},
         {times.empty() ? "–" : report::fixed(report::median(times), kPlaces)},
         {speeds.empty() ? "–" : with_commas(std::llround(report::median(speeds)))}});
  }
  table.below =
      "FLOPs of norms: 4 for each value that is normed, forward, as the paper counts; over those "
      "of "
      "matrix products and causal attention. Times: medians over the logged steps of each run, and "
      "over the runs, each with the whole machine.";
  return table;
}

}  // namespace evenkeel::study
