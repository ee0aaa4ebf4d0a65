// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evenkeel/report/page_parts.h"

namespace evenkeel::study {

/// What stands in a table, in plain text.
struct Cell {
  std::string text;
  std::string css_class{};                         // class of the style sheet that colours the word
  std::optional<report::LineStyle> curve_style{};  // a piece of the curve before it
};

struct Column {
  enum class Kind { text, name, number, code };
  std::string name;
  Kind kind = Kind::text;
};

/// A table of a report, for the page and for Markdown alike.
struct ReportTable {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows{};
  std::string footnote{};  // a remark
};

std::string to_html(const ReportTable& table);

/// A table of GitHub's Markdown, ending in an empty line. What Markdown would read as markup is
/// escaped.
std::string to_markdown(const ReportTable& table);

/// Text of a file as one line of Markdown.
std::string escaped_markdown(const std::string& content);

}  // namespace evenkeel::study
