// SPDX-License-Identifier: Apache-2.0
#include <cctype>
#include <map>
#include <string_view>

#include "evenkeel/base/error.h"
#include "evenkeel/cli/schemes.h"

namespace evenkeel::cli {

namespace {

/// `content` with a backslash before each of these letters.
std::string escaped(const std::string& content, std::string_view letters) {
  std::string out;
  for (const char letter : content) {
    if (letters.find(letter) != std::string_view::npos) out += '\\';
    out += letter;
  }
  return out;
}

/// Text of a table cell or a paragraph in Markdown, with | and * escaped.
std::string prose(const std::string& content) {
  return escaped(content, "|*");
}

/// `content` as code of a table cell; "" stays "".
std::string code(const std::string& content) {
  return content.empty() ? "" : text("`", escaped(content, "|"), "`");
}

/// The table row of a scheme.
std::string row(const CatalogueEntry& scheme) {
  const auto& info = scheme.info;
  return text("| ", code(info.name), " | ", prose(info.title), " | ", code(info.equation_attention),
              " | ", code(info.equation_feed_forward), " | ", code(scheme.norm_parameters), " | ",
              prose(info.source), " |\n");
}

/// A list item with what has no column: the equation outside the blocks, and the note; "" without
/// both.
std::string remark(const norm::SchemeInfo& info) {
  if (info.equation_other.empty() && info.note.empty()) return "";
  auto line = text("- `", info.name, "`:");
  if (!info.equation_other.empty()) line += text(" `", info.equation_other, "`.");
  if (!info.note.empty()) line += text(" ", prose(info.note));
  return line + "\n";
}

/// The word with an upper-case first letter.
std::string capitalized(std::string word) {
  if (!word.empty()) word[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(word[0])));
  return word;
}

}  // namespace

std::string catalogue_page(const std::vector<CatalogueEntry>& catalogue) {
  std::map<std::string, std::vector<CatalogueEntry>> families;
  for (const auto& each : catalogue) families[each.info.family].push_back(each);
  auto page = text(catalogue.size(), " schemes in ", families.size(),
                   families.size() == 1 ? " family.\n" : " families.\n");
  for (const auto& [family, schemes] : families) {
    page += text("\n### ", capitalized(family),
                 "\n\n| scheme | what it is | attention | feed-forward | parameters of "
                 "the norms | source |\n|---|---|---|---|---|---|\n");
    std::string notes;
    for (const auto& each : schemes) {
      page += row(each);
      notes += remark(each.info);
    }
    if (!notes.empty()) page += "\n" + notes;
  }
  return page;
}

}  // namespace evenkeel::cli
