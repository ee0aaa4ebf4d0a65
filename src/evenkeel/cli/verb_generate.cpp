// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/base/utf8.h"
#include "evenkeel/cli/checkpoint_step.h"
#include "evenkeel/cli/standard_input.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/data/display_text.h"
#include "evenkeel/data/text_encoding.h"
#include "evenkeel/generate/generate.h"
#include "evenkeel/generate/generated_text.h"
#include "evenkeel/nn/matrix.h"
#include "evenkeel/tokenizer/tokenizer.h"
#include "evenkeel/train/load_run.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kGenerateExamples = R"(Examples:
  evenkeel generate --run runs/hybrid_norm_star-tiny-1
  evenkeel generate --run runs/x-1 --prompt "The old baker" --temperature 0.7 --count 3
  evenkeel generate --run runs/x-1 --checkpoint 200     an earlier step
  echo "To be" | evenkeel generate --run runs/x-1 --tokens 500 --top-k 40 --stop $'\n\n')";

/// Options of `generate`. `tokens` per text, `count` texts; no prompt: standard input.
struct GenerateOptions {
  CommonOptions common;
  std::optional<std::string> prompt, checkpoint;
  std::int64_t tokens = 300, count = 1, seed = 1;
  generate::Sampling sampling{.temperature = 0.8, .top_k = 0, .top_p = 1, .seed = 1};
  std::vector<std::string> stops;  // strings that end a text
  bool no_cache = false, raw = false;
};

/// Checks the ranges of the numeric options.
/// \throws Error (usage) for a value out of its range
void generate_check(const GenerateOptions& options) {
  const auto refuse = [](const char* what, const auto& found) {
    throw Error(Exit::usage, text(what, ", but is ", found));
  };
  const auto& sampling = options.sampling;
  if (!(sampling.temperature >= 0))
    refuse("--temperature must be 0 (the likeliest token) or more", sampling.temperature);
  if (sampling.top_k < 0) refuse("--top-k must be 0 (all tokens) or more", sampling.top_k);
  if (!(sampling.top_p > 0 && sampling.top_p <= 1))
    refuse("--top-p must be above 0 and at most 1", sampling.top_p);
  if (options.tokens < 1) refuse("--tokens must be at least 1", options.tokens);
  if (options.count < 1) refuse("--count must be at least 1", options.count);
  if (options.seed < 0) refuse("--seed must be 0 or more", options.seed);
  for (const auto& stop : options.stops) {
    if (stop.empty()) refuse("--stop must be a text", "empty");
  }
}

/// The model of --checkpoint, or of the newest checkpoint of the run.
/// \throws Error (usage) for a value that names no step
train::TrainedModel generate_model(const GenerateOptions& options) {
  std::optional<std::int64_t> step;
  if (options.checkpoint) {
    step = checkpoint_step(*options.checkpoint);
    if (!step) {
      throw Error(Exit::usage,
                  text("--checkpoint must be a step, as 200 or step-00000200, but is \"",
                       *options.checkpoint, "\""));
    }
  }
  auto loaded = train::load_run(options.common.run, options.common.sources(), step);
  for (const auto& line : loaded.warnings) print_message(line);
  for (const auto& line : loaded.skipped) print_message(line);
  return loaded;
}

/// The text of --prompt, or of standard input, without a byte order mark, if it is no terminal.
/// \throws Error (data) if it is no UTF-8; (io) if standard input cannot be read
std::string prompt_of(const GenerateOptions& options) {
  std::string prompt = options.prompt.value_or("");
  if (!options.prompt && ::isatty(STDIN_FILENO) == 0) {
    prompt = standard_input("a prompt", "shorten it, or set --prompt");
    if (prompt.starts_with(kByteOrderMark)) prompt.erase(0, kByteOrderMark.size());
    while (!prompt.empty() && prompt.back() == '\n') prompt.pop_back();
  }
  if (const auto bad = first_invalid_utf8(prompt)) {
    throw Error(Exit::data, text("--prompt must be UTF-8, but byte ", *bad, " is not; convert it"));
  }
  return prompt;
}

/// The prompt as tokens: at least one. Prints a line if they are more than the model can see.
/// \throws Error (usage) for an empty prompt where data.begin is false
std::vector<std::int64_t> prompt_tokens(const std::string& prompt,
                                        const train::TrainedModel& loaded) {
  const auto& encoding = *loaded.encoding;
  auto tokens = encoding.prompt(prompt);
  if (tokens.empty() && encoding.end_of_text()) tokens.push_back(*encoding.end_of_text());
  if (tokens.empty())
    throw Error(
        Exit::usage,
        "--prompt must have text, but is empty; name a text, or pipe one to standard input");
  const auto context = loaded.model->scheme().shape.context;
  if (static_cast<std::int64_t>(tokens.size()) > context) {
    print_message(text("the prompt has ", with_commas(static_cast<std::int64_t>(tokens.size())),
                       " tokens; the model sees at most the last ", with_commas(context)));
  }
  return tokens;
}

/// Refuses to decode the tokens of a model without a tokenizer.
void check_has_text(const train::TrainedModel& loaded) {
  if (train::has_tokenizer(loaded)) return;
  throw Error(Exit::usage,
              "the model was trained on token files, and its tokenizer is unknown; name it with "
              "--set data.tokenizer=tokenizer.json");
}

/// The texts of one batch, written one after the other. The first text that has not ended is
/// written while it grows; the pieces of those after it wait.
class GeneratedBatch {
 public:
  using Write = std::function<void(std::int64_t, std::string_view)>;

  /// \param write  receives the pieces of text after text, and the number of the text in the batch
  GeneratedBatch(const train::TrainedModel& loaded, const GenerateOptions& options,
                 const std::string& prompt, std::int64_t count, const Write& write)
      : loaded_(loaded), write_(write), waiting_(static_cast<std::size_t>(count)) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto give = [this, i](std::string_view piece) {
        if (i == growing_) {
          write_(i, piece);
        } else {
          waiting_[static_cast<std::size_t>(i)] += piece;
        }
      };
      give(options.raw ? prompt : data::display_text(prompt));
      texts_.emplace_back(options.stops, options.raw, give);
    }
    has_ended_.resize(texts_.size());
  }

  /// Adds a token. \return false: a stop string ends the text
  bool add(std::int64_t number, std::int64_t token) {
    // decode() of one token would strip the space of a SentencePiece token.
    const auto id = static_cast<tokenizer::Id>(token);
    return texts_[static_cast<std::size_t>(number)].add(
        loaded_.encoding->tokenizer().token_bytes(id));
  }

  /// Ends a text, and writes it if all before it have ended.
  void end(std::int64_t number) {
    texts_[static_cast<std::size_t>(number)].finish();
    has_ended_[static_cast<std::size_t>(number)] = true;
    while (growing_ < size() && has_ended_[static_cast<std::size_t>(growing_)]) write_next();
  }

  /// Writes the remaining pieces of all texts; a text may be incomplete.
  void write_rest() {
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      if (!has_ended_[i]) texts_[i].finish();
    }
    while (growing_ < size()) write_next();
  }

 private:
  std::int64_t size() const { return static_cast<std::int64_t>(texts_.size()); }

  /// Goes on to the next text, and writes what it has.
  void write_next() {
    if (++growing_ < size()) write_(growing_, waiting_[static_cast<std::size_t>(growing_)]);
  }

  const train::TrainedModel& loaded_;
  const Write& write_;
  std::int64_t growing_ = 0;          // the first text that has not ended
  std::vector<std::string> waiting_;  // of the texts after it
  std::vector<bool> has_ended_;
  std::vector<generate::GeneratedText> texts_;
};

/// Generates --count texts, prompt included, in batches.
/// \param write  receives the number of a text, from 0, and its pieces; text after text
void generate_texts(const train::TrainedModel& loaded, const GenerateOptions& options,
                    const std::string& prompt, generate::GenerationOptions request,
                    const std::function<void(std::int64_t, std::string_view)>& write) {
  constexpr std::int64_t kTexts = 32;
  constexpr double kCacheBytes = 1 << 30;
  const auto batch = std::min(kTexts, generate::largest_batch(*loaded.model, request, kCacheBytes));
  for (std::int64_t first = 0; first < options.count; first += batch) {
    const auto count = std::min(batch, options.count - first);
    request.sequence = static_cast<std::uint64_t>(first);
    const GeneratedBatch::Write numbered = [&](std::int64_t number, std::string_view piece) {
      write(first + number, piece);
    };
    GeneratedBatch texts(loaded, options, prompt, count, numbered);
    try {
      generate::generate_batch(
          *loaded.model, request, count,
          [&](std::int64_t number, std::int64_t token) { return texts.add(number, token); },
          [&](std::int64_t number) { texts.end(number); });
    } catch (const Error& error) {
      if (error.exit() == Exit::diverged) texts.write_rest();  // not if writing is what failed
      throw;
    }
  }
}

/// Writes --count texts, prompt included, to standard output.
/// \throws Error (usage, data, no_checkpoint, differs)
Exit run_generate(const GenerateOptions& options) {
  use_device(options.common);
  generate_check(options);
  const auto loaded = generate_model(options);
  check_has_text(loaded);
  const auto prompt = prompt_of(options);
  generate::GenerationOptions request;
  request.prompt = prompt_tokens(prompt, loaded);
  request.max_new_tokens = options.tokens;
  request.stop_token = loaded.encoding->end_of_text();
  request.sampling = options.sampling;
  request.sampling.seed = static_cast<std::uint64_t>(options.seed);
  request.use_cache = !options.no_cache;
  if (!options.common.quantize.empty()) train::quantize(loaded, nn::Int8Use::decoding);
  if (options.common.json) {
    auto texts = nlohmann::ordered_json::array();
    generate_texts(loaded, options, prompt, request,
                   [&](std::int64_t number, std::string_view piece) {
                     if (number >= static_cast<std::int64_t>(texts.size())) texts.push_back("");
                     texts.back().get_ref<std::string&>() += piece;
                   });
    print_json(texts);
    return Exit::success;
  }
  std::int64_t last = 0;
  generate_texts(loaded, options, prompt, request,
                 [&](std::int64_t number, std::string_view piece) {
                   if (number != last) print_bytes("\n\n");
                   last = number;
                   print_bytes(piece);
                 });
  print_bytes("\n");
  return Exit::success;
}

}  // namespace

/// `generate` continues a prompt with the model of --run, and writes the texts to standard
/// output, in order: the first that has not ended while it grows. Bytes that are
/// no UTF-8 and control characters are U+FFFD, unless --raw. Sequence i of --count draws from the
/// random stream (--seed, i), so that a larger --count repeats the first texts, up to rounding: the
/// texts are one batch. Exit codes: 64 an option is out of its range; 76 logits are not finite; 77
/// no valid checkpoint; 78 a setting differs from that of the run, or its tokenizer has changed.
Verb add_generate(const Command& program) {
  const auto options = std::make_shared<GenerateOptions>();
  const auto command = program.add_subcommand("generate", verb_summary("generate"));
  add_file_and_set_options(command, options->common);
  add_run(command, options->common, "run folder of the trained model");
  add_device(command, options->common);
  add_quantize(command, options->common);
  add_json(command, options->common);
  command
      .add_option("--checkpoint", options->checkpoint,
                  "a step, as 200; default: the newest checkpoint")
      .type_name("STEP");
  command.add_option("--prompt", options->prompt, "text to continue; default: standard input");
  command.add_option("--tokens", options->tokens, "most tokens to add").show_default();
  command.add_option("--count", options->count, "number of texts to write").show_default();
  command
      .add_option("--temperature", options->sampling.temperature,
                  "divides the logits; 0: greedy decoding")
      .show_default();
  command
      .add_option("--top-k", options->sampling.top_k,
                  "sample from the k most probable tokens; 0: all")
      .show_default();
  command
      .add_option("--top-p", options->sampling.top_p,
                  "nucleus sampling: total probability of the tokens; 1: all")
      .show_default();
  command.add_option("--seed", options->seed, "random seed of the sampling").show_default();
  command.add_option("--stop", options->stops, "text that ends the output; may be repeated")
      .type_name("TEXT")
      .repeated();
  command
      .add_flag("--raw", options->raw, "write the bytes of the tokens, also if they are no UTF-8")
      .excludes(command.option("--json"));
  command.add_flag("--no-cache", options->no_cache,
                   "compute the whole text for every token, without a cache");
  command.footer(kGenerateExamples);
  return {command, [options] { return run_generate(*options); }, /*computes=*/true};
}

}  // namespace evenkeel::cli
