// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/bench_page.h"

#include <algorithm>
#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/report/html.h"
#include "evenkeel/report/json_field.h"
#include "evenkeel/report/page_parts.h"
#include "evenkeel/report/ratio_figure.h"
#include "evenkeel/report/stacked_bars.h"

namespace evenkeel::report {

namespace {

using nlohmann::json;
using Records = std::vector<json>;
constexpr int kBenchPageDigits = 4;
constexpr double kMilli = 1e3;

/// At most four significant digits; "–" for NaN and infinity.
std::string shown(double value) {
  return std::isfinite(value) ? with_digits(value, kBenchPageDigits) : "–";
}

/// Tokens per second of a record of `bench step` or `bench peers`: "12,345".
std::string speed_text(const json& record) {
  const double speed = number(record, "tokens") / number(record, "median_seconds");
  return std::isfinite(speed) ? with_commas(std::llround(speed)) : "–";
}

/// A table whose first `names` columns are words; the remaining columns are numbers.
std::string html_table(const std::vector<std::string>& columns, std::size_t names,
                       const std::vector<std::vector<std::string>>& rows) {
  const auto line = [&](const char* tag, const std::vector<std::string>& cells) {
    std::string out;
    for (std::size_t at = 0; at < cells.size(); ++at) {
      out += element(tag, escaped(cells[at]), at < names ? "name" : "number");
    }
    return element("tr", out) + "\n";
  };
  auto out = line("th", columns);
  for (const auto& row : rows) out += line("td", row);
  return element("div", element("table", out), "scroll dense") + "\n";
}

/// "[0.98, 1.02]"; "–" without an interval.
std::string interval(double low, double high) {
  return std::isfinite(low) ? "[" + shown(low) + ", " + shown(high) + "]" : "–";
}

/// A ratio with its interval.
/// \param prefix  "/over_first" for the fields over_first, over_first_low and over_first_high;
///                "/over/probe/" for an object with the fields median, low and high
Ratio ratio_of(const std::string& name, const json& record, const std::string& prefix) {
  const auto at = [&](const char* what) {
    return number(record, json::json_pointer(prefix + what));
  };
  const bool is_nested = prefix.ends_with('/');
  return {.name = name,
          .median = at(is_nested ? "median" : ""),
          .low = at(is_nested ? "low" : "_low"),
          .high = at(is_nested ? "high" : "_high"),
          .is_judged = word(record, "not_judged").empty()};
}

/// Section of `bench step`: a table of the schemes, ratios to the first, and the parts of a step.
std::string bench_page_steps(const Records& records) {
  std::vector<std::vector<std::string>> rows;
  std::vector<Ratio> ratios;
  std::vector<StackedBar> parts;
  for (const auto& record : records) {
    const auto median = number(record, "median_seconds");
    const auto name = word(record, "scheme");
    ratios.push_back(ratio_of(name, record, "/over_first"));
    rows.push_back({name, shown(kMilli * median), shown(kMilli * number(record, "least_seconds")),
                    speed_text(record), shown(median / number(record, "floor_seconds")),
                    shown(ratios.back().median), interval(ratios.back().low, ratios.back().high),
                    shown(number(record, "faults"))});
    if (!record.contains("parts") || !record["parts"].is_object()) continue;
    parts.push_back({name, {}});
    for (const auto& [part, seconds] : record["parts"].items()) {
      if (seconds.is_number())
        parts.back().parts.emplace_back(part, kMilli * seconds.get<double>());
    }
  }
  const auto first = records.empty() ? "" : word(records.front(), "scheme");
  return html_table({"scheme", "median ms", "least ms", "tokens/s", "over the floor",
                     "over the first", "interval", "page faults"},
                    1, rows) +
         ratio_figures(
             "Training steps",
             "Step time of each scheme divided by that of " + first + ", in the same rounds.",
             ratios) +
         stacked_bars(
             "Where the time of a step goes", "ms",
             "One profiled step of each scheme, by LibTorch operator; between: time outside of "
             "operators.",
             parts);
}

/// Section of `bench kernels`: the ratio of each operator to its probe, and a table.
std::string kernels(const Records& records) {
  std::vector<std::vector<std::string>> rows;
  std::vector<Ratio> probes;
  for (const auto& record : records) {
    const auto name = text(word(record, "op"), ' ', word(record, "pass"), ' ',
                           word(record, "dtype"), ' ', word(record, "shape"));
    auto probe = ratio_of(name, record, "/over/probe/");
    const auto allowed = number(record, "allowed");
    if (allowed > 0) probe.goal = allowed;
    const auto over = [&](const char* arm) {
      return shown(number(record, json::json_pointer(text("/over/", arm, "/median"))));
    };
    const auto seconds = number(record, json::json_pointer("/seconds/ours/median"));
    rows.push_back({name, shown(kMilli * seconds), shown(probe.median),
                    interval(probe.low, probe.high), allowed > 0 ? shown(allowed) : "–",
                    over("formula"), over("torch")});
    probes.push_back(probe);
  }
  return ratio_figures(
             "Operators",
             "Time of each operator divided by that of a probe that moves the same memory, or of "
             "its matrix products alone.",
             probes) +
         html_table({"operator", "median ms", "over the probe", "interval", "goal",
                     "over the formula", "over LibTorch's"},
                    1, rows);
}

/// Section of `bench peers`: our step time / PyTorch's, and a table of the processes.
std::string peers(const Records& records) {
  std::vector<std::vector<std::string>> rows;
  std::vector<Ratio> ratios;
  for (const auto& record : records) {
    const auto name = word(record, "process");
    const auto ratio = ratio_of("ours over " + name, record, "/ours_over_it");
    const auto median = number(record, "median_seconds");
    rows.push_back({name, shown(kMilli * median), shown(kMilli * number(record, "least_seconds")),
                    speed_text(record), shown(median / number(record, "floor_seconds")),
                    shown(ratio.median), interval(ratio.low, ratio.high),
                    bytes_text(number(record, "peak_bytes")), shown(number(record, "faults"))});
    if (ratio.median != 1 || ratio.low != 1) ratios.push_back(ratio);
  }
  const auto about = records.empty() ? ""
                                     : text(word(records.front(), "scheme"), ", PyTorch ",
                                            word(records.front(), "torch"));
  return element("p", escaped(about)) + "\n" +
         ratio_figures("The same training",
                       "Step time of Evenkeel divided by that of PyTorch, in the same rounds.",
                       ratios) +
         html_table({"process", "median ms", "least ms", "tokens/s", "over the floor",
                     "ours over it", "interval", "peak memory", "page faults"},
                    1, rows);
}

/// Section of `bench decode`: a table of the batches and dtypes of weights, and of prefill.
std::string decoding(const Records& records) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& record : records) {
    const bool is_prefill = word(record, "case") == "prefill";
    const auto seconds = number(record, "median_seconds");
    const auto tokens = number(record, is_prefill ? "prompt" : "batch");
    const auto ratio = ratio_of("", record, is_prefill ? "/over_forward/" : "/over_first/");
    rows.push_back({word(record, "case"), word(record, "weights"), shown(number(record, "batch")),
                    shown(kMilli * seconds), shown(tokens / seconds),
                    shown(number(record, json::json_pointer("/of_copy/median"))),
                    shown(ratio.median), interval(ratio.low, ratio.high)});
  }
  const auto about =
      records.empty()
          ? ""
          : text(word(records.front(), "scheme"), ", ",
                 with_unit(std::max(0.0, number(records.front(), "parameters"))), " parameters, ",
                 shown(number(records.front(), "prompt")), " tokens of each sequence in the cache");
  return element("p", escaped(about)) + "\n" +
         html_table({"case", "weights", "batch", "median ms", "tokens/s", "over copy bandwidth",
                     "over the first, or the forward pass", "interval"},
                    2, rows);
}

/// A benchmark: the value of "bench" in its records, and the function that renders them.
struct Kind {
  const char* bench;
  const char* heading;
  std::string (*content)(const Records&);
};
constexpr Kind kKinds[] = {{"step", "Training steps", bench_page_steps},
                           {"kernels", "Operators", kernels},
                           {"decode", "Decoding", decoding},
                           {"peers", "Compared with PyTorch", peers}};

/// The benchmark of a record; nullptr if the record is no benchmark record.
const Kind* kind_of(const json& record) {
  for (const auto& kind : kKinds) {
    if (record.is_object() && word(record, "bench") == kind.bench) return &kind;
  }
  return nullptr;
}

/// True for a record of `bench ranks`.
bool is_of_ranks(const json& record) {
  return record.is_object() && word(record, "bench") == "ranks";
}

/// Date and machine of a benchmark, with a notice if the machine was busy.
std::string about(const json& record) {
  std::string out = word(record, "date");
  if (record.contains("machine") && record["machine"].is_object()) {
    for (const auto& [key, value] : record["machine"].items()) {
      out += text(", ", key, ' ', value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  const auto verdict = word(record, "not_judged");
  return element("p", escaped(out), "about") + "\n" +
         (verdict.empty() ? "" : element("p", escaped(verdict), "notice") + "\n");
}

/// The section of one benchmark run: consecutive records with equal date and machine.
std::string section_of(const Records& records) {
  const auto& kind = *kind_of(records.front());
  return section(kind.heading, about(records.front()) + kind.content(records));
}

}  // namespace

std::string bench_page(const std::string& name, const std::vector<json>& records) {
  std::string out;
  Records group;
  const auto close = [&] {
    if (!group.empty()) out += section_of(group);
    group.clear();
  };
  for (const auto& record : records) {
    if (kind_of(record) == nullptr) continue;
    const auto is_another = [&](const char* key) {
      return word(group.front(), key) != word(record, key);
    };
    if (!group.empty() && (is_another("bench") || is_another("date") || is_another("machine"))) {
      close();
    }
    group.push_back(record);
  }
  close();
  if (out.empty()) {
    if (std::any_of(records.begin(), records.end(), is_of_ranks)) {
      throw Error(Exit::data,
                  text(name,
                       ": wanted records of bench step, kernels, decode or peers, but found those "
                       "of `bench ranks`, which have no page; read the file as JSON lines"));
    }
    throw Error(Exit::data,
                text(name,
                     ": holds no line that `evenkeel bench ... --output FILE.jsonl` wrote; to "
                     "report a run, name its folder"));
  }
  const auto head =
      element("header", element("h1", "Benchmarks") + "\n" + element("p", escaped(name), "about"));
  return page(
      "Benchmarks",
      head + "\n" + out + element("footer", "Made by Evenkeel from " + escaped(name) + ".") + "\n");
}

}  // namespace evenkeel::report
