// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/run_page.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <numbers>
#include <optional>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/base/printable.h"
#include "evenkeel/report/chart_data.h"
#include "evenkeel/report/end_loss.h"
#include "evenkeel/report/html.h"
#include "evenkeel/report/layer_figures.h"
#include "evenkeel/report/mixture_figures.h"
#include "evenkeel/report/page_parts.h"
#include "evenkeel/report/run_figures.h"
#include "evenkeel/report/run_scheme.h"
#include "evenkeel/report/settings_changes.h"
#include "evenkeel/report/source_figures.h"
#include "evenkeel/report/task_figures.h"

namespace evenkeel::report {

namespace {

/// Converts nats to bits: divides by ln 2.
std::string bits(double nats) {
  return loss_text(nats / std::numbers::ln2);
}

/// Seconds since 1970 of a time as in status.json; nullopt for another text.
std::optional<double> seconds_of(const std::string& time) {
  std::tm parts{};
  const char* const end = ::strptime(time.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return static_cast<double>(::timegm(&parts));
}

/// The start of a run, and the time until its last status; "" if unknown.
std::string wall_time_text(const Run& run) {
  const auto from = seconds_of(run.started), to = seconds_of(run.updated);
  if (!from) return "";
  auto out = "began " + run.started;
  if (to && run.state != "training" && *to >= *from) {
    out += text(", took ", duration_text(*to - *from), " with evaluation and pauses");
  }
  return out;
}

/// The title, the state and the scheme.
std::string header(const Run& run) {
  auto about = run.scheme.empty() ? std::string("scheme unknown") : escaped(run.scheme);
  if (!run.preset.empty()) about += " · preset " + escaped(run.preset);
  about += " · " + state_text(run);
  if (const auto time = wall_time_text(run); !time.empty()) about += " · " + escaped(time);
  return element("h1", escaped(run.name)) + "\n" + element("p", about, "about") + "\n";
}

/// The run in a sentence.
std::string run_page_verdict(const Run& run) {
  const auto [validation, failure] = end_validation(run);
  const double gap = last_finite(run.gap.y), training = end_training(run).value;
  const auto after = text(" after ", steps_text(run), ".");
  if (failure) {
    return text("Validation loss ", element("strong", failure_text(*failure)), " (",
                steps_text(run), ").");
  }
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
  if (std::isfinite(training)) {
    return text("Training loss ", element("strong", loss_text(training)), " nats per token,", after,
                " The run has no validation yet.");
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

/// The remark below the validation loss: its unit, or when it failed; and the best value unless it
/// is the last.
std::string best_text(const Series& series, const std::optional<Failure>& failure) {
  const auto values = finite_values(series.y);
  const auto unit = failure ? failure->when : std::string("nats per token");
  if (values.empty()) return failure ? unit : "no validation yet";
  const double best = *std::min_element(values.begin(), values.end());
  return failure || best < values.back() ? text(unit, "; best ", loss_text(best)) : unit;
}

/// The value of the tile of a loss: the loss, or how it failed.
std::string loss_value(const EndLoss& loss) {
  return loss.failure ? loss.failure->what : loss_text(loss.value);
}

/// A count with a unit letter, "1.5M"; "–" for NaN.
std::string known(double value) {
  return std::isfinite(value) ? with_unit(value) : "–";
}

/// The key figures of the last validation.
std::string validation_tiles(const Run& run) {
  const auto validation = end_validation(run);
  const auto at_end = [&](const Series& series) {
    return validation.failure ? std::nan("") : last_finite(series.y);
  };
  auto out = tile("Validation loss", loss_value(validation),
                  best_text(run.validation_loss, validation.failure));
  if (run.floor) {
    const double gap = at_end(run.gap);
    return out +
           tile("Gap to the floor", loss_text(gap), "nats per byte; " + bits(gap) + " bits",
                "lead") +
           tile("Entropy floor", loss_text(run.floor->nats_per_byte),
                "nats per byte; " + bits(run.floor->nats_per_byte) + " bits");
  }
  if (run.bits_per_byte.size() > 0) {
    out += tile("Bits a byte", loss_text(at_end(run.bits_per_byte)), "validation");
  }
  return out +
         tile("Perplexity", decimal_text(std::exp(validation.value), 2), "a token, validation");
}

/// The key figures of the run.
std::string tiles(const Run& run) {
  const auto training = end_training(run);
  const auto logged = end_training_count(run);
  const auto steps =
      logged == 1 ? "of the last logged step" : text("mean of the last ", logged, " logged steps");
  auto out = validation_tiles(run);
  out += tile("Training loss", loss_value(training),
              training.failure ? training.failure->when : steps);
  const auto planned =
      std::isfinite(run.steps) ? "of " + with_commas(std::llround(run.steps)) + "; " : "";
  out +=
      tile("Steps", with_commas(std::llround(run.step)), planned + known(run.tokens) + " tokens");
  out += tile("Training time", run.seconds > 0 ? duration_text(run.seconds) : "–",
              "estimated from the logged steps");
  out += tile("Throughput", known(median(run.tokens_per_second.y)), "tokens/s, median");
  out += tile("Peak memory", std::isfinite(run.peak_memory) ? bytes_text(run.peak_memory) : "–",
              "highest of the logged steps");
  return element("dl", out, "tiles") + "\n";
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
std::string health_events(const Run& run) {
  std::string losses;
  for (const auto& each : record_losses(run)) losses += element("p", escaped(each), "notice");
  return losses + event_table(run);
}

/// The commands that repeat the run, and an entry for a bibliography.
std::string repeat_section(const Run& run) {
  const auto commit = value_of(run.environment, "commit");
  const auto version = value_of(run.environment, "evenkeel");
  const auto command =
      text("evenkeel train --config ", shell_word((run.folder / "run.toml").string()));
  const auto entry = text("@software{evenkeel,\n  title = {Evenkeel},\n  version = {", version,
                          "},\n  note = {commit ", commit.empty() ? "unknown" : commit, ", run ",
                          run.name, "}\n}");
  const auto changes = settings_changes_text(run);
  const auto note = changes.empty()
                        ? ""
                        : element("p",
                                  escaped(text("Settings changed ", changes,
                                               ": this command does not repeat the run.")),
                                  "notice");
  return section("Repeat and cite", element("pre", escaped(command)) + note +
                                        element("p", "BibTeX:", "below") +
                                        element("pre", escaped(entry)));
}

/// Machine, versions and texts of the run.
std::string run_page_environment(const Run& run) {
  KeyValues all;
  if (!run.started.empty()) all.emplace_back("started", run.started);
  if (!run.updated.empty()) all.emplace_back("last status", run.updated);
  for (const auto& [key, value] : run.host) {
    const bool is_bytes = key == "memory_bytes";
    const double bytes = std::strtod(value.c_str(), nullptr);
    all.emplace_back(is_bytes ? "memory and swap space" : key,
                     is_bytes ? bytes_text(bytes) : value);
  }
  if (run.cpu_contention) all.emplace_back("CPU contention", percent(*run.cpu_contention));
  all.insert(all.end(), run.environment.begin(), run.environment.end());
  auto out = all.empty() ? "" : key_value_table(all);
  if (run.environment.empty()) {
    out += missing_text(run, "provenance.json", "provenance.json is empty");
  }
  return out;
}

/// The content of run.toml, folded; or why it is missing.
std::string run_page_configuration(const Run& run) {
  const auto why = run.missing.find("run.toml");
  auto note = why == run.missing.end() ? "" : missing_text(run, "run.toml", "");
  if (!run.config) return note;
  const auto* const about = settings_changes(run).empty()
                                ? "run.toml, complete: repeats the run"
                                : "run.toml, complete: the settings since the last change";
  return note + element("details",
                        element("summary", about) + preformatted(run, run.config, "run.toml", ""));
}

/// The blocks as a figure, and as the text of scheme.txt, folded; "" without both.
std::string scheme_section(const Run& run) {
  const auto figure = run_scheme_figure(run);
  auto diagram = run.diagram ? preformatted(run, run.diagram, "scheme.txt", "diagram") : "";
  if (figure.empty() && diagram.empty()) return "";
  if (figure.empty()) return section("Scheme", diagram);
  if (!diagram.empty()) {
    diagram = element("details", element("summary", "As text, with every field") + diagram);
  }
  return section("Scheme", figure + diagram);
}

}  // namespace

std::string run_page(const Run& run, const std::string& events) {
  auto out = element("header", header(run) + element("p", run_page_verdict(run), "verdict")) +
             "\n" + tiles(run);
  out += section("Curves", element("div", "", "controls") + clocks_data({&run}) +
                               element("div", curve_figures(run), "figures"));
  const auto sources = source_figures(run);
  if (!sources.empty()) out += section("Sources", sources);
  const auto texts = text_figures(run);
  if (!texts.empty()) out += section("Texts", texts);
  const auto tasks = task_figures(run);
  if (!tasks.empty()) out += section("Tasks", tasks);
  const auto experts = mixture_figures(run);
  if (!experts.empty()) out += section("Experts", element("div", experts, "figures"));
  const auto layers = layer_figures(run) + update_figures(run);
  if (!layers.empty()) out += section("Layer by layer", element("div", layers, "figures"));
  out += scheme_section(run);
  out += section("Sample", preformatted(run, run.sample, "sample.txt", "wrap"));
  out += section("Health", health_events(run));
  out += section("Configuration", run_page_configuration(run));
  if (run.config) out += repeat_section(run);
  out += section("Environment", run_page_environment(run));
  out += element("footer", "Made by Evenkeel from the files of the run folder.") + "\n";
  return page(run.name, out, events);
}

}  // namespace evenkeel::report
