// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/run_figures.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/config/learning_rate.h"
#include "evenkeel/report/chart.h"
#include "evenkeel/report/html.h"
#include "evenkeel/report/page_parts.h"
#include "evenkeel/report/run_scheme.h"

namespace evenkeel::report {

namespace {

/// The lines of a quantity: logged values (faint) and their moving mean.
std::vector<Line> logged_and_mean(const Series& series, const std::string& name, int colour) {
  const auto half = half_window(series.size());
  Line logged{name, series, colour, 0, Stroke::faint};
  Line mean{text("mean of ", 2 * half + 1, " logged"), smoothed(series, half), colour};
  return {logged, mean};
}

/// The health events as vertical lines.
std::vector<Flag> flags_of(const Run& run) {
  constexpr std::size_t kMostFlags = 50;
  std::vector<Flag> out;
  for (const auto& event : run.events) {
    if (out.size() == kMostFlags) break;
    if (!std::isfinite(event.step)) continue;
    out.push_back({event.step, text("step ", with_commas(std::llround(event.step)), ": ",
                                    event.name, ", ", event.detail)});
  }
  return out;
}

/// Training and validation loss over the steps, with the entropy floor where it is known.
Chart loss_chart(const Run& run) {
  Chart chart{"Loss", "nats per token", "", logged_and_mean(run.loss, "training, as logged", 0)};
  const auto* const scored =
      run.exact_match.size() > 0 ? "validation, answers alone" : "validation";
  chart.lines.push_back({scored, run.validation_loss, 1, 0, Stroke::dotted});
  if (run.ood_loss.size() > 0) {
    chart.lines.push_back({"out of distribution", run.ood_loss, 5, 0, Stroke::dotted});
  }
  if (run.floor) {
    chart.reference = {run.floor->nats_per_token,
                       "entropy floor " + loss_text(run.floor->nats_per_token)};
  }
  chart.flags = flags_of(run);
  if (!chart.flags.empty()) chart.note = "Vertical lines: events of health.jsonl.";
  chart.wide = true;
  chart.when_empty = no_data({&run}, kLoss);
  return chart;
}

/// The loss without its steep start; "" for a run of few points.
std::string late_loss_figure(const Run& run) {
  constexpr double kStart = 0.1;
  constexpr std::size_t kFewest = 10;
  const double from = kStart * run.step;
  if (from_x(run.loss, from).size() < kFewest) return "";
  auto chart = loss_chart(run);
  chart.title = "Loss after the first 10 % of the steps";
  chart.note = "";
  for (auto& line : chart.lines) line.points = from_x(line.points, from);
  return figure(chart);
}

/// Gap to the entropy floor, or bits per byte where the floor is unknown.
std::string evaluation_figure(const Run& run) {
  const auto& quantity = run.floor ? kGap : kBits;
  Chart chart{quantity.title,
              quantity.unit,
              "",
              {{"validation", run.*quantity.values, 1, 0, Stroke::dotted}}};
  if (run.floor) chart.scale = Scale::logarithmic;
  chart.when_empty = no_data({&run}, quantity);
  return figure(chart);
}

/// The share of correct answers over steps; "" for a text without answers.
std::string answers_figure(const Run& run) {
  if (run.exact_match.size() + run.ood_exact_match.size() == 0) return "";
  Chart chart{
      kExactMatch.title, "share", "", {{"validation", run.exact_match, 1, 0, Stroke::dotted}}};
  if (run.ood_exact_match.size() > 0) {
    chart.lines.push_back({"out of distribution", run.ood_exact_match, 5, 0, Stroke::dotted});
  }
  chart.scale = Scale::from_zero;
  return figure(chart);
}

/// The learning rate of the configured schedule from a step on, at up to 400 of the planned steps;
/// empty if the configuration is unknown, or if no step comes after `from`.
Series scheduled_rates(const Run& run, double from) {
  constexpr std::int64_t kPoints = 400, kMostSteps = std::int64_t{1} << 53;
  Series out;
  const auto config = run_config(run);
  if (!config) return out;
  const double wanted = std::isfinite(run.steps) && run.steps >= 1
                            ? run.steps
                            : static_cast<double>(config->train.steps);
  if (!(wanted >= 1 && wanted < static_cast<double>(kMostSteps))) return out;
  if (!(from >= 1 && from < wanted)) return out;
  const auto steps = static_cast<std::int64_t>(wanted), first = static_cast<std::int64_t>(from);
  const auto planned = config->schedule.steps > 0 ? config->schedule.steps : steps;
  const config::LearningRate schedule(config->schedule, planned,
                                      config->train.batch * config->model.context);
  const auto stride = std::max<std::int64_t>(1, (steps - first) / kPoints);
  for (std::int64_t step = first; step < steps; step += stride) {
    out.add(static_cast<double>(step), schedule.rate(step));
  }
  out.add(static_cast<double>(steps), schedule.rate(steps));
  return out;
}

/// Learning rate over the steps: the logged values, then the schedule of the steps to come. A run
/// whose settings changed had another schedule before.
std::string rate_figure(const Run& run) {
  Chart chart{kLearningRate.title, kLearningRate.unit};
  const auto& logged = run.learning_rate;
  const bool has_logged = !finite_values(logged.y).empty();
  auto schedule = scheduled_rates(run, has_logged ? logged.x.back() : 1);
  const bool has_schedule = schedule.size() > 0;
  if (has_logged || !has_schedule) {
    chart.lines.push_back({has_schedule ? "as logged" : "", logged, 2});
  }
  if (has_schedule) {
    chart.note = "The schedule of run.toml after the last logged step.";
    if (!has_logged) chart.note = "The schedule of run.toml.";
    chart.lines.push_back({has_logged ? "schedule" : "", std::move(schedule), 2, 2});
  }
  chart.scale = Scale::from_zero;
  chart.when_empty = no_data({&run}, kLearningRate);
  return figure(chart);
}

/// Gradient norm over the steps, with the share of clipped steps and the clipping limit.
std::string gradient_figure(const Run& run) {
  Chart chart{kGradientNorm.title, kGradientNorm.unit, "",
              logged_and_mean(run.gradient_norm, "as logged", 3)};
  if (run.clipped.size() > 0) {
    chart.note = text("Clipped in ", percent(mean_of_last(run.clipped.y, run.clipped.size())),
                      " of the logged steps.");
  }
  const double clip = std::strtod(value_of(run.settings, "optimizer.clip").c_str(), nullptr);
  if (clip > 0) chart.reference = {clip, "clipped above " + shortest(clip)};
  chart.scale = Scale::logarithmic;
  chart.flags = flags_of(run);
  chart.when_empty = no_data({&run}, kGradientNorm);
  return figure(chart);
}

/// The share of clipped steps as a moving mean; "" if no logged step was clipped.
std::string clip_figure(const Run& run) {
  const auto& values = run.clipped.y;
  if (std::count(values.begin(), values.end(), 1.0) == 0) return "";
  const auto half = half_window(run.clipped.size());
  Chart chart{"Clipped steps",
              "share",
              text("Moving mean of ", 2 * half + 1, " logged steps."),
              {{"", smoothed(run.clipped, half), 3}}};
  chart.scale = Scale::from_zero;
  return figure(chart);
}

/// Tokens per second over the steps.
std::string throughput_figure(const Run& run) {
  Chart chart{kThroughput.title, kThroughput.unit, "",
              logged_and_mean(run.tokens_per_second, "as logged", 4)};
  if (run.cpu_contention) {
    chart.note =
        text("Other processes took up to ", percent(*run.cpu_contention), " of the CPU time.");
  }
  chart.scale = Scale::from_zero;
  chart.when_empty = no_data({&run}, kThroughput);
  return figure(chart);
}

/// A histogram of the seconds per step up to the 99th percentile; "" for few or equal values.
std::string step_time_figure(const Run& run) {
  constexpr std::size_t kFewest = 20, kBins = 40;
  constexpr double kPercentile = 0.99;
  auto values = finite_values(run.step_seconds.y);
  if (values.size() < kFewest) return "";
  std::sort(values.begin(), values.end());
  const auto last = static_cast<std::size_t>(kPercentile * static_cast<double>(values.size() - 1));
  const double low = values.front(), high = values[last];
  if (!(high > low)) return "";
  std::vector<double> counts(kBins);
  for (std::size_t i = 0; i <= last; ++i) {
    const double place = (values[i] - low) / (high - low) * static_cast<double>(kBins);
    counts[std::min(kBins - 1, static_cast<std::size_t>(place))] += 1;
  }
  Series outline;
  const double width = (high - low) / static_cast<double>(kBins);
  outline.add(low, 0);
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    outline.add(low + width * static_cast<double>(bin), counts[bin]);
    outline.add(low + width * static_cast<double>(bin + 1), counts[bin]);
  }
  outline.add(high, 0);
  Chart chart{"Time of a step",
              "logged steps per bin",
              text("Median ", with_digits(median(values), 3), " s; the slowest 1 % left out."),
              {{"", outline, 4}}};
  chart.scale = Scale::from_zero;
  chart.x_label = "seconds";
  return figure(chart);
}

/// Peak resident memory over the steps.
std::string memory_figure(const Run& run) {
  constexpr double kGibibyte = 1024.0 * 1024 * 1024;
  auto memory = run.memory;
  for (auto& bytes : memory.y) bytes /= kGibibyte;
  if (finite_values(memory.y).empty()) return "";
  Chart chart{"Peak memory", "GiB, resident, of the process so far", "", {{"", memory, 6}}};
  chart.scale = Scale::from_zero;
  return figure(chart);
}

/// The median over layers of each part of a measure, over steps. At most 14 parts.
std::string medians_figure(const Run& run, const char* measure, Chart chart) {
  constexpr std::size_t kMostLines = 14;
  for (const auto& map : run.layer_maps) {
    if (map.measure != measure || map.on != "training" || map.values.size() < 2) continue;
    if (chart.lines.size() == kMostLines) {
      chart.note += text(" The first ", kMostLines, " are drawn.");
      break;
    }
    Series medians;
    for (const auto& [step, values] : map.values) medians.add(step, median(values));
    if (finite_values(medians.y).empty()) continue;
    const int at = static_cast<int>(chart.lines.size());
    chart.lines.push_back({map.part, medians, at % kColours, at % kDashes});
  }
  return chart.lines.empty() ? "" : figure(chart);
}

/// A measure of single layers over steps: the first, the last and up to four between them.
std::string layers_figure(const Run& run, const char* measure, const char* part, Chart chart) {
  constexpr std::size_t kMostLayers = 6;
  const auto* const map = find(run.layer_maps, measure, part);
  if (map == nullptr || map->values.size() < 3) return "";
  std::size_t layers = 0;
  for (const auto& [step, values] : map->values) layers = std::max(layers, values.size());
  const auto shown = std::min(layers, kMostLayers);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto layer = shown == 1 ? 0 : i * (layers - 1) / (shown - 1);
    Series series;
    for (const auto& [step, values] : map->values) {
      series.add(step, layer < values.size() ? values[layer] : std::nan(""));
    }
    const auto name = text("block ", map->first + static_cast<std::int64_t>(layer));
    chart.lines.push_back({name, series, static_cast<int>(i) % kColours, static_cast<int>(i)});
  }
  return figure(chart);
}

}  // namespace

std::string curve_figures(const Run& run) {
  return figure(loss_chart(run)) + late_loss_figure(run) + evaluation_figure(run) +
         answers_figure(run) + gradient_figure(run) + clip_figure(run) + rate_figure(run) +
         throughput_figure(run) + step_time_figure(run) + memory_figure(run);
}

std::string update_figures(const Run& run) {
  const auto chart = [](const char* title, const char* unit, const char* note, Scale scale) {
    Chart out{title, unit, note};
    out.scale = scale;
    return out;
  };
  return layers_figure(
             run, "grad_norm", "block",
             chart("Gradient norm of single blocks", "logarithmic", "", Scale::logarithmic)) +
         layers_figure(run, "stream_rms", "",
                       chart("Residual stream after single blocks", "root mean square", "",
                             Scale::logarithmic)) +
         medians_figure(run, "update_ratio",
                        chart("Update ratio", "norm of the update over that of the parameter",
                              "Median over blocks.", Scale::logarithmic)) +
         medians_figure(run, "gain_drift",
                        chart("Gain drift", "magnitude of gain minus initial gain",
                              "Median over blocks.", Scale::linear));
}

}  // namespace evenkeel::report
