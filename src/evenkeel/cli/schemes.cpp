// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/schemes.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "evenkeel/base/nearest.h"
#include "evenkeel/base/print.h"
#include "evenkeel/base/printable.h"
#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/config/scheme/scheme_check.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/norm/scheme_error.h"
#include "evenkeel/norm/slots.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kSchemesExamples = R"(Examples:
  evenkeel schemes                                  the catalogue, by family
  evenkeel schemes --family hybrid                  one family of the catalogue
  evenkeel schemes --kind dyt                       schemes with a norm of this kind
  evenkeel schemes show hybrid_norm_star            blocks and number of parameters
  evenkeel schemes diff pre_norm hybrid_norm        differences, slot by slot
  evenkeel schemes new mine --extends hybrid_norm   the file of a new scheme
  evenkeel schemes check mine.toml                  check it at several depths
A scheme is a TOML file; docs/schemes.md says how to write one.)";

/// Options of `schemes`. `family` and `kind` filter the catalogue; nullopt: all schemes.
struct SchemesOptions {
  std::shared_ptr<CommonOptions> common = std::make_shared<CommonOptions>();
  std::optional<std::string> family, kind;
  bool markdown = false;
};

/// \throws Error (usage) if no scheme of the catalogue is of this family
void check_family(const std::string& family, const std::vector<CatalogueEntry>& catalogue) {
  std::set<std::string> families;
  for (const auto& each : catalogue) families.insert(each.info.family);
  if (families.contains(family)) return;
  throw Error(Exit::usage, text("--family: no family is named \"", family, "\"",
                                did_you_mean(family, {families.begin(), families.end()})));
}

/// \throws Error (usage) if no norm kind has this name
void check_kind(const std::string& kind) {
  try {
    norm::kind_named(kind);
  } catch (const norm::SchemeError& error) {
    throw Error(Exit::usage, text("--kind: ", error.explanation()));
  }
}

/// The part of the catalogue that the options select.
/// \throws Error (usage) for a family or kind that does not exist
std::vector<CatalogueEntry> chosen(const SchemesOptions& options) {
  auto all = catalogue_entries();
  if (options.family) check_family(*options.family, all);
  if (options.kind) check_kind(*options.kind);
  std::erase_if(all, [&](const CatalogueEntry& each) {
    const auto& kinds = each.kinds;
    const bool has_kind =
        !options.kind || std::find(kinds.begin(), kinds.end(), *options.kind) != kinds.end();
    return !has_kind || (options.family && each.info.family != *options.family);
  });
  return all;
}

/// One object per scheme. "norm_parameters" is an expression in N, d and dk.
nlohmann::ordered_json schemes_as_json(const std::vector<CatalogueEntry>& schemes) {
  auto all = nlohmann::ordered_json::array();
  for (const auto& [info, kinds, norm_parameters] : schemes) {
    all.push_back({{"name", info.name},
                   {"family", info.family},
                   {"title", info.title},
                   {"attention", info.equation_attention},
                   {"feed_forward", info.equation_feed_forward},
                   {"elsewhere", info.equation_other},
                   {"kinds", kinds},
                   {"norm_parameters", norm_parameters},
                   {"source", info.source},
                   {"note", info.note}});
  }
  return all;
}

/// A heading, and one line a scheme: name and title.
void print_family(const std::string& family, const std::vector<norm::SchemeInfo>& schemes) {
  print("%s\n", family.c_str());
  for (const auto& info : schemes) {
    print("  %-28s %s\n", info.name.c_str(), info.title.c_str());
    print("  %-28s   %s;  %s\n", "", info.equation_attention.c_str(),
          info.equation_feed_forward.c_str());
  }
}

/// Prints the schemes by family; one sentence if there are none.
void schemes_print(const std::vector<CatalogueEntry>& schemes) {
  if (schemes.empty()) {
    print("no scheme of this family has a norm of this kind\n");
    return;
  }
  std::map<std::string, std::vector<norm::SchemeInfo>> families;
  for (const auto& each : schemes) families[each.info.family].push_back(each.info);
  print(
      "n is a norm with its own parameters each time; A_qkv is attention with norms on q, k "
      "and v; F is the feed-forward sublayer.\n\n");
  for (const auto& [family, members] : families) print_family(family, members);
  print("\n%zu %s; `evenkeel schemes show NAME` shows one block by block\n", schemes.size(),
        schemes.size() == 1 ? "scheme" : "schemes");
}

/// `evenkeel schemes` without a subcommand: a list, JSON with --json, a page with --markdown.
Exit list_schemes(const SchemesOptions& options) {
  const auto schemes = chosen(options);
  if (options.markdown) {
    print("%s", catalogue_page(schemes).c_str());
  } else if (options.common->json) {
    print_json(schemes_as_json(schemes));
  } else {
    schemes_print(schemes);
  }
  return Exit::success;
}

/// Options of the list, which exclude subcommands.
void add_filters(const Command& command, SchemesOptions& options,
                 std::span<const Verb> subcommands) {
  auto family = command.add_option("--family", options.family, "list only this family");
  auto kind = command.add_option("--kind", options.kind,
                                 "list only schemes that have a norm of "
                                 "this kind anywhere");
  auto markdown =
      command.add_flag("--markdown", options.markdown, "the catalogue as docs/schemes.md shows it");
  family.type_name("FAMILY");
  kind.type_name("KIND");
  for (const auto& subcommand : subcommands) {
    for (const auto& option : {family, kind, markdown}) subcommand.command.excludes(option);
  }
  markdown.excludes(command.option("--json"));
}

}  // namespace

std::vector<CatalogueEntry> catalogue_entries() {
  std::vector<CatalogueEntry> all;
  for (const auto& scheme : config::catalogue_in_default_shape()) {
    std::vector<std::string> kinds;
    for (const auto kind : norm::kinds_of(scheme)) kinds.emplace_back(norm::name_of(kind));
    all.push_back({scheme.info, std::move(kinds),
                   scheme.norm_parameters ? scheme.norm_parameters->formula() : ""});
  }
  return all;
}

void print_field(const char* name, const std::string& value, int width, int indent) {
  if (!value.empty()) {
    print("%*s%-*s %s\n", indent, "", width, name, printable_line(value).c_str());
  }
}

/// `schemes` lists the catalogue by family, filtered by --family and --kind. Its subcommands show,
/// compare, check and create schemes, and exclude --family, --kind and --markdown.
/// Exit code 64: unknown family or norm kind.
Verb add_schemes(const Command& program) {
  const auto options = std::make_shared<SchemesOptions>();
  const auto command = program.add_subcommand("schemes", verb_summary("schemes"));
  add_json(command, *options->common);
  command.footer(kSchemesExamples);
  const std::array<Verb, 4> subcommands = {
      add_schemes_show(command, options->common), add_schemes_diff(command, options->common),
      add_schemes_check(command, options->common), add_schemes_new(command)};
  add_filters(command, *options, subcommands);
  subcommands[3].command.excludes(command.option("--json"));  // `new` has no JSON output
  command.allow_subcommand();
  return {command, [options, subcommands] {
            for (const auto& subcommand : subcommands) {
              if (subcommand.command.parsed()) return subcommand.body();
            }
            return list_schemes(*options);
          }};
}

}  // namespace evenkeel::cli
