// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/markdown_report.h"

#include <algorithm>

#include "evenkeel/base/error.h"
#include "evenkeel/study/report/figures.h"
#include "evenkeel/study/report/outcome.h"
#include "evenkeel/study/report/overhead.h"
#include "evenkeel/study/report/report_content.h"
#include "evenkeel/study/report/report_table.h"
#include "evenkeel/study/report/verdict_text.h"

namespace evenkeel::study {

namespace {

std::string markdown_paragraph(const std::string& content) {
  return content.empty() ? "" : escaped_markdown(content) + "\n\n";
}

std::string markdown_section(const char* heading, const std::string& content) {
  return content.empty() ? "" : text("## ", heading, "\n\n", content);
}

/// Between fences that are longer than any in the text.
std::string fenced(const std::string& content) {
  std::size_t longest = 2, run = 0;
  for (const char letter : content) {
    run = letter == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  const auto* const end = content.ends_with('\n') ? "" : "\n";
  return fence + "\n" + content + end + fence + "\n\n";
}

std::string markdown_outcome(const OutcomeLine& line) {
  return text("- **", to_string(line.outcome), "** ", escaped_markdown(line.where),
              line.where.empty() ? "" : ": ", escaped_markdown(line.sentence), "\n");
}

std::string markdown_claims(const Results& results) {
  std::string out;
  for (std::size_t i = 0; i < results.study.claims.size(); ++i) {
    std::string outcomes;
    for (const auto& line : outcome_lines(results, i)) outcomes += markdown_outcome(line);
    out += markdown_paragraph(results.study.claims[i].says) + outcomes + "\n";
  }
  return out;
}

std::string laws(const Results& results) {
  std::string out;
  for (const auto& fit : results.fits) out += "- " + escaped_markdown(power_law_text(fit)) + "\n";
  return out.empty() ? "" : out + "\n";
}

std::string markdown_fairness(const Results& results) {
  auto out = to_markdown(fairness_table(results));
  out += markdown_paragraph(confounders_text(results));
  for (const auto& each : results.confounders) {
    out += "- " + escaped_markdown(each.covariate) + "\n";
    for (const auto& line : confounder_lines(each)) {
      out += "  - " + escaped_markdown(line) + "\n";
    }
  }
  if (!results.confounders.empty()) out += '\n';
  out +=
      markdown_paragraph(search_text(results)) + markdown_paragraph("Time: " + times_text(results));
  if (!results.search_results.empty()) out += to_markdown(search_table(results));
  return out;
}

std::string markdown_reproduction(const Results& results) {
  auto out =
      fenced(results.command) + markdown_paragraph(results.provenance) + fenced(results.study.text);
  for (const auto& [name, toml] : results.own_schemes) {
    out += markdown_paragraph("The scheme " + name + ":") + fenced(toml);
  }
  return out;
}

}  // namespace

std::string markdown_report(const Results& results) {
  const auto& study = results.study;
  auto out = "# " + markdown_paragraph(study.title.empty() ? study.name : study.title);
  out += markdown_paragraph(about_text(study)) + markdown_paragraph(study.question) +
         markdown_paragraph(outcome_summary(results)) +
         markdown_paragraph(unfinished_text(results)) +
         markdown_paragraph(definition_changes_text(results)) +
         markdown_paragraph(record_losses_text(results));
  out += markdown_section("Verdicts", markdown_claims(results));
  out += markdown_section(
      results.baseline_verdicts.empty() ? "Arms" : "Against the baseline",
      to_markdown(arms_table(results)) + markdown_paragraph(failures_text(results)));
  out += markdown_section("Scaling", laws(results));
  const auto overhead = overhead_table(results);
  if (!overhead.rows.empty())
    out += markdown_section("Counted and measured", to_markdown(overhead));
  const auto paper = paper_table(results);
  if (!paper.rows.empty()) out += markdown_section("Compared with the paper", to_markdown(paper));
  out += markdown_section("Fairness", markdown_fairness(results));
  out += markdown_section("Runs", to_markdown(runs_table(results)));
  return out + markdown_section("To repeat it", markdown_reproduction(results));
}

}  // namespace evenkeel::study
