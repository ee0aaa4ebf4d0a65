// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <string>

#include "evenkeel/base/print.h"
#include "evenkeel/cli/probe.h"
#include "evenkeel/cli/probe_claims.h"
#include "evenkeel/ops/common/serial_libraries.h"
#include "evenkeel/probe/causality.h"
#include "evenkeel/probe/invariance.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kProbeInvarianceExamples = R"(Examples:
  evenkeel probe invariance
  evenkeel probe invariance --json
Exit code 0: all claims held; 1: one is refuted. docs/probes.md derives the table.)";

/// One cell: "=" if the output is invariant as claimed, "x" if it changes as claimed, "!" if the
/// claim is refuted.
char letter_of(const probe::Claim& claim) {
  if (!claim.holds()) return '!';
  return claim.relation == probe::Relation::at_most ? '=' : 'x';
}

/// A table of letter_of(): one line per norm, one column per change of the input.
/// \param claims  result of invariance_claims(): all changes of the first norm, then of the next
std::string overview(const probe::Claims& claims) {
  constexpr std::size_t kName = 26;
  const auto& changes = probe::changes();
  std::string out = "Outputs of a norm on z = x W^T: = invariant, x changes, ! refuted\n\n";
  for (std::size_t i = 0; i < changes.size(); ++i) {
    out += text("  ", static_cast<char>('a' + i), "  ", changes[i].name, "\n");
  }
  out += "\n" + std::string(kName, ' ');
  for (std::size_t i = 0; i < changes.size(); ++i) out += text(" ", static_cast<char>('a' + i));
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const auto& name = claims[i].subject;
    if (i % changes.size() == 0) out += "\n" + name + std::string(kName - name.size(), ' ');
    out += text(" ", letter_of(claims[i]));
  }
  return out + "\n\n";
}

/// Checks invariance of the norms, equal kinds, and causality of the schemes.
/// \return Exit::check_failed if a claim is refuted, else Exit::success
Exit run_probe_invariance(bool json) {
  const ops::SerialLibraries one_thread;  // products of LibTorch
  const auto table = probe::invariance_claims();
  auto claims = table;
  for (const auto& part : {probe::equality_claims(), probe::causality_claims(/*seed=*/1)}) {
    claims.insert(claims.end(), part.begin(), part.end());
  }
  if (json) {
    const nlohmann::ordered_json all = {{"claims", claims_json(claims)},
                                        {"held", claims_exit(claims) == Exit::success}};
    print_json(all, 2);
  } else {
    print("%s%s", overview(table).c_str(), claims_table(claims).c_str());
  }
  return claims_exit(claims);
}

}  // namespace

/// `probe invariance` compares the outputs of each norm kind before and after a change of its
/// input, and checks that the output of a token does not depend on later tokens
/// (probe/invariance.h, probe/causality.h). Exit code 1: a claim is refuted.
Verb add_probe_invariance(const Command& probe) {
  const auto json = std::make_shared<bool>(false);
  const auto command =
      probe.add_subcommand("invariance", "check the invariances of norms, and causality");
  command.add_flag("--json", *json, "results as JSON on standard output");
  command.footer(kProbeInvarianceExamples);
  return {command, [json] { return run_probe_invariance(*json); }};
}

}  // namespace evenkeel::cli
