// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/comparison_page.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/report/chart.h"
#include "evenkeel/report/chart_data.h"
#include "evenkeel/report/comparison_tables.h"
#include "evenkeel/report/end_loss.h"
#include "evenkeel/report/html.h"
#include "evenkeel/report/layer_figures.h"
#include "evenkeel/report/page_parts.h"
#include "evenkeel/report/settings_changes.h"
#include "evenkeel/report/task_figures.h"

namespace evenkeel::report {

namespace {

/// The validation loss at the end, in nats per token; NaN without one.
double validation(const Run& run) {
  return end_validation(run).value;
}

/// Lowest validation loss first, runs without one last: those that failed, too.
bool is_better(const Run& left, const Run& right) {
  const double a = validation(left), b = validation(right);
  return std::isfinite(a) && (!std::isfinite(b) || a < b);
}

/// A property that must be equal in all runs for a valid comparison of validation losses.
struct Condition {
  const char* name;
  std::string (*value)(const Run&);
};
const std::array<Condition, 5> kConditions = {
    {{"steps", [](const Run& run) { return shortest(run.step); }},
     {"tokens", [](const Run& run) { return shortest(run.tokens); }},
     {"context", [](const Run& run) { return value_of(run.settings, "model.context"); }},
     {"validation text",
      [](const Run& run) { return value_of(run.environment, "data.validation_digest"); }},
     {"validation sequences",
      [](const Run& run) { return value_of(run.settings, "evaluate.sequences"); }}}};

/// The conditions that differ among the runs with a validation loss: "steps, tokens".
std::string confounding_conditions(const std::vector<Run>& runs) {
  std::string out;
  for (const auto& [name, value] : kConditions) {
    const auto differs = [&, wanted = value(runs.front())](const Run& run) {
      return std::isfinite(validation(run)) && value(run) != wanted;
    };
    if (!std::any_of(runs.begin(), runs.end(), differs)) continue;
    out += text(out.empty() ? "" : ", ", name);
  }
  return out;
}

/// "<strong>a</strong> has the lowest validation loss: 0.6000 nats per token, 0.1500 below c"; or
/// the runs whose losses are equally low.
/// \param runs  sorted by is_better(); the first one has a finite loss
std::string lowest_loss_text(const std::vector<Run>& runs) {
  const double best = validation(runs.front());
  std::string names;
  std::size_t equal = 0;
  for (; equal < runs.size() && validation(runs[equal]) == best; ++equal) {
    const auto* const separator = equal == 0 ? "" : " and ";
    names += separator + element("strong", escaped(runs[equal].name));
  }
  auto out = text(names,
                  equal == 1 ? " has the lowest validation loss: "
                             : " have equal validation losses, the lowest: ",
                  loss_text(best), " nats per token");
  if (equal == runs.size() || !std::isfinite(validation(runs[equal]))) return out;
  const auto lead = loss_text(validation(runs[equal]) - best);
  const bool is_rounded = lead == loss_text(0);
  return text(out, ", ", is_rounded ? "less than 0.0001" : lead, " below ",
              escaped(runs[equal].name));
}

/// A sentence with the lowest validation loss and its lead; or the reason why no run is the best.
/// \param runs  sorted by is_better()
/// \param differing  result of confounding_conditions()
std::string comparison_page_verdict(const std::vector<Run>& runs, const std::string& differing) {
  if (!std::isfinite(validation(runs.front()))) {
    const bool has_failed = std::any_of(runs.begin(), runs.end(), [](const Run& run) {
      return end_validation(run).failure.has_value();
    });
    return has_failed ? "No run has a finite validation loss at its end."
                      : "No run has a validation loss yet.";
  }
  if (!differing.empty()) {
    return text("No run is called the best: the runs differ in ", element("strong", differing),
                ". Their validation losses cannot be compared.");
  }
  const auto out = lowest_loss_text(runs) + '.';
  const auto caution = caution_text(runs);
  return caution.empty() ? out : text(out, " ", element("span", caution, "muted"));
}

/// The row of a run in the table.
std::string row(const Run& run, const LineStyle& style, bool is_best, bool has_floor) {
  const auto number = [](const std::string& value) { return element("td", value, "number"); };
  const double rate = median(run.tokens_per_second.y);
  auto cells = element("td", swatch(style.colour, style.dash) + " " + escaped(run.name), "name") +
               element("td", escaped(run.scheme)) + number(with_commas(std::llround(run.step))) +
               number(end_loss_text(end_training(run))) +
               number(end_loss_text(end_validation(run)));
  if (has_floor) {
    const bool has_end = std::isfinite(validation(run));
    cells += number(has_end ? loss_text(last_finite(run.gap.y)) : "–");
  }
  cells += number(std::isfinite(rate) ? with_unit(rate) : "–") + element("td", state_text(run));
  return element("tr", cells, is_best ? "best" : "") + "\n";
}

/// The table of all runs, best validation loss first.
std::string runs_table(const std::vector<Run>& runs, bool has_best, bool has_floor) {
  const auto number = [](const char* name) { return element("th", name, "number"); };
  auto head = element("th", "run") + element("th", "scheme") + number("steps") +
              number("training loss") + number("validation loss");
  if (has_floor) head += number("gap to the floor");
  head += number("tokens/s") + element("th", "state");
  auto rows = element("tr", head) + "\n";
  const auto styles = line_styles(runs);
  for (std::size_t at = 0; at < runs.size(); ++at) {
    const bool is_best = has_best && validation(runs[at]) == validation(runs.front());
    rows += row(runs[at], styles[at], is_best, has_floor);
  }
  return element("div", element("table", rows), "scroll") + "\n" +
         element(
             "p",
             "Losses in nats per token; training: mean of the last 5 % of the logged steps, from 1 "
             "to 20; validation: the last one; gap: nats per byte; tokens/s: median.",
             "below");
}

/// A chart of one quantity, one curve per run, without a legend. Runs without a finite value
/// are left out.
Chart common_chart(const std::vector<Run>& runs, const Quantity& quantity,
                   Stroke stroke = Stroke::dotted) {
  Chart chart{quantity.title, quantity.unit};
  std::vector<const Run*> all;
  all.reserve(runs.size());
  const auto styles = line_styles(runs);
  for (std::size_t at = 0; at < runs.size(); ++at) {
    const auto& series = runs[at].*quantity.values;
    all.push_back(&runs[at]);
    if (finite_values(series.y).empty()) continue;
    chart.lines.push_back({runs[at].name, series, styles[at].colour, styles[at].dash, stroke});
    chart.lines.back().run = at;
  }
  chart.has_legend = false;  // the same colours in all: one legend is enough
  chart.when_empty = no_data(all, quantity);
  return chart;
}

/// The chart of a quantity that is logged every few steps, as moving means.
Chart mean_chart(const std::vector<Run>& runs, const Quantity& quantity) {
  auto chart = common_chart(runs, quantity, Stroke::bold);
  for (auto& line : chart.lines) {
    line.points = smoothed(line.points, half_window(line.points.size()));
  }
  chart.note = "Moving means.";
  return chart;
}

/// The entropy lower bound, if all runs with a validation loss have the same.
std::optional<Reference> common_floor(const std::vector<Run>& runs) {
  constexpr double kSame = 1e-6;
  std::optional<Reference> common;
  for (const auto& run : runs) {
    if (!std::isfinite(validation(run))) continue;
    if (!run.floor) return std::nullopt;
    const double floor = run.floor->nats_per_token;
    if (common && std::abs(common->at - floor) > kSame) return std::nullopt;
    common = {floor, "entropy floor " + loss_text(floor)};
  }
  return common;
}

/// The validation loss over the second half of the steps.
Chart late_chart(const std::vector<Run>& runs) {
  auto chart = common_chart(runs, kValidation);
  double furthest = 0;
  for (const auto& run : runs) furthest = std::max(furthest, run.step);
  for (auto& line : chart.lines) line.points = from_x(line.points, furthest / 2);
  chart.title = "Validation loss, second half";
  return chart;
}

/// All charts of the page.
/// \param has_floor  true: charts of the gap to the entropy in place of the loss
std::string figures(const std::vector<Run>& runs, bool has_floor) {
  auto loss = common_chart(runs, kValidation);
  loss.reference = common_floor(runs);
  auto gap = common_chart(runs, kGap);
  gap.scale = Scale::logarithmic;
  auto& leading = has_floor ? gap : loss;
  leading.wide = true;
  leading.has_legend = true;
  auto gradient = mean_chart(runs, kGradientNorm);
  gradient.scale = Scale::logarithmic;
  const auto any_has = [&](const Quantity& quantity) {
    return std::any_of(runs.begin(), runs.end(),
                       [&](const Run& run) { return (run.*quantity.values).size() > 0; });
  };
  std::string other_figures;
  if (any_has(kLoad))
    other_figures += figure(mean_chart(runs, kLoad)) + figure(mean_chart(runs, kBalance));
  for (const auto* const quantity : {&kExactMatch, &kOodLoss, &kOodExactMatch}) {
    if (any_has(*quantity)) other_figures += figure(common_chart(runs, *quantity));
  }
  auto throughput = mean_chart(runs, kThroughput);
  throughput.scale = Scale::from_zero;
  auto rate = common_chart(runs, kLearningRate, Stroke::bold);
  rate.scale = Scale::from_zero;
  return figure(leading) + figure(has_floor ? loss : common_chart(runs, kBits)) +
         figure(late_chart(runs)) + figure(mean_chart(runs, kLoss)) + figure(gradient) +
         figure(rate) + figure(throughput) + other_figures;
}

/// The settings with the name of the scheme in place of its keys. Runs may name a scheme or write
/// it out, so a comparison key by key is impossible.
KeyValues with_named_scheme(const KeyValues& settings) {
  const auto name = value_of(settings, "scheme.name");
  if (name.empty()) return settings;
  KeyValues out;
  for (const auto& [key, value] : settings) {
    if (!key.starts_with("scheme.")) out.emplace_back(key, value);
  }
  out.emplace_back("scheme", name + ", written out in run.toml");
  return out;
}

/// The keys of the configuration that differ.
std::string comparison_page_configuration(const std::vector<Run>& runs) {
  std::string out;
  std::vector<KeyValues> all;
  const bool one_is_named = std::any_of(runs.begin(), runs.end(), [](const Run& run) {
    return !value_of(run.settings, "scheme").empty();
  });
  for (const auto& run : runs) {
    all.push_back(one_is_named ? with_named_scheme(run.settings) : run.settings);
    const auto changes = settings_changes_text(run);
    if (!changes.empty()) all.back().emplace_back("settings changed", changes);
    const auto why = run.missing.find("run.toml");
    if (why != run.missing.end()) {
      out += element("p", escaped(run.name + ": " + why->second), "missing");
    }
  }
  const auto rows = differences(all);
  if (rows.empty()) return out + element("p", "All keys have the same values.");
  return out + differences_table(runs, rows);
}

/// The keys of the environment (machine, versions, data) that differ.
std::string environment(const std::vector<Run>& runs) {
  std::vector<KeyValues> all;
  all.reserve(runs.size());
  for (const auto& run : runs) all.push_back(run.environment);
  const auto rows = differences(all);
  if (rows.empty()) return element("p", "The runs were made in the same environment.");
  return differences_table(runs, rows);
}

}  // namespace

std::string comparison_page(std::vector<Run> runs, const std::string& events,
                            const std::string& note) {
  EK_ASSERT(runs.size() > 1);
  std::stable_sort(runs.begin(), runs.end(), is_better);
  const bool has_floor =
      std::any_of(runs.begin(), runs.end(), [](const Run& run) { return run.floor.has_value(); });
  const auto differing = confounding_conditions(runs);
  const bool has_best = differing.empty() && std::isfinite(validation(runs.front()));
  const auto title = text("Comparison of ", runs.size(), " runs");
  auto out =
      element("header", element("h1", title) + "\n" +
                            element("p", comparison_page_verdict(runs, differing), "verdict")) +
      "\n" + (note.empty() ? "" : element("p", escaped(note), "notice") + "\n") +
      runs_table(runs, has_best, has_floor);
  out += sizes_table(runs);
  std::vector<const Run*> all(runs.size());
  std::transform(runs.begin(), runs.end(), all.begin(), [](const Run& run) { return &run; });
  out += section("Curves", element("div", "", "controls") + clocks_data(all) +
                               element("div", figures(runs, has_floor), "figures"));
  const auto seeds = seeds_section(runs);
  if (!seeds.empty()) out += section("Seeds", seeds);
  const auto tasks = task_comparison(runs);
  if (!tasks.empty()) out += section("Tasks", tasks);
  const auto layers = layer_comparison(runs);
  if (!layers.empty()) out += section("Layer by layer", layers);
  out += section("Configuration that differs", comparison_page_configuration(runs));
  out += section("Environment that differs", environment(runs));
  out += element("footer", "Made by Evenkeel from the files of the run folders.") + "\n";
  return page(title, out, events);
}

}  // namespace evenkeel::report
