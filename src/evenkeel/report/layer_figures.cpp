// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/layer_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/report/chart.h"
#include "evenkeel/report/heat_map.h"
#include "evenkeel/report/html.h"
#include "evenkeel/report/page_parts.h"

namespace evenkeel::report {

namespace {

struct ShownMeasure {
  const char* name;
  const char* part;
  const char* title;
  const char* unit;
  bool logarithmic = false;
};

constexpr std::array kShownMeasures = {
    ShownMeasure{"grad_norm", "block", "Gradient flow", "gradient norm of a block", true},
    ShownMeasure{"stream_rms", "", "Residual stream", "root mean square", true},
    ShownMeasure{"stream_max", "", "Largest activation", "of the stream", true},
    ShownMeasure{"branch_ratio", "attention", "Attention branch", "rms over that of the stream"},
    ShownMeasure{"branch_ratio", "feed_forward", "Feed-forward branch",
                 "rms over that of the stream"},
    ShownMeasure{"attention_entropy", "", "Attention entropy", "nats"},
    ShownMeasure{"attention_logit_max", "", "Largest attention score", "after scale, before cap"},
    ShownMeasure{"token_cosine", "", "Token similarity", "mean cosine"},
    ShownMeasure{"effective_rank", "", "Effective rank", "of the centred stream"},
    ShownMeasure{"block_angle", "", "Angle of a block",
                 "between its input and output stream, in pi"},
    ShownMeasure{"kurtosis", "", "Kurtosis", "of a token's features"},
    ShownMeasure{"outlier_share", "", "Outliers", "share beyond 6 rms of their token"},
    ShownMeasure{"token_mean", "", "Mean of tokens", "over their rms"},
    ShownMeasure{"sparse_attention", "", "Sparse attention", "share of queries"},
    ShownMeasure{"circuit_collapse", "noise 0.1", "Circuit collapse",
                 "share of sparse queries, noise 0.1"},
    ShownMeasure{"skip_loss", "", "Loss without a block", "rise, nats per token"},
    ShownMeasure{"router_entropy", "", "Entropy of the routing", "nats"},
    ShownMeasure{"router_logit_max", "", "Largest router logit", "magnitude"},
    ShownMeasure{"expert_load", "", "Busiest expert", "its choices over the mean"},
    ShownMeasure{"dead_experts", "", "Dead experts", "share"},
};

/// At most three significant digits; "–" for NaN.
std::string short_text(double value) {
  constexpr int kDigits = 3;
  return std::isfinite(value) ? with_digits(value, kDigits) : "–";
}

/// "step 1,000"
std::string step_text(double step) {
  return "step " + with_commas(std::llround(step));
}

/// Curves over layers.
Chart profile_chart(const ShownMeasure& measure, const std::string& note) {
  Chart chart{measure.title, measure.unit, note};
  chart.x_label = "layer";
  if (measure.logarithmic) chart.scale = Scale::logarithmic;
  return chart;
}

/// A heat map, or a chart over the layers if a single step was probed.
/// \param like  a map whose colours must mean the same values; nullptr: none
std::string figure_of(const LayerMap& map, const ShownMeasure& measure, const LayerMap* like) {
  if (map.values.size() > 1) return heat_map(map, measure.title, measure.unit, "step", like);
  const double step = map.values.begin()->first;
  auto chart = profile_chart(measure, text("On ", map.on, " text at ", step_text(step), "."));
  chart.lines.push_back({"", map.at(step), 0, 0, Stroke::dotted});
  return figure(chart);
}

/// A run that was probed, and the style of its curves.
struct Probed {
  const Run* run;
  LineStyle style;
};
using AllProbed = std::vector<Probed>;

/// The profiles of a measure at one step, one curve per run; "" if no run has the measure.
/// \param has_legend  true for the first figure, which is also wide
std::string comparison_figure(const AllProbed& runs, const ShownMeasure& measure, double step,
                              bool has_legend) {
  auto chart = profile_chart(measure, text("At ", step_text(step), "."));
  for (const auto& [run, style] : runs) {
    const auto* const map = find(run->layer_maps, measure.name, measure.part);
    if (map == nullptr || map->at(step).size() == 0) continue;
    chart.lines.push_back({run->name, map->at(step), style.colour, style.dash, Stroke::bold});
  }
  if (chart.lines.empty()) return "";
  chart.has_legend = has_legend;
  chart.wide = has_legend;
  return figure(chart);
}

/// The steps at which at least two runs were probed.
std::vector<double> shared_steps(const AllProbed& runs) {
  std::map<double, int> count;
  for (const auto& [run, style] : runs) {
    std::set<double> own;
    for (const auto& map : run->layer_maps) {
      if (map.on != "training") continue;
      for (const auto& [step, values] : map.values) own.insert(step);
    }
    for (const auto step : own) ++count[step];
  }
  std::vector<double> steps;
  for (const auto& [step, run_count] : count) {
    if (run_count > 1) steps.push_back(step);
  }
  return steps;
}

/// Mean and standard deviation: "0.21 ± 0.11".
std::string mean_text(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (const auto value : values) sum += value;
  const auto count = static_cast<double>(values.size());
  const double mean = sum / count;
  for (const auto value : values) squares += (value - mean) * (value - mean);
  return short_text(mean) + " ± " + short_text(std::sqrt(squares / (count - 1)));
}

/// One table row per scheme with several runs: mean and standard deviation over runs.
std::string mean_rows(const AllProbed& runs, const std::vector<double>& steps) {
  std::vector<std::string> schemes;
  for (const auto& [run, style] : runs) {
    if (std::count(schemes.begin(), schemes.end(), run->scheme) == 0)
      schemes.push_back(run->scheme);
  }
  std::string rows;
  for (const auto& scheme : schemes) {
    std::string cells;
    std::size_t members = 0;
    for (const auto step : steps) {
      std::vector<double> slopes, spreads;
      for (const auto& [run, style] : runs) {
        const auto* const map = find(run->layer_maps, "grad_norm", "block");
        if (run->scheme != scheme || map == nullptr || map->at(step).size() == 0) continue;
        const auto trend = depth_trend(map->at(step));
        slopes.push_back(trend.slope);
        spreads.push_back(trend.spread);
      }
      members = std::max(members, slopes.size());
      const bool several = slopes.size() > 1;
      cells += element("td", several ? mean_text(slopes) : "–", "number") +
               element("td", several ? mean_text(spreads) : "–", "number");
    }
    if (members < 2) continue;
    const auto name = text("mean of ", members, " runs");
    rows += element("tr", element("td", name, "name") + element("td", escaped(scheme)) + cells,
                    "best") +
            "\n";
  }
  return rows;
}

/// A table of slope and spread of the gradient norms, per run and step.
std::string flow_table(const AllProbed& runs, const std::vector<double>& steps) {
  auto head = element("th", "run") + element("th", "scheme");
  for (const auto step : steps) {
    head += element("th", "slope, " + step_text(step), "number") +
            element("th", "spread, " + step_text(step), "number");
  }
  auto rows = element("tr", head) + "\n";
  for (const auto& [run, style] : runs) {
    const auto* const map = find(run->layer_maps, "grad_norm", "block");
    if (map == nullptr) continue;
    auto cells = element("td", escaped(run->name), "name") + element("td", escaped(run->scheme));
    for (const auto step : steps) {
      const auto trend = depth_trend(map->at(step));
      cells += element("td", short_text(trend.slope), "number") +
               element("td", short_text(trend.spread), "number");
    }
    rows += element("tr", cells) + "\n";
  }
  rows += mean_rows(runs, steps);
  return element("div", element("table", rows), "scroll") + "\n" +
         element("p",
                 "Gradient flow: slope of ln(gradient norm of a block) against its number, the "
                 "median over pairs of blocks (Theil-Sen); spread: largest over smallest.",
                 "below");
}

}  // namespace

std::string layer_figures(const Run& run) {
  std::string out;
  for (const auto* const on : {"training", "validation"}) {
    for (const auto& measure : kShownMeasures) {
      const auto* const map = find(run.layer_maps, measure.name, measure.part, on);
      if (map == nullptr) continue;
      // Both branches of a block have the same colours.
      const auto* const like =
          std::string_view(measure.name) == "branch_ratio"
              ? find(run.layer_maps, measure.name,
                     map->part == "attention" ? "feed_forward" : "attention", on)
              : nullptr;
      out += figure_of(*map, measure, like);
    }
  }
  return out;
}

std::string layer_comparison(const std::vector<Run>& runs) {
  constexpr std::size_t kSteps = 4;  // of gradient flow: the first and the last ones
  AllProbed probed;
  const auto styles = line_styles(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i].layer_maps.empty()) probed.push_back({&runs[i], styles[i]});
  }
  auto steps = shared_steps(probed);
  if (steps.empty()) return "";
  const auto last = steps.back();
  if (steps.size() > kSteps) steps.erase(steps.begin() + 1, steps.end() - kSteps + 1);
  std::string figures;
  for (const auto step : steps)
    figures += comparison_figure(probed, kShownMeasures[0], step, step == steps[0]);
  for (std::size_t i = 1; i < kShownMeasures.size(); ++i) {
    figures += comparison_figure(probed, kShownMeasures[i], last, /*has_legend=*/false);
  }
  return element("div", figures, "figures") + "\n" + flow_table(probed, steps);
}

}  // namespace evenkeel::report
