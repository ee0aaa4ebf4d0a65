// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/layer_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/report/chart.h"
#include "evenkeel/report/heat_map.h"
#include "evenkeel/report/html.h"
#include "evenkeel/report/section.h"

namespace evenkeel::report {

namespace {

struct Shown {
  const char* measure;
  const char* part;
  const char* title;
  const char* unit;
  bool logarithmic = false;
};

constexpr std::array kShown = {
    Shown{"grad_norm", "block", "Gradient flow", "gradient norm of a block", true},
    Shown{"stream_rms", "", "Residual stream", "root mean square", true},
    Shown{"stream_max", "", "Largest activation", "of the stream", true},
    Shown{"branch_ratio", "attention", "Attention branch", "rms over that of the stream"},
    Shown{"branch_ratio", "feed_forward", "Feed-forward branch", "rms over that of the stream"},
    Shown{"attention_entropy", "", "Attention entropy", "nats"},
    Shown{"attention_logit_max", "", "Largest attention score", "after scale, before cap"},
    Shown{"token_cosine", "", "Token similarity", "mean cosine"},
    Shown{"effective_rank", "", "Effective rank", "of the centred stream"},
    Shown{"block_angle", "", "Turn of the stream", "in pi"},
    Shown{"kurtosis", "", "Kurtosis", "of a token's features"},
    Shown{"outlier_share", "", "Outliers", "share beyond 6 rms of their token"},
    Shown{"sparse_attention", "", "Sparse attention", "share of queries"},
    Shown{"circuit_collapse", "noise 0.1", "Circuit collapse",
          "share of sparse queries, noise 0.1"},
    Shown{"skip_loss", "", "Loss without a block", "rise, nats a token"},
    Shown{"router_entropy", "", "Entropy of the routing", "nats"},
    Shown{"router_logit_max", "", "Largest router logit", "magnitude"},
    Shown{"expert_load", "", "Busiest expert", "its choices over the mean"},
    Shown{"dead_experts", "", "Dead experts", "share"},
};

std::string short_text(double value) {
  constexpr int kDigits = 3;
  return std::isfinite(value) ? with_digits(value, kDigits) : "–";
}

std::string step_text(double step) {
  return "step " + with_commas(std::llround(step));
}

/// Curves over layers.
Chart profile_chart(const Shown& shown, const std::string& note) {
  Chart chart{shown.title, shown.unit, note};
  chart.x_label = "layer";
  if (shown.logarithmic) chart.scale = Scale::logarithmic;
  return chart;
}

std::string figure_of(const LayerMap& map, const Shown& shown) {
  if (map.values.size() > 1) return heat_map(map, shown.title, shown.unit);
  const double step = map.values.begin()->first;
  auto chart = profile_chart(shown, text("On ", map.on, " text at ", step_text(step), "."));
  chart.lines.push_back({"", map.at(step), 0, 0, Stroke::dotted});
  return figure(chart);
}

/// A run that was probed, and how its curves look.
struct Probed {
  const Run* run;
  Style style;
};
using AllProbed = std::vector<Probed>;

std::string compared(const AllProbed& runs, const Shown& shown, double step, bool has_legend) {
  auto chart = profile_chart(shown, text("At ", step_text(step), "."));
  for (const auto& [run, style] : runs) {
    const auto* const map = find(run->layers, shown.measure, shown.part);
    if (map == nullptr || map->at(step).size() == 0) continue;
    chart.lines.push_back({run->name, map->at(step), style.colour, style.dash, Stroke::bold});
  }
  if (chart.lines.empty()) return "";
  chart.has_legend = has_legend;
  chart.wide = has_legend;
  return figure(chart);
}

/// Steps that at least two of the runs were probed at.
std::vector<double> shared_steps(const AllProbed& runs) {
  std::map<double, int> count;
  for (const auto& [run, style] : runs) {
    std::set<double> own;
    for (const auto& map : run->layers) {
      if (map.on != "training") continue;
      for (const auto& [step, values] : map.values) own.insert(step);
    }
    for (const auto step : own) ++count[step];
  }
  std::vector<double> steps;
  for (const auto& [step, runs_there] : count) {
    if (runs_there > 1) steps.push_back(step);
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

/// A row for each scheme with several runs: mean and standard deviation over them.
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
        const auto* const map = find(run->layers, "grad_norm", "block");
        if (run->scheme != scheme || map == nullptr || map->at(step).size() == 0) continue;
        const auto flow = flow_of(map->at(step));
        slopes.push_back(flow.slope);
        spreads.push_back(flow.spread);
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

/// Slope and spread of the gradient flow of each run at each step.
std::string flow_table(const AllProbed& runs, const std::vector<double>& steps) {
  auto head = element("th", "run") + element("th", "scheme");
  for (const auto step : steps) {
    head += element("th", "slope, " + step_text(step), "number") +
            element("th", "spread, " + step_text(step), "number");
  }
  auto rows = element("tr", head) + "\n";
  for (const auto& [run, style] : runs) {
    const auto* const map = find(run->layers, "grad_norm", "block");
    if (map == nullptr) continue;
    auto cells = element("td", escaped(run->name), "name") + element("td", escaped(run->scheme));
    for (const auto step : steps) {
      const auto flow = flow_of(map->at(step));
      cells += element("td", short_text(flow.slope), "number") +
               element("td", short_text(flow.spread), "number");
    }
    rows += element("tr", cells) + "\n";
  }
  rows += mean_rows(runs, steps);
  return element("div", element("table", rows), "scroll") + "\n" +
         element("p",
                 "Gradient flow: slope of ln(gradient norm of a block) against its number, least "
                 "squares; spread: largest over smallest.",
                 "below");
}

}  // namespace

std::string layer_figures(const Run& run) {
  std::string out;
  for (const auto* const on : {"training", "validation"}) {
    for (const auto& shown : kShown) {
      const auto* const map = find(run.layers, shown.measure, shown.part, on);
      if (map != nullptr) out += figure_of(*map, shown);
    }
  }
  return out;
}

std::string layer_comparison(const std::vector<Run>& runs) {
  constexpr std::size_t kSteps = 4;  // of gradient flow: the first and the last ones
  AllProbed probed;
  const auto styles = styles_of(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i].layers.empty()) probed.push_back({&runs[i], styles[i]});
  }
  auto steps = shared_steps(probed);
  if (steps.empty()) return "";
  const auto last = steps.back();
  if (steps.size() > kSteps) steps.erase(steps.begin() + 1, steps.end() - kSteps + 1);
  std::string figures;
  for (const auto step : steps) figures += compared(probed, kShown[0], step, step == steps[0]);
  for (std::size_t i = 1; i < kShown.size(); ++i) {
    figures += compared(probed, kShown[i], last, /*has_legend=*/false);
  }
  return element("div", figures, "figures") + "\n" + flow_table(probed, steps);
}

}  // namespace evenkeel::report
