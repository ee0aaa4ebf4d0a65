// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/figures.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/report/chart.h"
#include "evenkeel/study/report/axis_figures.h"
#include "evenkeel/study/report/forest_plot.h"
#include "evenkeel/study/report/lead_figure.h"
#include "evenkeel/study/report/loss_figures.h"
#include "evenkeel/study/report/number_format.h"
#include "evenkeel/study/report/panels.h"
#include "evenkeel/study/report/profile_figures.h"
#include "evenkeel/study/report/sweep_figures.h"

namespace evenkeel::study {

namespace {

/// Ticks of model sizes: 500k, 1M, 2M.
std::vector<report::Tick> ticks_of_sizes(const std::vector<PowerLawFit>& fits) {
  constexpr double kMillion = 1e6, kThousand = 1e3;
  constexpr int kDigits = 3, kTicks = 10;
  std::vector<double> sizes;
  for (const auto& fit : fits) sizes.insert(sizes.end(), fit.sizes.begin(), fit.sizes.end());
  const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  if (!(*least < *most)) return {};
  auto ticks = report::logarithmic_ticks(*least, *most, kTicks);
  for (auto& [at, label] : ticks) {
    const bool is_large = at >= kMillion;
    label = with_digits(at / (is_large ? kMillion : kThousand), kDigits) + (is_large ? "M" : "k");
  }
  return ticks;
}

/// Names the runs of all arms whose value is in no mean.
std::string runs_without_value_note(const Results& results) {
  std::vector<NamedArm> arms;
  arms.reserve(results.arms.size());
  for (const auto& arm : results.arms) arms.push_back({arm.name, &arm});
  return unfinished_runs_note(arms, [](const SeedRun& run) { return std::isfinite(run.value); });
}

}  // namespace

std::string power_law_text(const PowerLawFit& fit) {
  constexpr int kDigits = 4;
  const auto& [factor, exponent, interval] = fit.law;
  auto out =
      text(fit.name, ": ", with_digits(factor, kDigits), " N^", with_digits(-exponent, kDigits));
  if (!std::isfinite(interval.low)) return out + ", two sizes only: no interval";
  out += text(", 95 % interval of the exponent [", with_digits(-interval.high, kDigits), ", ",
              with_digits(-interval.low, kDigits), "]");
  if (!fit.predicted) return out;
  const auto& [by_smaller, mean, predicted] = *fit.predicted;
  out += text("; the smaller sizes predict ", with_digits(by_smaller, kDigits));
  if (std::isfinite(predicted.low)) {
    out += text(", 95 % prediction interval [", with_digits(predicted.low, kDigits), ", ",
                with_digits(predicted.high, kDigits), "],");
  }
  return out + text(" at the largest, which has ", with_digits(mean, kDigits));
}

std::string scaling_figure(const Results& results) {
  if (results.fits.empty()) return "";
  report::Chart chart{"Scaling", measure_text(results.study.measure)};
  chart.x_label = "parameters";
  chart.logarithmic_x = true;
  chart.x_ticks = ticks_of_sizes(results.fits);
  chart.scale = report::Scale::logarithmic;
  chart.wide = true;
  for (std::size_t i = 0; i < results.fits.size(); ++i) {
    const auto& fit = results.fits[i];
    const int colour = static_cast<int>(i) % report::kColours;
    const int dash = static_cast<int>(i) / report::kColours;
    const auto [least, most] = std::minmax_element(fit.sizes.begin(), fit.sizes.end());
    report::Line law{fit.name, {}, colour, dash};  // straight on logarithmic axes: two points do
    for (const double size : {*least, *most}) law.points.add(size, fit.law.at(size));
    report::Line points{"", {fit.sizes, fit.values}, colour, 0, report::Stroke::points};
    chart.lines.push_back(std::move(law));
    chart.lines.push_back(std::move(points));
    chart.note += text(chart.note.empty() ? "" : "; ", power_law_text(fit));
  }
  chart.note += '.' + runs_without_value_note(results);
  return figure(chart);
}

std::string figures(const Results& results) {
  return forest_plot(results) + lead_figure(results) + loss_figures(results) +
         axis_figures(results) + sweep_figures(results) + scaling_figure(results) +
         profile_figures(results);
}

}  // namespace evenkeel::study
