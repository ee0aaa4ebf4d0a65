// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <memory>

#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/bench/comparison.h"
#include "evenkeel/cli/bench.h"
#include "evenkeel/store/json_lines.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kBenchCompareExamples = R"(Examples:
  evenkeel bench step --output before.jsonl
  evenkeel bench compare before.jsonl after.jsonl
  evenkeel bench compare before.jsonl after.jsonl --margin 0.05
A case is slower if the whole interval of its ratio is above 1 + margin. From four runs in both
files on, runs are compared, else the rounds of the runs. Exit code 1: something is slower.)";

struct BenchCompareOptions {
  std::filesystem::path before, after;
  double margin = 0.02;
  bool json = false;
};

std::vector<nlohmann::json> bench_compare_records(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file))
    throw Error(Exit::data, text(file.string(), ": no such file; `evenkeel bench step --output ",
                                 file.string(), "` writes one"));
  return store::read_json_lines(file).records;
}

const char* bench_compare_word(const bench::ComparedCase& each, double margin) {
  if (!each.has_rounds) return "no rounds";
  if (!each.has_interval()) return "too few rounds";
  if (!each.disturbed.empty()) return "busy machine";
  if (each.is_of_reference(margin)) return "reference changed";
  if (each.is_slower(margin)) return "SLOWER";
  return each.is_faster(margin) ? "faster" : "no change";
}

constexpr const char* kRelative =
    "ratio: of times relative to the memory probe, the matrix products or the engine's exchange of "
    "the same run";
constexpr const char* kOfRounds =
    "interval: of the rounds of the runs; differences between runs are in it from four runs in "
    "both files on";

/// Prints a line per case, the slowest first, and the cases of one file only.
void bench_compare_print(const bench::Comparison& comparison, double margin) {
  print("%-64s %10s %10s %7s %-16s\n", "case", "before ms", "after ms", "ratio", "   interval");
  bool has_relative = false, has_rounds = false;
  for (const auto& each : comparison.cases) {
    has_relative = has_relative || each.is_relative;
    has_rounds = has_rounds || (each.has_interval() && each.sample == bench::Sample::rounds);
    print("%-64s %10.3f %10.3f %7.3f %-16s %s\n", each.name.c_str(), 1e3 * each.before,
          1e3 * each.after, each.ratio.median, interval_of(each.ratio).c_str(),
          bench_compare_word(each, margin));
  }
  for (const auto& name : comparison.only_before) print("%-64s only before\n", name.c_str());
  for (const auto& name : comparison.only_after) print("%-64s only after\n", name.c_str());
  if (has_relative) print("\n%s\n", kRelative);
  if (has_rounds) print("%s%s\n", has_relative ? "" : "\n", kOfRounds);
}

const char* bench_compare_sample(const bench::ComparedCase& each) {
  if (!each.has_interval()) return "none";
  return each.sample == bench::Sample::runs ? "runs" : "rounds";
}

nlohmann::ordered_json bench_compare_as_json(const bench::Comparison& comparison, double margin) {
  auto records = nlohmann::ordered_json::array();
  for (const auto& each : comparison.cases) {
    records.push_back({{"case", each.name},
                       {"before_seconds", each.before},
                       {"after_seconds", each.after},
                       {"ratio", each.ratio.median},
                       {"low", each.ratio.low},
                       {"high", each.ratio.high},
                       {"seconds_ratio", each.of_seconds.median},
                       {"sample", bench_compare_sample(each)},
                       {"relative", each.is_relative},
                       {"judged", each.is_judged(margin)},
                       {"slower", each.is_slower(margin)},
                       {"faster", each.is_faster(margin)},
                       {"verdict", bench_compare_word(each, margin)}});
  }
  return {{"cases", records},
          {"only_before", comparison.only_before},
          {"only_after", comparison.only_after}};
}

/// \return Exit::check_failed if a case is slower; Exit::busy if a busy machine, or files without
///         rounds, leave no case to judge; else Exit::success
/// \throws Error (usage) for a margin out of range; (data) as bench::compare_records() does, or for
/// a missing file
Exit run_bench_compare(const BenchCompareOptions& options) {
  if (!(options.margin >= 0 && options.margin < 1))
    throw Error(Exit::usage, text("--margin must be at least 0 and below 1, but is ",
                                  with_digits(options.margin, 6)));
  const auto comparison = bench::compare_records(bench_compare_records(options.before),
                                                 bench_compare_records(options.after),
                                                 options.before.string(), options.after.string());
  if (options.json) {
    print_json(bench_compare_as_json(comparison, options.margin), 2);
  } else {
    bench_compare_print(comparison, options.margin);
  }
  std::int64_t judged = 0, slower = 0, faster = 0;
  for (const auto& each : comparison.cases) {
    judged += each.is_judged(options.margin) ? 1 : 0;
    slower += each.is_slower(options.margin) ? 1 : 0;
    faster += each.is_faster(options.margin) ? 1 : 0;
  }
  if (judged == 0) {
    print_message(
        "not judged: the machine was busy, or the files have too few rounds or none, or only the "
        "reference changed; time both again on a quiet machine, with more --rounds");
    return Exit::busy;
  }
  const auto rest = static_cast<std::int64_t>(comparison.cases.size()) - judged;
  print_message(text(slower, " slower, ", faster, " faster, of ", judged, " cases",
                     rest > 0 ? text("; ", rest, " not judged") : ""));
  return slower > 0 ? Exit::check_failed : Exit::success;
}

}  // namespace

/// `bench compare` compares two files of --output, for example of two commits on one machine.
Verb add_bench_compare(const Command& bench) {
  const auto options = std::make_shared<BenchCompareOptions>();
  const auto command =
      bench.add_subcommand("compare", "what got slower between two files of --output");
  command.add_option("before", options->before, "a file that `bench ... --output` wrote")
      .type_name("BEFORE.jsonl")
      .required();
  command.add_option("after", options->after, "a later file, of the same machine")
      .type_name("AFTER.jsonl")
      .required();
  command
      .add_option("--margin", options->margin,
                  "smallest change that counts, as a share: 0.02 is 2 %")
      .show_default();
  command.add_flag("--json", options->json, "results as JSON on standard output");
  command.footer(kBenchCompareExamples);
  return {command, [options] { return run_bench_compare(*options); }};
}

}  // namespace evenkeel::cli
