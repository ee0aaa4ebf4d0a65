// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/cli/eval_serve.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/data/load_corpora.h"
#include "evenkeel/data/windows.h"
#include "evenkeel/evaluate/evaluation.h"
#include "evenkeel/plan/batch_size.h"
#include "evenkeel/train/load_run.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kEvalExamples = R"(Examples:
  evenkeel eval --run runs/hybrid_norm_star-tiny-1                    all of its validation text
  evenkeel eval --run runs/x-1 --sequences 64                         as many as while it trained
  evenkeel eval --run runs/x-1 --set data.validation=other.txt
  evenkeel eval --run runs/x-1 --set data.ood=other.txt               an out-of-distribution text
  evenkeel eval --run runs/x-1 --set train.precision=float64 --json
  evenkeel eval --run runs/x-1 --serve 8000                           docs/serving.md)";

constexpr int kNoPort = -1;

/// Options of `eval`. `sequences` is a number of windows; 0: the whole text.
struct EvalOptions {
  CommonOptions common;
  std::int64_t sequences = 0;
  int serve = kNoPort;  // --serve
};

/// The results on the validation text and, with data.ood, on that text.
struct Evaluations {
  evaluate::Evaluation validation;  // of a mixture: the mean over sources, weighted by share
  std::vector<std::pair<std::string, evaluate::Evaluation>> sources;  // of a mixture
  std::optional<evaluate::Evaluation> ood;                            // of data.ood
};

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

/// Prints scheme and step, then the results on the validation text and on data.ood.
void eval_print(const train::TrainedModel& loaded, const Evaluations& evaluations) {
  print("scheme       %s, step %lld\n", loaded.config.scheme.name.c_str(),
        static_cast<long long>(loaded.step));
  eval_print(evaluations.validation);
  for (const auto& [name, evaluation] : evaluations.sources) {
    print("%s: %s nats per token\n", name.c_str(),
          with_decimals(evaluation.nats_per_token, 4).c_str());
  }
  if (!evaluations.ood) return;
  print("\nout of distribution\n");
  eval_print(*evaluations.ood);
}

/// The fields of metrics.jsonl ("val_loss", "ood_loss", ...), with scheme, step and perplexity.
nlohmann::ordered_json eval_as_json(const train::TrainedModel& loaded,
                                    const Evaluations& evaluations) {
  nlohmann::ordered_json out = {{"scheme", loaded.config.scheme.name},
                                {"step", loaded.step},
                                {"tokens", evaluations.validation.tokens},
                                {"perplexity", evaluations.validation.perplexity}};
  out.update(evaluate::record(evaluations.validation, "val"));
  for (const auto& [name, evaluation] : evaluations.sources) {
    out["val_loss_by_source"][name] = evaluation.nats_per_token;
  }
  if (evaluations.ood) out.update(evaluate::record(*evaluations.ood, "ood"));
  return out;
}

/// Evaluates the model on one text, whose description it prints.
evaluate::Evaluation evaluation_of(const train::TrainedModel& loaded, const EvalOptions& options,
                                   const char* name, const data::Corpus& text) {
  if (!options.common.quiet) {
    std::string label = name;
    label.resize(7, ' ');
    print_message(label + text.description);
  }
  const data::ValidationWindows windows(text, loaded.config.model.context, options.sequences);
  const auto micro_batch_size = plan::evaluation_batch_size(loaded.config, loaded.shape.vocabulary);
  return evaluate::evaluate(*loaded.model, windows, micro_batch_size);
}

/// Evaluates the model on all texts of its configuration.
Evaluations evaluations_of(const train::TrainedModel& loaded, const EvalOptions& options) {
  const auto corpora = data::load_evaluation_corpora(
      loaded.config.data, loaded.config.model.context, loaded.config.model.vocabulary);
  Evaluations evaluations;
  std::vector<evaluate::Evaluation> parts;
  std::vector<double> shares;
  for (const auto& source : corpora.validation) {
    parts.push_back(evaluation_of(loaded, options, "text", source.corpus));
    shares.push_back(source.share);
    if (corpora.validation.size() > 1) evaluations.sources.emplace_back(source.name, parts.back());
  }
  evaluations.validation = evaluate::weighted_mean(parts, shares);
  if (corpora.ood) evaluations.ood = evaluation_of(loaded, options, "ood", *corpora.ood);
  return evaluations;
}

/// Evaluates the model of --run and prints the results.
/// \throws Error (usage, data, no_checkpoint, differs); (diverged), after printing, if the loss is
///         not finite
Exit run_eval(const EvalOptions& options) {
  const auto& common = options.common;
  check_device(common);
  if (options.sequences < 0) {
    throw Error(Exit::usage,
                text("--sequences must be >= 0 (0: all of the text), but is ", options.sequences));
  }
  const auto loaded = train::load_run(common.run, common.sources());
  for (const auto& line : loaded.skipped) print_message(line);
  if (options.serve != kNoPort) return eval_serve(loaded, common, options.serve);
  const auto evaluations = evaluations_of(loaded, options);
  if (common.json) {
    print_json(eval_as_json(loaded, evaluations));
  } else {
    eval_print(loaded, evaluations);
  }
  if (!std::isfinite(evaluations.validation.nats_per_token)) {
    throw Error(Exit::diverged,
                text(common.run->string(), ": the loss of step ", loaded.step,
                     " is not finite: the weights have diverged; start another run with a lower "
                     "schedule.peak or a longer schedule.warmup"));
  }
  return Exit::success;
}

}  // namespace

/// `eval` computes the loss of the model of --run on its validation text, in nats per token, and on
/// data.ood. Each window of model.context tokens is scored once; --sequences N takes N of them,
/// evenly spaced.
/// Exit codes: 65 a text is missing or too short; 76 the loss is not finite; 77 no valid
/// checkpoint; 78 a setting differs from that of the training.
Verb add_eval(const Command& program) {
  const auto options = std::make_shared<EvalOptions>();
  const auto command = program.add_subcommand("eval", verb_summary("eval"));
  add_file_and_set_options(command, options->common);
  add_run(command, options->common);
  auto sequences = command
                       .add_option("--sequences", options->sequences,
                                   "validation sequences, evenly spaced in the text; 0: all")
                       .show_default();
  auto serve = command
                   .add_option("--serve", options->serve,
                               "answer HTTP requests on 127.0.0.1; 0: a free port")
                   .type_name("PORT")
                   .between(0, 65535);
  add_device(command, options->common);
  add_json(command, options->common);
  serve.excludes(sequences).excludes(command.option("--json"));
  add_quiet(command, options->common);
  command.footer(kEvalExamples);
  return {command, [options] { return run_eval(*options); }, /*computes=*/true};
}

}  // namespace evenkeel::cli
