// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <iostream>
#include <memory>
#include <system_error>

#include "evenkeel/base/print.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/data/corpus.h"
#include "evenkeel/data/detokenize.h"
#include "evenkeel/generate/generate.h"
#include "evenkeel/train/load_run.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kGenerateExamples = R"(Examples:
  evenkeel generate --run runs/hybrid_norm_star-tiny-1
  evenkeel generate --run runs/x-1 --prompt "The old baker" --temperature 0.7 --count 3
  echo "To be" | evenkeel generate --run runs/x-1 --tokens 500 --top-k 40)";

/// Options of `generate`. `tokens` per text, `count` texts; no prompt: standard input.
struct GenerateOptions {
  CommonOptions common;
  std::optional<std::string> prompt;
  std::int64_t tokens = 300, count = 1, seed = 1;
  generate::Sampling sampling{.temperature = 0.8, .top_k = 0, .top_p = 1, .seed = 1};
  bool no_cache = false;
};

/// Checks the ranges of the numeric options.
/// \throws Error (usage) for a value out of its range
void generate_check(const GenerateOptions& options) {
  const auto refuse = [](const char* what) { throw Error(Exit::usage, what); };
  const auto& sampling = options.sampling;
  if (!(sampling.temperature >= 0)) refuse("--temperature must be 0 (the likeliest token) or more");
  if (sampling.top_k < 0) refuse("--top-k must be 0 (all tokens) or more");
  if (!(sampling.top_p > 0 && sampling.top_p <= 1)) refuse("--top-p must be above 0 and at most 1");
  if (options.tokens < 1) refuse("--tokens must be at least 1");
  if (options.count < 1) refuse("--count must be at least 1");
  if (options.seed < 0) refuse("--seed must be 0 or more");
}

/// All of standard input.
/// \throws Error (data) for more than 16 MiB
std::string standard_input() {
  constexpr std::size_t kMaxBytes = std::size_t{16} << 20;
  std::string content;
  std::array<char, 1 << 16> buffer{};
  while (std::cin.read(buffer.data(), buffer.size()) || std::cin.gcount() > 0) {
    content.append(buffer.data(), static_cast<std::size_t>(std::cin.gcount()));
    if (content.size() <= kMaxBytes) continue;
    throw Error(Exit::data, text("standard input: a prompt must have at most ", kMaxBytes,
                                 " bytes, but has more; shorten it, or set --prompt"));
  }
  return content;
}

/// An end-of-text token, as at the start of each training document, and the tokens of --prompt, or
/// of standard input if it is no terminal.
std::vector<std::int64_t> prompt_of(const GenerateOptions& options) {
  std::string prompt = options.prompt.value_or("");
  if (!options.prompt && ::isatty(STDIN_FILENO) == 0) {
    errno = 0;
    prompt = standard_input();
    if (errno != 0) {
      throw Error(Exit::io, text("standard input: cannot be read as a prompt: ",
                                 std::generic_category().message(errno)));
    }
    while (!prompt.empty() && prompt.back() == '\n') prompt.pop_back();
  }
  std::vector<std::int64_t> tokens = {data::kEndOfText};
  for (const char each : prompt) tokens.push_back(static_cast<unsigned char>(each));
  return tokens;
}

/// Writes --count texts, prompt included, to standard output.
/// \throws Error (usage, no_checkpoint, differs)
Exit run_generate(const GenerateOptions& options) {
  check_device(options.common);
  generate_check(options);
  const auto loaded = train::load_run(options.common.run, options.common.sources());
  for (const auto& line : loaded.skipped) print_message(line);
  generate::GenerationOptions request;
  request.prompt = prompt_of(options);
  request.max_new_tokens = options.tokens;
  request.stop_token = data::kEndOfText;
  request.sampling = options.sampling;
  request.sampling.seed = static_cast<std::uint64_t>(options.seed);
  request.use_cache = !options.no_cache;
  nlohmann::ordered_json texts = nlohmann::ordered_json::array();
  for (std::int64_t i = 0; i < options.count; ++i) {
    request.sequence = static_cast<std::uint64_t>(i);
    auto tokens = request.prompt;
    const auto added = generate::generate(*loaded.model, request);
    tokens.insert(tokens.end(), added.begin(), added.end());
    const auto whole = data::detokenize(tokens);
    if (options.common.json) {
      texts.push_back(whole);
    } else {
      print_bytes(text(i > 0 ? "\n" : "", terminal_safe(whole), "\n"));
    }
  }
  if (options.common.json) print_json(texts);
  return Exit::success;
}

}  // namespace

/// `generate` continues a prompt with the model of --run. It writes the bytes of the texts to
/// standard output; on a terminal control characters are escaped. Sequence i of --count draws
/// from the random stream (--seed, i), so that a larger --count repeats the first texts. Exit
/// codes: 64 an option is out of its range; 76 logits are not finite; 77 no valid checkpoint; 78 a
/// setting differs from that of the training.
Verb add_generate(const Command& program) {
  const auto options = std::make_shared<GenerateOptions>();
  const auto command = program.add_subcommand("generate", verb_summary("generate"));
  add_file_and_set_options(command, options->common);
  add_run(command, options->common);
  add_device(command, options->common);
  add_json(command, options->common);
  command.add_option("--prompt", options->prompt, "text to continue; default: standard input");
  command.add_option("--tokens", options->tokens, "tokens to add at most").show_default();
  command.add_option("--count", options->count, "texts to write").show_default();
  command.add_option("--temperature", options->sampling.temperature, "0: always the likeliest")
      .show_default();
  command.add_option("--top-k", options->sampling.top_k,
                     "sample from the k likeliest tokens; 0: all");
  command.add_option("--top-p", options->sampling.top_p,
                     "sample from the likeliest tokens with this total probability");
  command.add_option("--seed", options->seed, "random seed of the sampling").show_default();
  command.add_flag("--no-cache", options->no_cache,
                   "compute the whole text for every token, without a cache");
  command.footer(kGenerateExamples);
  return {command, [options] { return run_generate(*options); }, /*computes=*/true};
}

}  // namespace evenkeel::cli
