// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/eval_results.h"

#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/cli/eval_tasks.h"

namespace evenkeel::cli {

namespace {

/// Prints "loss         2.3456 nats per token".
void print_eval_line(const char* name, double value, const char* unit) {
  print("%-12s %s%s\n", name, with_decimals(value, 4).c_str(), unit);
}

/// Prints one line per quantity: losses in nats, entropy lower bound and gap in nats per byte.
void eval_print(const evaluate::Evaluation& evaluation) {
  print("tokens       %s scored\n", with_commas(evaluation.tokens).c_str());
  print_eval_line("loss", evaluation.nats_per_token, " nats per token");
  print_eval_line("perplexity", evaluation.perplexity, "");
  if (evaluation.bits_per_byte) print_eval_line("bits per byte", *evaluation.bits_per_byte, "");
  if (evaluation.exact_match)
    print_eval_line("answers", *evaluation.exact_match, " of them right; only these are scored");
  if (!evaluation.floor) return;
  print_eval_line("floor", *evaluation.floor, " nats per byte (the text's own entropy)");
  print_eval_line("gap", *evaluation.gap, " nats per byte");
}

}  // namespace

void print_evaluations(const std::string& scheme, const Evaluations& evaluations) {
  print("scheme       %s, step %lld\n", scheme.c_str(), static_cast<long long>(evaluations.step));
  print("precision    %s\n", evaluations.precision.c_str());
  if (!evaluations.quantize.empty()) print("weights      %s\n", evaluations.quantize.c_str());
  if (evaluations.validation) eval_print(*evaluations.validation);
  for (const auto& [name, evaluation, documents] : evaluations.sources) {
    print("%s: %s nats per token\n", name.c_str(),
          with_decimals(evaluation.nats_per_token, 4).c_str());
  }
  if (evaluations.ood) {
    print("\nout of distribution\n");
    eval_print(*evaluations.ood);
  }
  for (const auto& [name, evaluation, documents] : evaluations.texts) {
    print("\n%s, %s document%s\n", name.c_str(), with_commas(documents).c_str(),
          documents == 1 ? "" : "s");
    eval_print(evaluation);
  }
  if (evaluations.tasks.empty()) return;
  print("%s%s", evaluations.validation ? "\n" : "", task_table(evaluations.tasks).c_str());
}

nlohmann::ordered_json evaluations_as_json(const std::string& scheme,
                                           const Evaluations& evaluations,
                                           const evaluate::TaskSuite& suite) {
  nlohmann::ordered_json out = {
      {"scheme", scheme}, {"step", evaluations.step}, {"precision", evaluations.precision}};
  if (!evaluations.quantize.empty()) out["quantize"] = evaluations.quantize;
  if (const auto& validation = evaluations.validation) {
    out["tokens"] = validation->tokens;
    out["perplexity"] = validation->perplexity;
    out.update(evaluate::record(*validation, "val"));
  }
  for (const auto& source : evaluations.sources) {
    out["val_loss_by_source"][source.name] = source.evaluation.nats_per_token;
  }
  if (evaluations.ood) out.update(evaluate::record(*evaluations.ood, "ood"));
  for (const auto& [name, evaluation, documents] : evaluations.texts) {
    auto& entry = out["texts"][name];
    entry = evaluate::record(evaluation, "text");
    entry.update({{"perplexity", evaluation.perplexity},
                  {"tokens", evaluation.tokens},
                  {"documents", documents}});
  }
  for (const auto& result : evaluations.tasks) {
    for (auto& line : suite.records(result, evaluations.step, "eval")) out["tasks"].push_back(line);
  }
  return out;
}

}  // namespace evenkeel::cli
