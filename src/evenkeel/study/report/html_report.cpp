// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/html_report.h"

#include "evenkeel/base/error.h"
#include "evenkeel/report/html.h"
#include "evenkeel/report/page_parts.h"
#include "evenkeel/study/report/figures.h"
#include "evenkeel/study/report/outcome.h"
#include "evenkeel/study/report/overhead.h"
#include "evenkeel/study/report/report_content.h"
#include "evenkeel/study/report/report_table.h"
#include "evenkeel/study/report/verdict_text.h"

namespace evenkeel::study {

namespace {

using report::element;
using report::escaped;
using report::section;

std::string html_paragraph(const std::string& content, const char* name = "") {
  return content.empty() ? "" : element("p", escaped(content), name) + "\n";
}

/// A section that is closed on the screen and open in print.
/// \param summary, content  HTML
std::string collapsible(const std::string& summary, const std::string& content) {
  return element("details", element("summary", summary) + content) + "\n";
}

std::string header(const Results& results) {
  const auto& study = results.study;
  const auto content = element("h1", escaped(study.title.empty() ? study.name : study.title)) +
                       "\n" + html_paragraph(about_text(study), "about") +
                       html_paragraph(study.question) +
                       html_paragraph(outcome_summary(results), "verdict") +
                       html_paragraph(unfinished_text(results), "notice") +
                       html_paragraph(definition_changes_text(results), "notice") +
                       html_paragraph(record_losses_text(results), "notice");
  return element("header", content) + "\n";
}

std::string html_outcome(const OutcomeLine& line) {
  const auto chip = element("span", to_string(line.outcome), "state " + css_class(line.outcome));
  const auto where = line.where.empty() ? "" : element("strong", escaped(line.where)) + ": ";
  return element("div", chip + element("span", where + escaped(line.sentence)), "outcome") + "\n";
}

/// Each claim with its verdicts.
std::string claims_section(const Results& results) {
  std::string items;
  for (std::size_t i = 0; i < results.study.claims.size(); ++i) {
    std::string outcomes;
    for (const auto& line : outcome_lines(results, i)) outcomes += html_outcome(line);
    items += element("li", html_paragraph(results.study.claims[i].says, "says") + outcomes) + "\n";
  }
  return items.empty() ? "" : section("Verdicts", element("ol", items, "claims"));
}

std::string html_report_arms(const Results& results) {
  const auto* const heading = results.baseline_verdicts.empty() ? "Arms" : "Against the baseline";
  return section(heading, to_html(arms_table(results)) + html_paragraph(failures_text(results)));
}

std::string paper_comparison(const Results& results) {
  const auto table = paper_table(results);
  return table.rows.empty() ? "" : section("Compared with the paper", to_html(table));
}

std::string fairness_section(const Results& results) {
  auto out = to_html(fairness_table(results));
  out += html_paragraph(confounders_text(results));
  std::string items;
  for (const auto& each : results.confounders) {
    std::string lines;
    for (const auto& line : confounder_lines(each)) lines += element("li", escaped(line));
    items += element("li", escaped(each.covariate) + element("ul", lines));
  }
  if (!items.empty()) out += element("ul", items) + "\n";
  out += html_paragraph(search_text(results)) + html_paragraph(times_text(results), "times");
  if (!results.search_results.empty())
    out += collapsible("All trials of the search", to_html(search_table(results)));
  return section("Fairness", out);
}

std::string reproduction(const Results& results) {
  auto out = element("pre", escaped(results.command), "wrap") + "\n" +
             html_paragraph(results.provenance, "below") +
             collapsible("The study file", element("pre", escaped(results.study.text)));
  for (const auto& [name, toml] : results.own_schemes) {
    out += collapsible(escaped("The scheme " + name), element("pre", escaped(toml), "wrap"));
  }
  return section("To repeat it", out);
}

}  // namespace

std::string html_report(const Results& results) {
  const auto& study = results.study;
  auto out = header(results) + claims_section(results) + html_report_arms(results);
  out += section("Figures", element("div", figures(results), "figures"));
  const auto overhead = overhead_table(results);
  if (!overhead.rows.empty()) out += section("Counted and measured", to_html(overhead));
  out += paper_comparison(results) + fairness_section(results);
  out += section("Runs", collapsible("All runs of the grid", to_html(runs_table(results))));
  out += reproduction(results);
  out += element("footer", "Made by Evenkeel from the files of the study's runs.") + "\n";
  return report::page(study.title.empty() ? study.name : study.title, out);
}

}  // namespace evenkeel::study
