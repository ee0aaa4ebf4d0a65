// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/scheme/scheme_template.h"

#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/config/scheme/scheme_check.h"
#include "evenkeel/config/scheme/scheme_table.h"
#include "evenkeel/config/toml_text.h"
#include "evenkeel/norm/count_formula.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/norm/kind.h"
#include "evenkeel/norm/kinds.h"

namespace evenkeel::config {

/// Generated from new_scheme.toml by cmake/Embed.cmake.
const std::vector<std::pair<std::string_view, std::string_view>>& embedded_templates();

namespace {

std::string replaced(std::string page, std::string_view mark, const std::string& replacement) {
  for (auto at = page.find(mark); at != std::string::npos; at = page.find(mark, at)) {
    page.replace(at, mark.size(), replacement);
    at += replacement.size();
  }
  return page;
}

/// The lines as indented comments, in contrast to the comments with examples.
std::string commented(const std::string& lines) {
  std::istringstream in(lines);
  std::string out;
  for (std::string line; std::getline(in, line);) {
    out += text(out.empty() ? "" : "\n", "#   ", line);
  }
  return out;
}

/// The keys of a scheme as text, one per line; tables of the first level are split into lines.
std::string lines_of(const toml::table& scheme) {
  std::string plain;
  std::string tables;
  for (const auto& [key, node] : scheme) {
    const auto* const table = node.as_table();
    if (table == nullptr || table->contains("kind")) {
      plain += text(key.str(), " = ", toml_text(node), "\n");
      continue;
    }
    for (const auto& [inner, value] : *table) {
      tables += text(key.str(), ".", inner.str(), " = ", toml_text(value), "\n");
    }
  }
  return plain.empty() && tables.empty() ? "(nothing: a bare decoder)" : plain + tables;
}

/// An example of every norm kind with its formula. Kinds with statistics over tokens come last.
std::string kind_examples() {
  std::string causal;
  std::string leaky;
  for (const auto& row : norm::kinds()) {
    auto& lines = norm::mixes_tokens(row.kind) ? leaky : causal;
    lines += text("#norm = ", row.example, "  # ", row.formula, "\n");
  }
  return text(causal, "# These see other tokens, later ones included, and need allow_leakage:\n",
              leaky);
}

std::string count_of(const SchemeSource& source) {
  std::vector<norm::Scheme> schemes;
  for (const std::int64_t layers : {1, 2, 4, 12}) {
    schemes.push_back(bind(source, default_shape(layers)));
  }
  return norm::count_formula(schemes).value_or("none");
}

}  // namespace

std::string scheme_template(const std::filesystem::path& file, const std::string& parent) {
  toml::table child;
  child.insert("extends", parent);
  const auto source = inline_scheme(child, file.parent_path());
  std::string out(embedded_templates().front().second);
  out = replaced(out, "@DIAGRAM@", commented(norm::diagram(bind(source, default_shape(4)))));
  out = replaced(out, "@INHERITED@", commented(lines_of(table_of(source))));
  out = replaced(out, "@KINDS@\n", kind_examples());
  out = replaced(out, "@COUNT@", count_of(source));
  out = replaced(out, "\"@PARENT@\"", in_quotes(parent));
  out = replaced(out, "@PARENT@", parent);
  out = replaced(out, "@FILE@", file.string());
  return replaced(out, "\"@NAME@\"", in_quotes(file.stem().string()));
}

}  // namespace evenkeel::config
