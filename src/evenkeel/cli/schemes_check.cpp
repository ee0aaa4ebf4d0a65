// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "evenkeel/base/print.h"
#include "evenkeel/base/printable.h"
#include "evenkeel/cli/schemes.h"
#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/config/scheme/scheme_check.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/norm/leakage.h"
#include "evenkeel/norm/scheme_error.h"
#include "evenkeel/norm/slots.h"

namespace evenkeel::cli {

namespace {

using config::Findings;
using config::WarningOccurrence;

constexpr const char* kSchemesCheckExamples = R"(Examples:
  evenkeel schemes check mine.toml             check it at several depths
  evenkeel schemes check schemes/*.toml        exit code 1 if one of them is wrong)";

struct SchemesCheckOptions {
  std::shared_ptr<CommonOptions> common;
  std::vector<std::string> schemes;
};

/// The elements, with ", " between them.
template <typename List>
std::string joined(const List& list) {
  std::string out;
  for (const auto& each : list) out += text(out.empty() ? "" : ", ", each);
  return out;
}

/// The names of the norm kinds that the scheme uses.
std::vector<std::string> kinds_in(const norm::Scheme& scheme) {
  std::vector<std::string> names;
  for (const auto kind : norm::kinds_of(scheme)) names.emplace_back(norm::name_of(kind));
  return names;
}

/// Prints "  kinds         rms_norm"; nothing if the value is empty.
void print_finding(const char* name, const std::string& value) {
  constexpr int kIndent = 2, kWidth = 13;
  print_field(name, value, kWidth, kIndent);
}

/// A warning with its explanation, and the depths that raise it unless all do.
std::string warning_text(const Findings& findings, const WarningOccurrence& each) {
  const auto where =
      each.depths == findings.depths
          ? std::string()
          : text(" (of ", joined(findings.depths), " blocks: at ", joined(each.depths), ")");
  return text(each.warning.code, each.is_expected ? " (expected)" : "", ": ",
              each.warning.explanation, where);
}

/// Prints "NAME: fine", equations, kinds, norm parameters, equivalent schemes, leaks and warnings.
void schemes_check_print(const std::string& name, const Findings& findings) {
  const auto& scheme = findings.scheme;
  print("%s: fine\n", printable_line(name).c_str());
  print_finding("attention", scheme.info.equation_attention);
  print_finding("feed-forward", scheme.info.equation_feed_forward);
  print_finding("elsewhere", scheme.info.equation_other);
  const auto kinds = joined(kinds_in(scheme));
  print_finding("kinds", kinds.empty() ? "none: no norm anywhere" : kinds);
  print_finding("parameters", findings.count.empty() ? "" : findings.count + " in the norms");
  print_finding("same as", joined(findings.same_as));
  for (const auto& leak : norm::leaks_of(scheme)) print_finding("leak", leak);
  for (const auto& each : findings.warnings) print_finding("warning", warning_text(findings, each));
  for (const auto& each : findings.notes) print_finding("note", each);
  for (const auto& code : findings.never_raised) {
    print_finding("note", text("`warnings` expects ", code, ", which does not arise"));
  }
}

/// The findings of one scheme. "layers" has the numbers of layers at which it was bound.
nlohmann::ordered_json schemes_check_as_json(const std::string& name, const Findings& findings) {
  const auto& scheme = findings.scheme;
  auto warnings = nlohmann::ordered_json::array();
  for (const auto& each : findings.warnings) {
    warnings.push_back({{"code", each.warning.code},
                        {"explanation", each.warning.explanation},
                        {"expected", each.is_expected},
                        {"layers", each.depths}});
  }
  return {{"scheme", name},
          {"fine", true},
          {"attention", scheme.info.equation_attention},
          {"feed_forward", scheme.info.equation_feed_forward},
          {"kinds", kinds_in(scheme)},
          {"norm_parameters", findings.count},
          {"same_as", findings.same_as},
          {"leaks", norm::leaks_of(scheme)},
          {"warnings", warnings},
          {"idle_warnings", findings.never_raised},
          {"notes", findings.notes},
          {"layers", findings.depths}};
}

/// The message, with the name of the scheme prepended unless the message begins with it.
std::string schemes_check_complaint(const std::string& name, const std::string& what) {
  return what.starts_with(name) ? what : text(name, ": ", what);
}

/// The exit code of a scheme with this error: check_failed for an invalid scheme, usage for an
/// unknown name, io or data for a file that cannot be read.
Exit schemes_check_verdict(const Error& error) {
  if (dynamic_cast<const config::UnknownScheme*>(&error) != nullptr) return Exit::usage;
  return error.exit() == Exit::usage ? Exit::check_failed : error.exit();
}

/// Checks all schemes, also after an invalid one.
/// \return Exit::check_failed if one is invalid, else the code of the first error, or success
Exit check(const SchemesCheckOptions& options) {
  const bool json = options.common->json;
  const auto known = config::known_schemes(config::catalogue_in_default_shape());
  auto all = nlohmann::ordered_json::array();
  auto exit_code = Exit::success;
  for (const auto& name : options.schemes) {
    try {
      const auto findings = config::check_scheme(config::find_scheme(name), known);
      if (json) {
        all.push_back(schemes_check_as_json(name, findings));
      } else {
        schemes_check_print(name, findings);
      }
    } catch (const Error& error) {
      const auto code = schemes_check_verdict(error);
      if (exit_code == Exit::success || code == Exit::check_failed) exit_code = code;
      all.push_back({{"scheme", name}, {"fine", false}, {"error", error.what()}});
      if (!json) print("%s\n", printable_line(schemes_check_complaint(name, error.what())).c_str());
    }
  }
  if (json) print_json(all);
  return exit_code;
}

}  // namespace

/// `schemes check` binds each scheme at several depths, since [[layers]] may address layers that a
/// shallow model does not have. It prints all findings of all files.
/// Exit codes: 1 a scheme is invalid; 64 no scheme has this name.
Verb add_schemes_check(const Command& schemes, const std::shared_ptr<CommonOptions>& common) {
  const auto options = std::make_shared<SchemesCheckOptions>(SchemesCheckOptions{common, {}});
  const auto command =
      schemes.add_subcommand("check", "check schemes at several depths and print what is wrong");
  command.add_option("schemes", options->schemes, "names or .toml files")
      .type_name("NAME|FILE")
      .required();
  add_json(command, *common);
  command.footer(kSchemesCheckExamples);
  return {command, [options] { return check(*options); }};
}

}  // namespace evenkeel::cli
