// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/index_page.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/report/chart_frame.h"
#include "evenkeel/report/end_loss.h"
#include "evenkeel/report/html.h"
#include "evenkeel/report/page_parts.h"

namespace evenkeel::report {

namespace {

/// The training loss as a small curve without axes; "" for fewer than two points.
std::string sparkline(const Run& run) {
  constexpr double kSparkWidth = 110, kSparkHeight = 24, kEdge = 2;
  constexpr std::size_t kBuckets = 40;
  const auto series = downsampled(run.loss, kBuckets);
  const auto values = finite_values(series.y);
  if (values.size() < 2) return "";
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double first = series.x.front(), last = series.x.back();
  if (!(last > first)) return "";
  std::string path;
  bool is_down = false;
  for (std::size_t at = 0; at < series.size(); ++at) {
    if (!std::isfinite(series.y[at])) {
      is_down = false;
      continue;
    }
    const double x = kEdge + (kSparkWidth - 2 * kEdge) * (series.x[at] - first) / (last - first);
    const double place = *high > *low ? (series.y[at] - *low) / (*high - *low) : 0.5;
    path += text(is_down ? 'L' : 'M', svg_number(x), ' ',
                 svg_number(kSparkHeight - kEdge - (kSparkHeight - 2 * kEdge) * place));
    is_down = true;
  }
  return text("<svg class=\"spark\" viewBox=\"0 0 ", kSparkWidth, ' ', kSparkHeight,
              "\" role=\"img\" aria-label=\"training loss of ", escaped(run.name),
              "\"><path class=\"line c0\" d=\"", path, "\"/></svg>");
}

std::string index_row(const IndexRow& row) {
  const auto& run = *row.run;
  const auto cell = [](const std::string& value) { return element("td", value, "number"); };
  auto name = escaped(row.name);
  if (!row.address.empty()) name = text("<a href=\"", escaped(row.address), "\">", name, "</a>");
  return element("tr", element("td", name, "name") + element("td", escaped(run.scheme)) +
                           element("td", escaped(run.preset)) + element("td", state_text(run)) +
                           cell(steps_text(run)) + cell(end_loss_text(end_training(run))) +
                           cell(end_loss_text(end_validation(run))) +
                           element("td", sparkline(run))) +
         "\n";
}

}  // namespace

std::string url_part(const std::string& name) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._";
  constexpr std::string_view kHex = "0123456789ABCDEF";
  constexpr unsigned kHalf = 4, kLow = 15;
  std::string out;
  for (const char each : name) {
    if (kPlain.find(each) != std::string_view::npos) {
      out += each;
      continue;
    }
    const auto byte = static_cast<unsigned char>(each);
    out += text('%', kHex[byte >> kHalf], kHex[byte & kLow]);
  }
  return out;
}

std::string index_page(const std::string& title, const std::vector<IndexRow>& runs,
                       const std::string& more, const std::string& events) {
  const auto number = [](const char* name) { return element("th", name, "number"); };
  auto rows =
      element("tr", element("th", "run") + element("th", "scheme") + element("th", "preset") +
                        element("th", "state") + number("steps") + number("training loss") +
                        number("validation loss") + element("th", "training loss")) +
      "\n";
  for (const auto& run : runs) rows += index_row(run);
  const auto count = text(runs.size(), runs.size() == 1 ? " run" : " runs");
  const auto table = runs.empty() ? element("p", "The folder has no run yet.", "missing")
                                  : element("div", element("table", rows), "scroll dense") +
                                        element("p", "Losses in nats per token.", "below");
  return page(title,
              element("header", element("h1", escaped(title)) + element("p", count, "about")) +
                  "\n" + table + more + element("footer", "Made by Evenkeel.") + "\n",
              events);
}

}  // namespace evenkeel::report
