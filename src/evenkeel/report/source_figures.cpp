// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/source_figures.h"

#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/report/chart.h"
#include "evenkeel/report/end_loss.h"
#include "evenkeel/report/html.h"
#include "evenkeel/report/page_parts.h"

namespace evenkeel::report {

namespace {

/// One row per source: name, tokens seen, share of all tokens, last validation loss.
std::string source_table(const Run& run) {
  double all = 0;
  for (const auto& [name, source] : run.sources) all += source.tokens;
  auto rows = element("tr", element("th", "source") + element("th", "tokens", "number") +
                                element("th", "share", "number") +
                                element("th", "validation loss", "number")) +
              "\n";
  const bool has_failed = end_validation(run).failure.has_value();
  for (const auto& [name, source] : run.sources) {
    const double loss = has_failed ? std::nan("") : last_finite(source.loss.y);
    const auto share = all > 0 ? percent(source.tokens / all) : std::string("–");
    rows += element("tr", element("td", escaped(name)) +
                              element("td", with_commas(std::llround(source.tokens)), "number") +
                              element("td", share, "number") +
                              element("td", loss_text(loss), "number")) +
            "\n";
  }
  return element("div", element("table", rows), "scroll");
}

}  // namespace

std::string source_figures(const Run& run) {
  if (run.sources.empty()) return "";
  Chart chart{"Validation loss by source", "nats per token"};
  int number = 0;
  for (const auto& [name, source] : run.sources) {
    chart.lines.push_back(
        {name, source.loss, number % kColours, number / kColours % kDashes, Stroke::dotted});
    ++number;
  }
  return element("div", figure(chart), "figures") + source_table(run);
}

}  // namespace evenkeel::report
