// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/profile_figures.h"

#include <array>
#include <cmath>
#include <set>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/report/heat_map.h"
#include "evenkeel/study/report/mean_curve.h"

namespace evenkeel::study {

namespace {

constexpr std::size_t kMaxProfilePanels = 4;
constexpr std::size_t kMaxHeatMaps = 8;
constexpr std::size_t kMaxStepsWithoutMap = 3;  // a heat map shows more

struct ProfileKind {
  const char* measure;
  const char* part;
  const char* title;
  const char* unit;
  Averaging averaging = Averaging::arithmetic;
};
constexpr ProfileKind kFlow = {"grad_norm", "block", "Gradient flow", "gradient norm of a block",
                               Averaging::geometric};
constexpr std::array kLastStepProfiles = {
    ProfileKind{"attention_entropy", "", "Attention entropy", "nats"},
    ProfileKind{"token_cosine", "", "Token similarity", "mean cosine"}};

const report::LayerMap* map_of(const SeedRun& seed_run, const ProfileKind& kind) {
  return report::find(seed_run.run.layer_maps, kind.measure, kind.part);
}

/// The last step that any run was probed at, those that the study measures at, and the first if
/// `with_first`.
std::set<double> steps_of(const Results& results, const ProfileKind& kind, bool with_first) {
  std::set<double> all, out;
  for (const auto& arm : results.arms) {
    for (const auto& seed_run : arm.seed_runs) {
      const auto* const map = map_of(seed_run, kind);
      if (map == nullptr) continue;
      for (const auto& [step, values] : map->values) all.insert(step);
    }
  }
  if (all.empty()) return out;
  out.insert(*all.rbegin());
  if (with_first) out.insert(*all.begin());
  const auto add = [&](const Measure& measure) {
    const auto step = static_cast<double>(measure.step);
    if (measure.probe == kind.measure && all.contains(step)) out.insert(step);
  };
  add(results.study.measure);
  for (const auto& claim : results.study.claims) add(claim.measure);
  return out;
}

/// True if the run has a profile of this step. A run that ended before it has none.
bool has_profile(const SeedRun& seed_run, const ProfileKind& kind, double step) {
  const auto* const map = map_of(seed_run, kind);
  return map != nullptr && map->at(step).size() > 0;
}

/// The profiles of one step.
std::string profile_figures_figure_of(const Results& results, const ProfileKind& kind,
                                      const Panel& panel, double step, bool has_legend) {
  report::Chart chart{text(kind.title, ", step ", with_commas(std::llround(step)),
                           panel.where.empty() ? "" : ", " + panel.where),
                      kind.unit};
  chart.x_label = "layer";
  if (kind.averaging == Averaging::geometric) chart.scale = report::Scale::logarithmic;
  std::vector<std::size_t> counts;
  for (const auto& spec : panel.curve_specs) {
    std::vector<report::Series> curves;
    for (const auto at : spec.arms) {
      for (const auto& seed_run : results.arms[at].seed_runs) {
        if (has_profile(seed_run, kind, step)) curves.push_back(map_of(seed_run, kind)->at(step));
      }
    }
    if (curves.empty()) continue;
    counts.push_back(curves.size());
    chart.lines.push_back(mean_curve(curves, kind.averaging, spec));
  }
  if (chart.lines.empty()) return "";
  const auto is_drawn = [&](const SeedRun& run) { return has_profile(run, kind, step); };
  chart.note = text(panel.note, panel.note.empty() ? "" : " ", bands_text(counts, kind.averaging),
                    unfinished_runs_note(results, panel, is_drawn));
  chart.has_legend = has_legend;
  chart.when_empty = "Nothing finite was measured.";
  return figure(chart);
}

/// The heat map of the first seed that was probed often enough; "" if none was.
std::string heat_map_of(const Arm& arm) {
  for (const auto& seed_run : arm.seed_runs) {
    const auto* const map = map_of(seed_run, kFlow);
    if (map == nullptr || map->values.size() <= kMaxStepsWithoutMap) continue;
    return report::heat_map(*map, text(kFlow.title, ", ", arm.name),
                            text(kFlow.unit, ", seed ", seed_run.seed));
  }
  return "";
}

std::string heat_maps(const Results& results) {
  std::string out;
  std::size_t drawn = 0;
  for (const auto& panel : panels(results, "", 0)) {
    for (const auto& spec : panel.curve_specs) {
      const auto map = heat_map_of(results.arms[spec.arms.front()]);
      if (map.empty() || drawn == kMaxHeatMaps) continue;
      out += map;
      ++drawn;
    }
  }
  return out;
}

}  // namespace

std::string profile_figures(const Results& results) {
  std::string out;
  for (const auto& panel : panels(results, "", kMaxProfilePanels)) {
    std::string figures;  // of one panel the first has the legend of all
    const auto add = [&](const ProfileKind& kind, bool with_first) {
      for (const auto step : steps_of(results, kind, with_first)) {
        figures += profile_figures_figure_of(results, kind, panel, step, figures.empty());
      }
    };
    add(kFlow, true);
    for (const auto& kind : kLastStepProfiles) add(kind, false);
    out += figures;
  }
  return out + heat_maps(results);
}

}  // namespace evenkeel::study
