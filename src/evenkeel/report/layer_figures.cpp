// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/layer_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/report/chart.h"
#include "evenkeel/report/heat_map.h"
#include "evenkeel/report/html.h"

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
    Shown{"skip_loss", "", "Loss without a block", "rise, nats a token"},
};

std::string short_text(double value) {
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), "%.3g", value);
  return std::isfinite(value) ? out.data() : "–";
}

std::string step_text(double step) {
  return "step " + with_commas(std::llround(step));
}

/// Curves over layers.
Chart profile_chart(const Shown& shown, const std::string& note) {
  Chart chart{shown.title, shown.unit, note};
  chart.across = "layer";
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

/// The number of each run's scheme, and the run's number among those of its scheme.
struct Style {
  int colour = 0, dash = 0;
};
std::vector<Style> styles_of(const std::vector<const Run*>& runs) {
  std::map<std::string, int> schemes, members;
  std::vector<Style> styles;
  for (const auto* const run : runs) {
    const auto colour = schemes.try_emplace(run->scheme, static_cast<int>(schemes.size()));
    styles.push_back({colour.first->second, members[run->scheme]++});
  }
  return styles;
}

std::string compared(const std::vector<const Run*>& runs, const Shown& shown, double step,
                     bool has_legend) {
  auto chart = profile_chart(shown, text("At ", step_text(step), "."));
  const auto styles = styles_of(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto* const map = find(runs[i]->layers, shown.measure, shown.part);
    if (map == nullptr || map->at(step).size() == 0) continue;
    chart.lines.push_back({runs[i]->name, map->at(step), styles[i].colour % kColours,
                           styles[i].dash % kDashes, Stroke::bold});
  }
  if (chart.lines.empty()) return "";
  chart.has_legend = has_legend;
  chart.wide = has_legend;
  return figure(chart);
}

/// Steps that at least two of the runs were probed at.
std::vector<double> shared_steps(const std::vector<const Run*>& runs) {
  std::map<double, int> count;
  for (const auto* const run : runs) {
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

/// Slope and spread of the gradient flow of each run at each step.
std::string flow_table(const std::vector<const Run*>& runs, const std::vector<double>& steps) {
  auto head = element("th", "run") + element("th", "scheme");
  for (const auto step : steps) {
    head += element("th", "slope, " + step_text(step), "number") +
            element("th", "spread, " + step_text(step), "number");
  }
  auto rows = element("tr", head) + "\n";
  for (const auto* const run : runs) {
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
  std::vector<const Run*> probed;
  for (const auto& run : runs) {
    if (!run.layers.empty()) probed.push_back(&run);
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
