// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/cli/checkpoint_step.h"
#include "evenkeel/cli/eval_results.h"
#include "evenkeel/cli/eval_serve.h"
#include "evenkeel/cli/eval_tasks.h"
#include "evenkeel/cli/trained_texts.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/data/load_corpora.h"
#include "evenkeel/data/tokenizer_record.h"
#include "evenkeel/data/windows.h"
#include "evenkeel/evaluate/evaluation.h"
#include "evenkeel/evaluate/task_suite.h"
#include "evenkeel/nn/matrix.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/plan/batch_size.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/train/load_run.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kEvalExamples = R"(Examples:
  evenkeel eval --run runs/hybrid_norm_star-tiny-1                    all of its validation text
  evenkeel eval --run runs/x-1 --sequences 64                         as many as while it trained
  evenkeel eval --run runs/x-1 --set data.validation=other.txt
  evenkeel eval --run runs/x-1 --set data.ood=other.txt               an out-of-distribution text
  evenkeel eval --run runs/x-1 --set train.precision=float64 --json
  evenkeel eval --run runs/x-1 --set 'evaluate.texts={ wiki = "wiki.txt" }'
  evenkeel eval --run runs/x-1 --task piqa_rc_0shot --task core     tasks instead of texts
  evenkeel eval --run runs/x-1 --task copa --checkpoint all --rows rows.jsonl
  evenkeel eval --list-tasks                                        the labels of --task
  ./ek eval --fetch-tasks                           the files of OLMo's tasks, once
  evenkeel eval --run runs/x-1 --serve 8000                           docs/serving.md)";

constexpr int kNoPort = -1;

/// Options of `eval`. `sequences` is a number of windows; 0: the whole text.
struct EvalOptions {
  CommonOptions common;
  std::int64_t sequences = 0;
  std::vector<std::string> tasks;             // --task
  std::string checkpoint;                     // --checkpoint: "all", a step, or "" for the newest
  std::optional<std::filesystem::path> rows;  // --rows
  bool list_tasks = false;                    // --list-tasks
  int serve = kNoPort;                        // --serve
};

/// The texts and tasks of a command, read once for all checkpoints of one tokenizer.
struct EvaluationInputs {
  std::optional<data::Corpora> corpora;  // nullopt: tasks only
  std::vector<data::Source> texts;
  evaluate::TaskSuite suite;
  config::Data data = {};  // of the checkpoint that they were read for
};

/// True if the tokens of the inputs are those of this checkpoint, too.
bool are_tokens_of(const EvaluationInputs& inputs, const train::TrainedModel& loaded) {
  const auto& before = inputs.data;
  const auto& now = loaded.config.data;
  return before.tokenizer == now.tokenizer && before.end_of_text == now.end_of_text &&
         before.begin == now.begin && before.special_in_text == now.special_in_text;
}

/// Evaluates the model on one text, whose description it prints.
evaluate::Evaluation evaluation_of(const train::TrainedModel& loaded, const EvalOptions& options,
                                   std::string label, const data::Corpus& text) {
  if (!options.common.quiet) {
    constexpr std::size_t kLabel = 7;
    label.resize(std::max(kLabel, label.size() + 1), ' ');
    print_message(label + text.description);
  }
  const data::ValidationWindows windows(text, loaded.config.model.context, options.sequences);
  const auto micro_batch_size = plan::evaluation_batch_size(loaded.config, loaded.shape.vocabulary);
  RowProgress progress(windows.count(), "windows", !options.common.quiet);
  const auto result = evaluate::evaluate(*loaded.model, windows, micro_batch_size,
                                         [&progress](std::int64_t done) { progress.show(done); });
  progress.finish();
  return result;
}

/// Adds the results on the validation texts.
void evaluate_corpora(const train::TrainedModel& loaded, const EvalOptions& options,
                      const data::Corpora& corpora, Evaluations& evaluations) {
  std::vector<evaluate::Evaluation> parts;
  std::vector<double> shares;
  for (const auto& source : corpora.validation) {
    parts.push_back(evaluation_of(loaded, options, "text", source.corpus));
    shares.push_back(source.share);
    if (corpora.validation.size() > 1) evaluations.sources.push_back({source.name, parts.back()});
  }
  evaluations.validation = evaluate::weighted_mean(parts, shares);
  if (corpora.ood) evaluations.ood = evaluation_of(loaded, options, "ood", *corpora.ood);
}

/// Evaluates the model on all inputs.
Evaluations evaluations_of(const train::TrainedModel& loaded, const EvalOptions& options,
                           const EvaluationInputs& inputs) {
  const auto dtype = nn::compute_dtype(loaded.machine.precision);
  Evaluations evaluations{.step = loaded.step,
                          .precision = ops::dtype_name(dtype),
                          .quantize = options.common.quantize};
  if (inputs.corpora) evaluate_corpora(loaded, options, *inputs.corpora, evaluations);
  for (const auto& source : inputs.texts) {
    evaluations.texts.push_back({source.name,
                                 evaluation_of(loaded, options, source.name, source.corpus),
                                 source.corpus.document_count});
  }
  if (inputs.suite.tasks().empty()) return evaluations;
  RowProgress progress(inputs.suite.row_count(), "rows", !options.common.quiet);
  evaluations.tasks = inputs.suite.evaluate(*loaded.model, [&progress](std::int64_t done) {
    progress.show(done);
    return true;
  });
  progress.finish();
  return evaluations;
}

/// Reads the texts and tasks of the command.
EvaluationInputs inputs_of(const train::TrainedModel& loaded, const EvalOptions& options) {
  auto config = loaded.config;
  if (!options.tasks.empty()) config.evaluate.tasks = options.tasks;
  if (const auto most = evaluate::max_context_of(config); most > config.model.context) {
    print_message(text("evaluate.max_context = ", most, " is longer than model.context = ",
                       config.model.context, ", which the model was trained with"));
  }
  EvaluationInputs inputs{{}, {}, {config, *loaded.encoding, loaded.shape.vocabulary}, config.data};
  if (options.tasks.empty()) {
    inputs.corpora = corpora_of_run(loaded);
    check_trained_texts(options.common, loaded, *inputs.corpora);
    inputs.texts = data::load_named_texts(config.evaluate.texts, config.data, loaded.encoding,
                                          config.model.context, loaded.shape.vocabulary);
  }
  warn_of_changed_evaluation(options.common, inputs.suite, config.evaluate.texts, inputs.texts);
  if (options.rows) check_rows_file(*options.rows, inputs.suite);
  return inputs;
}

/// \throws Error (diverged) if the loss on the validation text is not finite
void check_finite(const EvalOptions& options, const Evaluations& evaluations) {
  if (!evaluations.validation || std::isfinite(evaluations.validation->nats_per_token)) return;
  throw Error(Exit::diverged,
              text(options.common.run->string(), ": the loss of step ", evaluations.step,
                   " is not finite: the weights have diverged; start another run with a lower "
                   "schedule.peak or a longer schedule.warmup"));
}

/// Appends the scores of tasks to evaluations.jsonl of the run, except those of quantized weights.
void record_tasks(const EvalOptions& options, const evaluate::TaskSuite& suite,
                  const Evaluations& evaluations) {
  if (!options.common.quantize.empty()) {
    if (!evaluations.tasks.empty()) {
      print_message(text(options.common.run->string(),
                         ": scores of quantized weights are not recorded in the run"));
    }
    return;
  }
  std::vector<nlohmann::ordered_json> lines;
  for (const auto& result : evaluations.tasks) {
    for (auto& line : suite.records(result, evaluations.step, "eval")) {
      lines.push_back(std::move(line));
    }
  }
  if (lines.empty()) return;
  const auto problem = record_in_run(*options.common.run, lines);
  if (!problem.empty()) print_message(problem);
}

/// Writes the rows of all results to a file.
void append_rows(LinesFile& file, const evaluate::TaskSuite& suite,
                 const Evaluations& evaluations) {
  for (const auto& result : evaluations.tasks) {
    file.append(suite.row_records(result, evaluations.step));
  }
}

/// Checks combinations of options.
/// \throws Error (usage)
void check_options(const EvalOptions& options) {
  if (options.sequences < 0) {
    throw Error(Exit::usage,
                text("--sequences must be >= 0 (0: all of the text), but is ", options.sequences));
  }
  if (options.serve != kNoPort && options.checkpoint == "all") {
    throw Error(Exit::usage, "--serve needs one checkpoint, but --checkpoint is all; name a step");
  }
  for (const auto* const key :
       {"evaluate.texts", "evaluate.tasks", "data.validation", "data.ood"}) {
    if (options.tasks.empty() || !is_set(options.common, key)) continue;
    throw Error(Exit::usage, text("--set ", key,
                                  " has no effect with --task, which scores its "
                                  "tasks only; leave one of them out"));
  }
}

/// Loads the checkpoint of a step. With --checkpoint all, one that cannot be read is named and left
/// out, and so is one of another tokenizer than the copy in the run folder.
/// \return nullopt if it is left out
std::optional<train::TrainedModel> load_checkpoint(const EvalOptions& options,
                                                   std::optional<std::int64_t> step) {
  const bool can_go_on = options.checkpoint == "all" && step;
  try {
    auto loaded = train::load_run(options.common.run, options.common.sources(), step);
    if (!options.common.quantize.empty()) {
      train::quantize(loaded,
                      options.serve == kNoPort ? nn::Int8Use::evaluation : nn::Int8Use::decoding);
    }
    return loaded;
  } catch (const data::OtherTokenizer& error) {
    if (!can_go_on) throw;
    print_message(text(store::step_name(*step), ": ", error.what(), "; left out"));
    return std::nullopt;
  } catch (const Error& error) {
    if (!can_go_on || error.exit() != Exit::no_checkpoint) throw;
    print_message(text(error.what(), "; left out"));
    return std::nullopt;
  }
}

/// Prints what is wrong with a checkpoint. \param warned  the warnings so far, printed once
void print_load_messages(const train::TrainedModel& loaded, std::set<std::string>& warned) {
  for (const auto& line : loaded.warnings) {
    if (warned.insert(line).second) print_message(line);
  }
  for (const auto& line : loaded.skipped) print_message(line);
}

/// Evaluates the model of --run and prints the results.
/// \return no_checkpoint if --checkpoint all left one out
/// \throws Error (usage, data, no_checkpoint, differs); (diverged), after printing, if the loss is
///         not finite
Exit run_eval(const EvalOptions& options) {
  const auto& common = options.common;
  if (options.list_tasks) {
    list_tasks(common.json);
    return Exit::success;
  }
  use_device(common);
  check_options(options);
  std::optional<LinesFile> rows;
  if (options.rows) rows.emplace(*options.rows);
  std::vector<Evaluations> all;
  std::optional<EvaluationInputs> inputs;
  auto json = nlohmann::ordered_json::array();
  auto exit = Exit::success;
  std::set<std::string> warned;
  for (const auto& step : checkpoint_steps(options.checkpoint, common.run.value_or(""))) {
    const auto loaded = load_checkpoint(options, step);
    if (!loaded) {
      exit = Exit::no_checkpoint;
      continue;
    }
    print_load_messages(*loaded, warned);
    if (options.serve != kNoPort) return eval_serve(*loaded, common, options.serve);
    if (!inputs || !are_tokens_of(*inputs, *loaded)) inputs = inputs_of(*loaded, options);
    all.push_back(evaluations_of(*loaded, options, *inputs));
    if (common.json) {
      json.push_back(evaluations_as_json(loaded->config.scheme.name, all.back(), inputs->suite));
    } else {
      if (all.size() > 1) print("\n");
      print_evaluations(loaded->config.scheme.name, all.back());
    }
    record_tasks(options, inputs->suite, all.back());
    if (rows) append_rows(*rows, inputs->suite, all.back());
  }
  if (common.json) print_json(options.checkpoint == "all" ? json : json.front());
  if (rows) rows->finish();
  for (const auto& each : all) check_finite(options, each);
  return exit;
}

}  // namespace

/// `eval` computes the loss of the model of --run on its validation text, in nats per token, on
/// data.ood and on evaluate.texts, and scores the tasks of evaluate.tasks. Each window of
/// model.context tokens is scored once; --sequences N takes N of them, evenly spaced. With --task
/// it scores these tasks only. Scores of tasks are also appended to evaluations.jsonl of the run,
/// unless --quantize changes the weights.
/// Exit codes: 65 a text or task is missing, too short or damaged; 76 the loss or a score is not
/// finite; 77 no valid checkpoint, or --checkpoint all left one out; 78 a setting, a text or the
/// tokenizer differs from that of the training.
Verb add_eval(const Command& program) {
  const auto options = std::make_shared<EvalOptions>();
  const auto command = program.add_subcommand("eval", verb_summary("eval"));
  add_file_and_set_options(command, options->common);
  add_run(command, options->common, "run folder of the trained model");
  auto sequences = command
                       .add_option("--sequences", options->sequences,
                                   "validation sequences, evenly spaced in the text; 0: all")
                       .show_default();
  auto tasks = command
                   .add_option("--task", options->tasks,
                               "label, group or request file; only tasks are scored")
                   .type_name("TASK")
                   .repeated();
  command.add_flag("--list-tasks", options->list_tasks, "print the labels and groups of --task");
  command
      .add_option("--checkpoint", options->checkpoint,
                  "a step, or \"all\" checkpoints; default: the newest")
      .type_name("STEP");
  auto rows =
      command.add_option("--rows", options->rows, "file for the log-probability of each row")
          .type_name("FILE.jsonl");
  auto serve = command
                   .add_option("--serve", options->serve,
                               "port of 127.0.0.1 that answers HTTP requests; 0: a free one")
                   .type_name("PORT")
                   .between(0, 65535);
  add_device(command, options->common);
  add_quantize(command, options->common);
  add_json(command, options->common);
  tasks.excludes(sequences);
  serve.excludes(sequences).excludes(tasks).excludes(rows).excludes(command.option("--json"));
  add_quiet(command, options->common);
  command.footer(kEvalExamples);
  return {command,
          [options] {
            if (options->common.quiet) silence_notes();
            return run_eval(*options);
          },
          /*computes=*/true};
}

}  // namespace evenkeel::cli
