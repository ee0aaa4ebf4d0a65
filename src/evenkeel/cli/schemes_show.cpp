// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "evenkeel/base/file.h"
#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/cli/schemes.h"
#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/data/text_encoding.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/norm/leakage.h"
#include "evenkeel/norm/scheme_json.h"
#include "evenkeel/norm/validate.h"
#include "evenkeel/plan/plan.h"
#include "evenkeel/report/block_figure.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kSchemesShowExamples = R"(Examples:
  evenkeel schemes show hybrid_norm_star            blocks and number of parameters
  evenkeel schemes show mine.toml --preset 151m     your own file, for a model of that size
  evenkeel schemes show mix_ln --svg mix_ln.svg     the same as a figure, for papers and slides)";

/// Prints "scheme         hybrid_norm_star"; nothing if the value is empty.
void print_row(const char* name, const std::string& value) {
  constexpr int kWidth = 14;
  print_field(name, value, kWidth);
}

/// Prints name, source and equations.
void print_info(const norm::SchemeInfo& info) {
  print_row("scheme", info.name + (info.title.empty() ? "" : ": " + info.title));
  print_row("source", info.source);
  print_row("attention", info.equation_attention);
  print_row("feed-forward", info.equation_feed_forward);
  print_row("elsewhere", info.equation_other);
  print_row("note", info.note);
}

/// True if the scheme file declares this warning (`warnings = [...]`).
bool is_expected(const norm::Scheme& scheme, const norm::Warning& warning) {
  const auto& expected = scheme.info.warnings;
  return std::find(expected.begin(), expected.end(), warning.code) != expected.end();
}

/// Prints name and equations, the diagram of the layers, parameters, leaks and warnings.
void schemes_show_print(const BoundScheme& shown) {
  const auto& scheme = shown.scheme;
  print_info(scheme.info);
  print("\n%s\n", norm::diagram(scheme).c_str());
  print_row("norms", text(with_commas(shown.counts.norms), " of ", with_commas(shown.counts.total),
                          " parameters (", model_summary(shown), ")"));
  for (const auto& leak : norm::leaks_of(scheme)) print_row("leak", leak);
  for (const auto& warning : norm::validate(scheme)) {
    print_row("warning", text(warning.code, is_expected(scheme, warning) ? " (expected)" : "", ": ",
                              warning.explanation));
  }
}

/// The content of schemes_show_print() as an object.
nlohmann::ordered_json schemes_show_as_json(const BoundScheme& shown) {
  const auto& [preset, scheme, counts] = shown;
  const auto& info = scheme.info;
  auto warnings = nlohmann::ordered_json::array();
  for (const auto& warning : norm::validate(scheme)) {
    warnings.push_back({{"code", warning.code},
                        {"explanation", warning.explanation},
                        {"expected", is_expected(scheme, warning)}});
  }
  return {{"name", info.name},
          {"family", info.family},
          {"title", info.title},
          {"attention", info.equation_attention},
          {"feed_forward", info.equation_feed_forward},
          {"elsewhere", info.equation_other},
          {"source", info.source},
          {"note", info.note},
          {"diagram", norm::diagram(scheme)},
          {"preset", preset},
          {"layers", scheme.shape.layers},
          {"width", scheme.shape.width},
          {"heads", scheme.shape.heads},
          {"parameters", counts.total},
          {"norm_parameters", counts.norms},
          {"leaks", norm::leaks_of(scheme)},
          {"warnings", warnings},
          {"bound", norm::scheme_json(scheme, std::nullopt)}};
}

/// Prints the scheme as text or as JSON.
/// \param svg  file of the figure; empty: none
/// \throws SchemeError if the scheme is invalid; Error (io) if the figure cannot be written
Exit show(const CommonOptions& common, const std::filesystem::path& svg) {
  const auto shown = bound_scheme(common);
  if (!svg.empty()) write_file(svg, report::block_svg(shown.scheme));
  if (common.json) {
    print_json(schemes_show_as_json(shown));
  } else {
    schemes_show_print(shown);
    const auto given = common.scheme.value_or("");
    const auto scheme = config::scheme_of_model(given);
    if (scheme != given) {
      print_row("name", text(given, " is a name for ", scheme,
                             "; nothing but the norms is that of these models"));
    }
  }
  return Exit::success;
}

}  // namespace

BoundScheme bound_scheme(const CommonOptions& common) {
  const auto config = config::resolve(common.sources());
  auto plan = plan::plan_of(config, {}, data::vocabulary_of(config));
  return {config.preset, std::move(plan.scheme), plan.counts};
}

std::string model_summary(const BoundScheme& bound) {
  const auto& shape = bound.scheme.shape;
  return text("preset ", bound.preset, ": ", shape.layers, " layers, width ", shape.width, ", ",
              shape.heads, " heads");
}

void add_model_options(const Command& command, CommonOptions& common) {
  command
      .add_option("--preset", common.preset,
                  "sizes of the model: tiny, nano, 151m, ...; default: tiny")
      .type_name("NAME");
  add_file_and_set_options(command, common);
}

/// `schemes show` binds a scheme to a model and prints its blocks as diagrams, the number of norm
/// parameters, and warnings; --svg draws the blocks. Exit codes: 64 the scheme breaks a rule; 74
/// the figure cannot be written.
Verb add_schemes_show(const Command& schemes, const std::shared_ptr<CommonOptions>& common) {
  const auto command = schemes.add_subcommand("show", "a scheme block by block, with its warnings");
  command.add_option("scheme", common->scheme, "a name or a .toml file")
      .type_name("NAME|FILE")
      .required();
  const auto svg = std::make_shared<std::filesystem::path>();
  command.add_option("--svg", *svg, "also draw the blocks as a figure into this file")
      .type_name("FILE")
      .not_empty();
  add_model_options(command, *common);
  add_json(command, *common);
  command.footer(kSchemesShowExamples);
  return {command, [common, svg] { return show(*common, *svg); }};
}

}  // namespace evenkeel::cli
