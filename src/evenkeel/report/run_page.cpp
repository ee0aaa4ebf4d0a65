// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/run_page.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/report/chart.h"
#include "evenkeel/report/html.h"
#include "evenkeel/report/layer_figures.h"
#include "evenkeel/report/mixture_figures.h"
#include "evenkeel/report/page_parts.h"
#include "evenkeel/report/source_figures.h"
#include "evenkeel/report/task_figures.h"

namespace evenkeel::report {

namespace {

/// Converts nats to bits: divides by ln 2.
std::string bits(double nats) {
  return loss_text(nats / std::numbers::ln2);
}

/// The title, the state and the scheme.
std::string header(const Run& run) {
  auto about = run.scheme.empty() ? std::string("scheme unknown") : escaped(run.scheme);
  if (!run.preset.empty()) about += " · preset " + escaped(run.preset);
  about += " · " + state_text(run);
  return element("h1", escaped(run.name)) + "\n" + element("p", about, "about") + "\n";
}

/// The run in a sentence.
std::string run_page_verdict(const Run& run) {
  const double validation = last_finite(run.validation_loss.y), gap = last_finite(run.gap.y);
  const auto after = text(" after ", steps_text(run), ".");
  if (run.floor && std::isfinite(gap)) {
    return text("Validation loss ", loss_text(validation), " nats per token: ",
                element("strong", text(loss_text(gap), " nats (", bits(gap), " bits) a byte ",
                                       gap < 0 ? "below" : "above", " the entropy floor")),
                " of ", loss_text(run.floor->nats_per_byte), after);
  }
  if (std::isfinite(validation)) {
    const double bits_per_byte = last_finite(run.bits_per_byte.y);
    const auto per_byte =
        std::isfinite(bits_per_byte) ? text(" ", loss_text(bits_per_byte), " bits per byte,") : "";
    return text("Validation loss ", element("strong", loss_text(validation)), " nats per token,",
                per_byte, after);
  }
  if (std::isfinite(final_loss(run))) {
    return text("Training loss ", element("strong", loss_text(final_loss(run))), " nats per token,",
                after, " The run has no validation yet.");
  }
  return "The run has no measurements yet.";
}

/// A key figure: name, value, and a remark below it.
/// \param kind  CSS class; "lead" is the largest tile
std::string tile(const char* name, const std::string& value, const std::string& below,
                 const char* kind = "") {
  return element(
      "div", element("dt", name) + element("dd", value, "value") + element("dd", escaped(below)),
      kind);
}

/// The remark below the validation loss: its unit, and the best value unless it is the last.
std::string best_text(const Series& series) {
  const auto values = finite_values(series.y);
  if (values.empty()) return "no validation yet";
  const double best = *std::min_element(values.begin(), values.end());
  return best < values.back() ? "nats per token; best " + loss_text(best) : "nats per token";
}

/// A count with a unit letter, "1.5M"; "–" for NaN.
std::string known(double value) {
  return std::isfinite(value) ? with_unit(value) : "–";
}

/// The key figures of the run.
std::string tiles(const Run& run) {
  const double validation = last_finite(run.validation_loss.y), gap = last_finite(run.gap.y);
  auto out = tile("Validation loss", loss_text(validation), best_text(run.validation_loss));
  if (run.floor) {
    out +=
        tile("Gap to the floor", loss_text(gap), "nats per byte; " + bits(gap) + " bits", "lead");
    out += tile("Entropy floor", loss_text(run.floor->nats_per_byte),
                "nats per byte; " + bits(run.floor->nats_per_byte) + " bits");
  } else {
    if (run.bits_per_byte.size() > 0) {
      out += tile("Bits a byte", loss_text(last_finite(run.bits_per_byte.y)), "validation");
    }
    out += tile("Perplexity", fixed(std::exp(validation), 2), "a token, validation");
  }
  out += tile("Training loss", loss_text(final_loss(run)),
              text("mean of the last ", final_loss_count(run), " logged"));
  const auto planned =
      std::isfinite(run.steps) ? "of " + with_commas(std::llround(run.steps)) + "; " : "";
  out +=
      tile("Steps", with_commas(std::llround(run.step)), planned + known(run.tokens) + " tokens");
  out += tile("Training time", run.seconds > 0 ? duration_text(run.seconds) : "–",
              "summed over the logged steps, without evaluation");
  out += tile("Throughput", known(median(run.tokens_per_second.y)), "tokens/s, median");
  out += tile("Peak memory", std::isfinite(run.peak_memory) ? bytes_text(run.peak_memory) : "–",
              "highest of the logged steps");
  return element("dl", out, "tiles") + "\n";
}

/// The lines of a quantity: logged values (faint) and their moving mean.
std::vector<Line> logged_and_mean(const Series& series, const std::string& name, int colour) {
  const auto half = half_window(series.size());
  Line logged{name, series, colour, 0, Stroke::faint};
  Line mean{text("mean of ", 2 * half + 1, " logged"), smoothed(series, half), colour};
  return {logged, mean};
}

/// Training and validation loss over the steps, with the entropy floor where it is known.
std::string loss_figure(const Run& run) {
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
  chart.wide = true;
  chart.when_empty = no_data({&run}, kLoss);
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

/// Learning rate over the steps.
std::string rate_figure(const Run& run) {
  Chart chart{kLearningRate.title, kLearningRate.unit, "", {{"", run.learning_rate, 2}}};
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
  chart.when_empty = no_data({&run}, kGradientNorm);
  return figure(chart);
}

/// Tokens per second over the steps.
std::string throughput_figure(const Run& run) {
  Chart chart{kThroughput.title, kThroughput.unit, "",
              logged_and_mean(run.tokens_per_second, "as logged", 4)};
  chart.scale = Scale::from_zero;
  chart.when_empty = no_data({&run}, kThroughput);
  return figure(chart);
}

/// The content of a file as `<pre>`, or the reason why it is missing.
/// \param kind  CSS class
std::string preformatted(const Run& run, const std::optional<std::string>& content,
                         const char* file, const char* kind) {
  if (!content || content->empty()) return missing_text(run, file, text(file, " is empty"));
  return element("pre", escaped(*content), kind);
}

/// The events of health.jsonl as a table.
std::string event_table(const Run& run) {
  if (run.events.empty()) {
    const auto why = run.missing.find("health.jsonl");
    const bool is_absent = why == run.missing.end() || why->second == "health.jsonl is missing";
    return element("p", is_absent ? "Nothing was recorded: no spike, no skipped step, no warning."
                                  : escaped(why->second));
  }
  constexpr std::size_t kShown = 200;
  auto rows = element("tr", element("th", "step", "number") + element("th", "event") +
                                element("th", "detail")) +
              "\n";
  for (std::size_t at = 0; at < std::min(kShown, run.events.size()); ++at) {
    const auto& event = run.events[at];
    const auto step = std::isfinite(event.step) ? with_commas(std::llround(event.step)) : "–";
    rows += element("tr", element("td", step, "number") + element("td", escaped(event.name)) +
                              element("td", escaped(event.detail))) +
            "\n";
  }
  auto out = element("div", element("table", rows), "scroll");
  if (run.events.size() > kShown) {
    out += element(
        "p", text("The first ", kShown, " of ", run.events.size(), "; all are in health.jsonl."),
        "muted");
  }
  return out;
}

/// The events of health.jsonl as a table, after what the records have lost.
std::string events(const Run& run) {
  std::string losses;
  for (const auto& each : record_losses(run)) losses += element("p", escaped(each), "notice");
  return losses + event_table(run);
}

/// The content of run.toml, folded; or why it is missing.
std::string run_page_configuration(const Run& run) {
  const auto why = run.missing.find("run.toml");
  auto note = why == run.missing.end() ? "" : missing_text(run, "run.toml", "");
  if (!run.config) return note;
  return note + element("details", element("summary", "run.toml, complete: repeats the run") +
                                       preformatted(run, run.config, "run.toml", ""));
}

}  // namespace

std::string run_page(const Run& run) {
  auto out = element("header", header(run) + element("p", run_page_verdict(run), "verdict")) +
             "\n" + tiles(run);
  const auto figures = loss_figure(run) + evaluation_figure(run) + answers_figure(run) +
                       gradient_figure(run) + rate_figure(run) + throughput_figure(run);
  out += section("Curves", element("div", figures, "figures"));
  const auto sources = source_figures(run);
  if (!sources.empty()) out += section("Sources", sources);
  const auto texts = text_figures(run);
  if (!texts.empty()) out += section("Texts", texts);
  const auto tasks = task_figures(run);
  if (!tasks.empty()) out += section("Tasks", tasks);
  const auto experts = mixture_figures(run);
  if (!experts.empty()) out += section("Experts", element("div", experts, "figures"));
  const auto layers = layer_figures(run);
  if (!layers.empty()) out += section("Layer by layer", element("div", layers, "figures"));
  if (run.diagram)
    out += section("Scheme", preformatted(run, run.diagram, "scheme.txt", "diagram"));
  out += section("Sample", preformatted(run, run.sample, "sample.txt", "wrap"));
  out += section("Health", events(run));
  out += section("Configuration", run_page_configuration(run));
  out += section("Environment", run.environment.empty() ? missing_text(run, "provenance.json",
                                                                       "provenance.json is empty")
                                                        : key_value_table(run.environment));
  out += element("footer", "Made by Evenkeel from the files of the run folder.") + "\n";
  return page(run.name, out);
}

}  // namespace evenkeel::report
