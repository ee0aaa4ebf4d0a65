// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <memory>

#include "evenkeel/base/print.h"
#include "evenkeel/cli/probe.h"
#include "evenkeel/cli/probe_claims.h"
#include "evenkeel/ops/common/serial_libraries.h"
#include "evenkeel/probe/coupling.h"
#include "evenkeel/probe/theory.h"
#include "evenkeel/probe/whitening.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kProbeTheoryExamples = R"(Examples:
  evenkeel probe theory
  evenkeel probe theory --sequence 2 --width 32    sizes where the printed bounds fail
  evenkeel probe theory --seeds 50 --json
Exit code 0: all claims held; 1: one is refuted. docs/probes.md derives the bounds.)";

constexpr std::int64_t kMostSeeds = 1000;
constexpr std::int64_t kMostSequence = 32, kMostWidth = 32;  // a Jacobian holds s d^3 numbers

/// Options of `probe theory`.
struct ProbeTheoryOptions {
  probe::TheoryOptions theory;
  bool json = false;
};

/// Checks an integer option.
/// \throws Error (usage) if the value is outside [least, most]
void probe_theory_check(const char* option, std::int64_t value, std::int64_t least,
                        std::int64_t most) {
  if (value >= least && value <= most) return;
  throw Error(Exit::usage, text(option, " must be ", least, " to ", most, ", but is ", value));
}

/// Prints the table of Jacobian norms, their bounds, and norm / bound ("share").
void probe_theory_print(const probe::BoundRows& rows, const probe::TheoryOptions& options) {
  print(
      "Jacobians of one head, s = %lld, d = dk = %lld, seeds 1 to %lld\n"
      "norm and bounds are of the seed nearest its corrected bound, shares the largest of any\n"
      "seed; exceeded: how many seeds are above the printed bound\n\n",
      static_cast<long long>(options.sequence), static_cast<long long>(options.width),
      static_cast<long long>(options.seeds));
  print("%-9s %-7s %9s %10s %9s %10s %9s %9s\n", "setting", "", "norm", "corrected", "share",
        "printed", "share", "exceeded");
  for (const auto& row : rows) {
    print("%-9s dS/d%-3s %9.4g %10.4g %9.4f %10.4g %9.4f %9lld\n", name_of(row.placement),
          row.weight, row.norm, row.bound.corrected, row.ratio_to_corrected, row.bound.printed,
          row.ratio_to_printed, static_cast<long long>(row.exceeded));
  }
  print("\n");
}

/// One object per pair of placement ("setting") and weight matrix.
nlohmann::ordered_json jacobians_of(const probe::BoundRows& rows) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& row : rows) {
    list.push_back({{"setting", name_of(row.placement)},
                    {"matrix", row.weight},
                    {"norm", row.norm},
                    {"corrected_bound", row.bound.corrected},
                    {"printed_bound", row.bound.printed},
                    {"share_of_corrected", row.ratio_to_corrected},
                    {"share_of_printed", row.ratio_to_printed},
                    {"seeds_above_printed", row.exceeded}});
  }
  return list;
}

/// Compares Jacobians of random heads with their bounds, and checks the claims on coupling and on
/// whitening.
/// \return Exit::check_failed if a claim is refuted, else Exit::success
/// \throws Error (usage) for sizes out of range
Exit run_probe_theory(const ProbeTheoryOptions& options) {
  const ops::SerialLibraries one_thread;  // products and LAPACK of LibTorch
  const auto& sizes = options.theory;
  probe_theory_check("--seeds", sizes.seeds, 1, kMostSeeds);
  probe_theory_check("--sequence", sizes.sequence, 2, kMostSequence);
  probe_theory_check("--width", sizes.width, 2, kMostWidth);
  auto [rows, claims] = probe::theory(sizes);
  const auto coupling = probe::coupling_claims(/*seed=*/1);
  claims.insert(claims.end(), coupling.begin(), coupling.end());
  const auto whitening = probe::whitening_claims();
  claims.insert(claims.end(), whitening.begin(), whitening.end());
  if (options.json) {
    const nlohmann::ordered_json all = {
        {"sequence", sizes.sequence},    {"width", sizes.width},
        {"seeds", sizes.seeds},          {"jacobians", jacobians_of(rows)},
        {"claims", claims_json(claims)}, {"held", claims_exit(claims) == Exit::success}};
    print_json(all, 2);
  } else {
    probe_theory_print(rows, sizes);
    print("%s", claims_table(claims).c_str());
  }
  return claims_exit(claims);
}

}  // namespace

/// `probe theory` computes Jacobians of one attention head for random weights and compares
/// their norms with the printed and the corrected bounds. Exit code 1: a bound is violated.
/// \source Zhuo et al. 2025, HybridNorm, arXiv 2503.04598
Verb add_probe_theory(const Command& probe) {
  const auto options = std::make_shared<ProbeTheoryOptions>();
  const auto command =
      probe.add_subcommand("theory", "check the Jacobians of one head against their bounds");
  command.add_option("--seeds", options->theory.seeds, "number of random heads").show_default();
  command.add_option("--sequence", options->theory.sequence, "tokens of the sequence, s")
      .show_default();
  command.add_option("--width", options->theory.width, "width of the head, d = dk").show_default();
  command.add_flag("--json", options->json, "results as JSON on standard output");
  command.footer(kProbeTheoryExamples);
  return {command, [options] { return run_probe_theory(*options); }};
}

}  // namespace evenkeel::cli
