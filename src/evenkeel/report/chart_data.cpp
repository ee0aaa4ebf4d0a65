// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/chart_data.h"

#include <nlohmann/json.hpp>

#include <array>
#include <charconv>
#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/base/json_dump.h"
#include "evenkeel/report/chart_marks.h"

namespace evenkeel::report {

namespace {

constexpr int kJsonDigits = 6;
constexpr std::size_t kClockBuckets = 200;

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  std::array<char, 32> out{};
  constexpr double kExact = 1e15;
  char* const begin = out.data();
  char* const end = begin + out.size();
  if (value == std::round(value) && std::abs(value) < kExact) {
    return {begin, std::to_chars(begin, end, static_cast<std::int64_t>(value)).ptr};
  }
  return {begin, std::to_chars(begin, end, value, std::chars_format::general, kJsonDigits).ptr};
}

std::string json_axis(const Axis& axis) {
  return text('[', json_number(axis.low), ',', json_number(axis.high), ',',
              axis.logarithmic ? "true" : "false", ']');
}

/// \param line  downsampled
std::string json_line(const Line& line) {
  auto out = text("{\"name\":", json_string(line.name), ",\"run\":", line.run, ",\"style\":\"",
                  classes_of(line), "\",\"x\":", json_numbers(line.points.x),
                  ",\"y\":", json_numbers(line.points.y));
  if (!line.bounds.high.empty()) {
    const bool is_band = line.bounds.as == ErrorBounds::As::band;
    out += text(",\"bounds\":\"", is_band ? "band" : "bars",
                "\",\"low\":", json_numbers(line.bounds.low),
                ",\"high\":", json_numbers(line.bounds.high));
  }
  if (line.shift != 0) out += text(",\"shift\":", json_number(line.shift));
  if (has_dots(line)) out += ",\"dots\":true";
  if (line.stroke == Stroke::points) out += ",\"curve\":false";
  return out + '}';
}

/// `[each, each, ...]`
template <typename Item, typename Function>
std::string json_list(const std::vector<Item>& items, const Function& json_of) {
  std::string out = "[";
  for (const auto& item : items) out += text(out.size() > 1 ? "," : "", json_of(item));
  return out + ']';
}

/// What a chart shows besides its lines: `,"reference":{...},"flags":[...]`; "" if nothing.
std::string json_marks(const Chart& chart) {
  std::string out;
  if (chart.reference) {
    out += text(",\"reference\":{\"at\":", json_number(chart.reference->at),
                ",\"label\":", json_string(chart.reference->label), '}');
  }
  const auto titled = [](const auto& mark) {
    return text("\"at\":", json_number(mark.at), ",\"title\":", json_string(mark.title));
  };
  if (!chart.flags.empty()) {
    const auto flag = [&](const Flag& each) { return text('{', titled(each), '}'); };
    out += text(",\"flags\":", json_list(chart.flags, flag));
  }
  if (!chart.crosses.empty()) {
    const auto cross = [&](const Cross& each) {
      return text('{', titled(each), ",\"colour\":", each.colour % kColours, '}');
    };
    out += text(",\"crosses\":", json_list(chart.crosses, cross));
  }
  if (!chart.x_ticks.empty()) {
    const auto tick = [](const Tick& each) {
      return text('[', json_number(each.at), ',', json_string(each.label), ']');
    };
    out += text(",\"ticks\":", json_list(chart.x_ticks, tick));
  }
  return out;
}

/// The tokens, seconds and FLOPs of a run at the steps that downsampling retains.
std::string clock_of(const Run& run) {
  const auto& clock = run.tokens_over_steps;
  const double of_token = flops_per_token(run);
  const bool has_seconds = run.seconds_over_steps.size() == clock.size();
  std::vector<double> steps, tokens, seconds, flops;
  for (const auto at : downsample_indices({&clock.y}, kClockBuckets)) {
    steps.push_back(clock.x[at]);
    tokens.push_back(clock.y[at]);
    flops.push_back(of_token * tokens.back());
    if (has_seconds) seconds.push_back(run.seconds_over_steps.y[at]);
  }
  auto out = text("{\"name\":", json_string(run.name), ",\"step\":", json_numbers(steps));
  if (steps.empty()) return out + "}";
  out += text(",\"tokens\":", json_numbers(tokens));
  if (has_seconds) out += text(",\"seconds\":", json_numbers(seconds));
  if (of_token > 0) out += text(",\"FLOPs\":", json_numbers(flops));
  return out + "}";
}

}  // namespace

std::string json_numbers(const std::vector<double>& values) {
  std::string out = "[";
  for (const auto value : values) {
    if (out.size() > 1) out += ',';
    out += json_number(value);
  }
  return out + "]";
}

std::string json_string(const std::string& content) {
  return json_dump(nlohmann::json(content));
}

std::string json_script(const std::string& json, const std::string& attributes) {
  std::string out;
  for (const char each : json) {
    if (each == '&') {
      out += "\\u0026";
    } else if (each == '<') {
      out += "\\u003c";
    } else if (each == '>') {
      out += "\\u003e";
    } else {
      out += each;
    }
  }
  return text("<script type=\"application/json\"", attributes, ">", out, "</script>\n");
}

std::string chart_data(const Chart& chart, const std::vector<Line>& lines, const Frame& frame) {
  std::string all, legend;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    all += text(all.empty() ? "" : ",", json_line(lines[at]));
    if (!lines[at].name.empty()) legend += text(legend.empty() ? "" : ",", at);
  }
  const std::vector<double> area = {frame.left, frame.top(), frame.right(), frame.bottom()};
  return json_script(text(
      "{\"title\":", json_string(chart.title), ",\"unit\":", json_string(chart.unit), ",\"x\":",
      json_string(chart.x_label), ",\"zero\":", chart.scale == Scale::from_zero ? "true" : "false",
      ",\"logx\":", chart.logarithmic_x ? "true" : "false", ",\"frame\":", json_numbers(area),
      ",\"ax\":", json_axis(frame.x), ",\"ay\":", json_axis(frame.y), ",\"legend\":[", legend,
      "],\"lines\":[", all, "]", json_marks(chart), '}'));
}

std::string clocks_data(const std::vector<const Run*>& runs) {
  std::string all;
  for (const auto* const run : runs) all += text(all.empty() ? "" : ",", clock_of(*run));
  return json_script(text('[', all, ']'), " id=\"clocks\"");
}

}  // namespace evenkeel::report
