// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evenkeel/report/page_parts.h"

namespace evenkeel::study {

/// One cell of a table, in plain text.
struct Cell {
  std::string text;
  std::string css_class{};                         // CSS class of the text
  std::optional<report::LineStyle> curve_style{};  // sample of the curve before the text
};

struct Column {
  enum class Kind { text, name, number, code };
  std::string name;
  Kind kind = Kind::text;
};

/// A table of a report, for HTML and Markdown.
struct ReportTable {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows{};
  std::string footnote{};  // a remark
};

std::string to_html(const ReportTable& table);

/// A table in GitHub Markdown, followed by an empty line. Markup characters are escaped.
std::string to_markdown(const ReportTable& table);

/// Plain text as one line of Markdown, with markup characters escaped.
std::string escaped_markdown(const std::string& content);

}  // namespace evenkeel::study
