// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <string_view>

#include "evenkeel/base/file.h"
#include "evenkeel/base/print.h"
#include "evenkeel/base/printable.h"
#include "evenkeel/cli/schemes.h"
#include "evenkeel/config/scheme/scheme_template.h"
#include "evenkeel/norm/scheme_error.h"

namespace evenkeel::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* kSchemesNewExamples = R"(Examples:
  evenkeel schemes new mine                              mine.toml, which begins as hybrid_norm
  evenkeel schemes new mine --extends peri_ln --output schemes/mine.toml)";
constexpr std::string_view kSuffix = ".toml";

/// Options of `schemes new`.
struct SchemesNewOptions {
  std::string name, parent = "hybrid_norm";
  std::optional<fs::path> output;
};

/// Checks a name, which becomes part of the names of run folders: letters, digits and ._+- only.
/// \throws Error (usage) for another character
void check_name(const std::string& name) {
  const auto is_fit = [](unsigned char letter) {
    return std::isalnum(letter) != 0 ||
           std::string_view("._+-").find(static_cast<char>(letter)) != std::string_view::npos;
  };
  if (name.empty() || name.front() == '.' || !std::all_of(name.begin(), name.end(), is_fit)) {
    throw Error(Exit::usage,
                text("schemes new: a name must be of letters, digits and ._+-, but is \"", name,
                     "\"; a folder goes into --output"));
  }
  const auto known = config::catalogue();
  if (std::find(known.begin(), known.end(), name) == known.end()) return;
  throw Error(Exit::usage, text("schemes new: ", name,
                                " is a scheme of the catalogue, which a file of this name would "
                                "hide; choose another name"));
}

/// The file to write: --output, or NAME.toml in the current folder.
/// \throws Error (usage) for a bad name or ending, and if the file exists
fs::path file_of(const SchemesNewOptions& options) {
  auto name = options.name;
  if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
  check_name(name);
  auto file = options.output.value_or(name + std::string(kSuffix));
  check_name(file.stem().string());
  if (file.extension() != kSuffix) {
    throw Error(Exit::usage, text("--output ", file.string(),
                                  ": the file of a scheme must end in .toml; its stem is the "
                                  "scheme's name"));
  }
  if (fs::exists(fs::symlink_status(file))) {
    throw Error(Exit::usage, text(file.string(),
                                  ": exists already and is not overwritten; name "
                                  "another file with --output"));
  }
  return file;
}

/// Writes the file and prints the next commands.
/// \throws Error (usage) if --extends names no scheme
Exit make(const SchemesNewOptions& options) {
  const auto file = file_of(options);
  const auto name = printable_line(file.string());
  try {
    write_file(file, config::scheme_template(file, options.parent));
  } catch (const norm::SchemeError& error) {
    const bool is_missing = error.code() == "unknown_parent";
    throw Error(Exit::usage, text("--extends ", options.parent, ": ",
                                  is_missing ? error.explanation() : error.what()));
  }
  print("%s: written; without changes it equals %s. Edit it, then run\n", name.c_str(),
        options.parent.c_str());
  print("  evenkeel schemes check %s\n", name.c_str());
  print("  evenkeel schemes show %s\n", name.c_str());
  print("  evenkeel train --scheme %s\n", name.c_str());
  print("  evenkeel probe --scheme %s\n", name.c_str());
  return Exit::success;
}

}  // namespace

/// `schemes new` writes a TOML file that extends a scheme and has an example of every key as a
/// comment. It overwrites no file (exit code 64).
Verb add_schemes_new(const Command& schemes) {
  const auto options = std::make_shared<SchemesNewOptions>();
  const auto command =
      schemes.add_subcommand("new", "write the file of a new scheme, to be edited");
  command.add_option("name", options->name, "name of the new scheme").type_name("NAME").required();
  command
      .add_option("--extends", options->parent,
                  "the scheme that it extends: a name or a .toml file")
      .type_name("NAME|FILE")
      .show_default();
  command.add_option("--output", options->output, "file to write; default: NAME.toml")
      .type_name("FILE")
      .not_empty();
  command.footer(kSchemesNewExamples);
  return {command, [options] { return make(*options); }};
}

}  // namespace evenkeel::cli
