// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/comparison_tables.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/report/chart.h"
#include "evenkeel/report/end_loss.h"
#include "evenkeel/report/html.h"
#include "evenkeel/report/page_parts.h"
#include "evenkeel/report/run_scheme.h"
#include "evenkeel/report/settings_changes.h"

namespace evenkeel::report {

namespace {

constexpr const char* kAbsent = "–";

/// The configuration without the seed, and its changes, as a key of its group.
std::string key_without_seed(const Run& run) {
  auto out = text(run.scheme, '\n', settings_changes_text(run), '\n');
  for (const auto& [key, value] : run.settings) {
    if (key != "seed") out += text(key, '=', value, '\n');
  }
  return out;
}

std::string count_text(double value) {
  return std::isfinite(value) && value > 0 ? with_unit(value) : kAbsent;
}

/// The number of parameters of all norms, as the scheme states it; NaN if unknown.
double norm_parameters(const Run& run) {
  const auto scheme = run_scheme(run);
  if (!scheme || !scheme->norm_parameters) return std::nan("");
  try {
    return scheme->norm_parameters->value(scheme->shape.variables());
  } catch (const Error&) {
    return std::nan("");
  }
}

double last_validation(const Run& run) {
  return end_validation(run).value;
}

/// The run to which others are compared: the first one with the scheme pre_norm and a validation
/// loss; nullptr if there is none.
const Run* baseline_of(const std::vector<Run>& runs) {
  for (const auto& run : runs) {
    if (run.scheme == "pre_norm" && std::isfinite(last_validation(run))) return &run;
  }
  return nullptr;
}

struct MeanAndDeviation {
  double mean = 0, deviation = 0;
};

/// Mean and standard deviation (n - 1) of at least two values.
MeanAndDeviation mean_and_deviation(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  MeanAndDeviation out;
  for (const auto value : values) out.mean += value / count;
  for (const auto value : values) out.deviation += (value - out.mean) * (value - out.mean);
  out.deviation = std::sqrt(out.deviation / (count - 1));
  return out;
}

/// The validation losses of a group, at the steps that all its runs have.
Line mean_line(const std::vector<Run>& runs, const SeedGroup& group) {
  std::map<double, std::vector<double>> by_step;
  for (const auto at : group) {
    const auto& series = runs[at].validation_loss;
    for (std::size_t i = 0; i < series.size(); ++i) {
      if (std::isfinite(series.y[i])) by_step[series.x[i]].push_back(series.y[i]);
    }
  }
  Line line;
  line.name = text(runs[group.front()].scheme, ", mean of ", group.size(), " seeds");
  line.bounds.as = ErrorBounds::As::band;
  for (const auto& [step, values] : by_step) {
    if (values.size() != group.size()) continue;
    line.points.add(step, mean_and_deviation(values).mean);
    line.bounds.low.push_back(*std::min_element(values.begin(), values.end()));
    line.bounds.high.push_back(*std::max_element(values.begin(), values.end()));
  }
  return line;
}

/// The runs of a group with a validation loss at the end.
SeedGroup with_validation(const std::vector<Run>& runs, const SeedGroup& group) {
  SeedGroup out;
  std::copy_if(group.begin(), group.end(), std::back_inserter(out),
               [&](std::size_t at) { return std::isfinite(last_validation(runs[at])); });
  return out;
}

/// The runs of a group that failed: "a (not finite since step 29), b (diverged at step 40)".
std::string failures_text(const std::vector<Run>& runs, const SeedGroup& group) {
  std::string out;
  for (const auto at : group) {
    const auto failure = end_validation(runs[at]).failure;
    if (!failure) continue;
    out += text(out.empty() ? "" : ", ", escaped(runs[at].name), " (", failure_text(*failure), ")");
  }
  return out;
}

/// The runs of a group, each seed once: its run that began first. Runs of unknown seeds all count.
SeedGroup distinct_seeds(const std::vector<Run>& runs, SeedGroup group) {
  std::stable_sort(group.begin(), group.end(), [&](std::size_t left, std::size_t right) {
    return runs[left].started < runs[right].started;
  });
  std::set<std::string> known;
  std::erase_if(group, [&](std::size_t at) {
    const auto seed = value_of(runs[at].settings, "seed");
    return !seed.empty() && !known.insert(seed).second;
  });
  std::sort(group.begin(), group.end());
  return group;
}

/// The runs of a group that distinct_seeds() leaves out: "b (seed 1, as a)".
std::string repetitions_text(const std::vector<Run>& runs, const SeedGroup& group) {
  std::string out;
  std::map<std::string, std::size_t> counted;  // seed -> its run
  const auto kept = distinct_seeds(runs, group);
  for (const auto at : kept) counted[value_of(runs[at].settings, "seed")] = at;
  for (const auto at : group) {
    if (std::find(kept.begin(), kept.end(), at) != kept.end()) continue;
    const auto seed = value_of(runs[at].settings, "seed");
    out += text(out.empty() ? "" : ", ", escaped(runs[at].name), " (seed ", escaped(seed), ", as ",
                escaped(runs[counted.at(seed)].name), ")");
  }
  return out;
}

/// Paragraphs with the runs that are in no mean over seeds: failed ones, and repeated seeds.
std::string left_out_text(const std::vector<Run>& runs) {
  std::string failed, repeated;
  const auto add = [](std::string& list, const std::string& names) {
    if (!names.empty()) list += text(list.empty() ? "" : ", ", names);
  };
  for (const auto& group : seed_groups(runs)) {
    if (group.size() < 2) continue;
    add(failed, failures_text(runs, distinct_seeds(runs, group)));
    add(repeated, repetitions_text(runs, group));
  }
  std::string out;
  if (!failed.empty()) {
    out += element("p", text("Left out of the means: ", failed, "."), "below") + "\n";
  }
  if (repeated.empty()) return out;
  return out +
         element("p",
                 text("Each seed counts once, with its run that began first. Repeated: ", repeated,
                      "."),
                 "below") +
         "\n";
}

/// The row of sizes_table().
std::string sizes_row(const Run& run, const LineStyle& style, const Run* baseline) {
  const auto cell = [](const std::string& value) { return element("td", value, "number"); };
  const double parameters = std::strtod(value_of(run.environment, "parameters").c_str(), nullptr);
  const auto seed = value_of(run.settings, "seed");
  auto cells = element("td", swatch(style.colour, style.dash) + " " + escaped(run.name), "name") +
               element("td", run.preset.empty() ? kAbsent : escaped(run.preset)) +
               cell(seed.empty() ? kAbsent : escaped(seed)) + cell(count_text(parameters)) +
               cell(count_text(norm_parameters(run))) + cell(count_text(run.tokens)) +
               cell(count_text(flops_per_token(run) * run.tokens)) +
               cell(run.seconds > 0 ? duration_text(run.seconds) : kAbsent) +
               cell(run.cpu_contention ? percent(*run.cpu_contention) : kAbsent);
  if (baseline != nullptr) {
    cells += cell(loss_text(last_validation(run) / last_validation(*baseline)));
  }
  return element("tr", cells) + "\n";
}

}  // namespace

std::vector<SeedGroup> seed_groups(const std::vector<Run>& runs) {
  std::vector<SeedGroup> out;
  std::map<std::string, std::size_t> places;
  for (std::size_t at = 0; at < runs.size(); ++at) {
    const auto [found, is_new] = places.try_emplace(key_without_seed(runs[at]), out.size());
    if (is_new) out.emplace_back();
    out[found->second].push_back(at);
  }
  return out;
}

std::string sizes_table(const std::vector<Run>& runs) {
  const auto* const baseline = baseline_of(runs);
  const auto number = [](const char* name) { return element("th", name, "number"); };
  auto head = element("th", "run") + element("th", "preset") + number("seed") +
              number("parameters") + number("of norms") + number("tokens") + number("FLOPs") +
              number("training time") + number("CPU contention");
  if (baseline != nullptr) head += number("loss ratio");
  auto rows = element("tr", head) + "\n";
  const auto styles = line_styles(runs);
  for (std::size_t at = 0; at < runs.size(); ++at) {
    rows += sizes_row(runs[at], styles[at], baseline);
  }
  auto note = std::string(
      "FLOPs: forward and backward passes, as `plan` counts them; 6 × parameters × tokens for a "
      "run "
      "whose provenance.json has no flops_per_token. CPU contention: largest share of the CPU time "
      "that other processes took; throughputs with contention are not comparable.");
  if (baseline != nullptr) {
    note += text(" Loss ratio: validation loss over that of ", escaped(baseline->name), ".");
  }
  return element("div", element("table", rows), "scroll dense") + "\n" +
         element("p", note, "below");
}

std::string seeds_section(const std::vector<Run>& runs) {
  Chart chart{"Validation loss", "nats per token", "Lines: mean; bands: smallest to largest."};
  chart.wide = true;
  const auto number = [](const std::string& name) { return element("th", name, "number"); };
  const auto cell = [](const std::string& value) { return element("td", value, "number"); };
  std::string rows;
  for (const auto& group : seed_groups(runs)) {
    const auto members = with_validation(runs, distinct_seeds(runs, group));
    if (members.size() < 2) continue;
    auto line = mean_line(runs, members);
    line.colour = static_cast<int>(chart.lines.size()) % kColours;
    line.dash = static_cast<int>(chart.lines.size()) % kDashes;
    line.run = members.front();
    chart.lines.push_back(std::move(line));
    std::vector<double> values;
    for (const auto at : members) values.push_back(last_validation(runs[at]));
    const auto [mean, deviation] = mean_and_deviation(values);
    rows += element("tr", element("td", escaped(runs[members.front()].scheme)) +
                              cell(std::to_string(values.size())) + cell(loss_text(mean)) +
                              cell(loss_text(deviation))) +
            "\n";
  }
  auto left_out = left_out_text(runs);
  if (rows.empty()) return left_out;
  const auto head =
      element("tr", element("th", "scheme") + number("seeds") + number("mean validation loss") +
                        number("standard deviation"));
  return element("div", element("table", head + "\n" + rows), "scroll") + "\n" + left_out +
         element("div", figure(chart), "figures");
}

std::string caution_text(const std::vector<Run>& runs) {
  const auto groups = seed_groups(runs);
  const auto is_single = [&](const SeedGroup& group) {
    return with_validation(runs, distinct_seeds(runs, group)).size() == 1;
  };
  if (std::none_of(groups.begin(), groups.end(), is_single)) return "";
  return "A difference between single runs may be noise of the seed: compare several seeds before "
         "one is called better.";
}

}  // namespace evenkeel::report
