// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/report_table.h"

#include "evenkeel/report/chart.h"
#include "evenkeel/report/html.h"

namespace evenkeel::study {

namespace {

using report::element;
using report::escaped;

/// The CSS class of a column.
std::string report_table_css_class(Column::Kind kind) {
  switch (kind) {
    case Column::Kind::text:
      return "";
    case Column::Kind::name:
      return "name";
    case Column::Kind::number:
      return "number";
    case Column::Kind::code:
      return "text";
  }
  return {};
}

/// The content of a cell: text, its coloured word, or a piece of a curve.
std::string report_table_to_html(const Cell& cell) {
  auto content = escaped(cell.text);
  if (!cell.css_class.empty()) return element("span", content, "state " + cell.css_class);
  if (cell.curve_style)
    return report::swatch(cell.curve_style->colour, cell.curve_style->dash) + " " + content;
  return content;
}

std::string markdown_line(const std::vector<std::string>& cells) {
  std::string out = "|";
  for (const auto& cell : cells) out += " " + cell + " |";
  return out + "\n";
}

}  // namespace

std::string to_html(const ReportTable& table) {
  std::string head;
  for (const auto& column : table.columns) {
    const bool is_number = column.kind == Column::Kind::number;
    head += element("th", escaped(column.name), is_number ? "number" : "");
  }
  auto rows = element("tr", head) + "\n";
  for (const auto& row : table.rows) {
    std::string cells;
    for (std::size_t at = 0; at < row.size(); ++at) {
      cells += element("td", report_table_to_html(row[at]),
                       report_table_css_class(table.columns[at].kind));
    }
    rows += element("tr", cells) + "\n";
  }
  const auto footnote =
      table.footnote.empty() ? "" : element("p", escaped(table.footnote), "below") + "\n";
  return element("div", element("table", rows), "scroll dense") + "\n" + footnote;
}

std::string to_markdown(const ReportTable& table) {
  std::vector<std::string> names, rules;
  for (const auto& column : table.columns) {
    names.push_back(escaped_markdown(column.name));
    rules.emplace_back(column.kind == Column::Kind::number ? "---:" : "---");
  }
  auto out = markdown_line(names) + markdown_line(rules);
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    cells.reserve(row.size());
    for (const auto& cell : row) cells.push_back(escaped_markdown(cell.text));
    out += markdown_line(cells);
  }
  return out + "\n" + (table.footnote.empty() ? "" : escaped_markdown(table.footnote) + "\n\n");
}

std::string escaped_markdown(const std::string& content) {
  constexpr std::string_view kMarkup = "\\`*|<>#";
  std::string out;
  for (const char letter : content) {
    if (kMarkup.find(letter) != std::string_view::npos) out += '\\';
    const bool ends_line = letter == '\n' || letter == '\r';
    out += ends_line ? ' ' : letter;
  }
  return out;
}

}  // namespace evenkeel::study
