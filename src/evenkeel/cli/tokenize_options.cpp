// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/tokenize_options.h"

namespace evenkeel::cli {

namespace {

/// The options of reading, encoding and writing.
void add_encoding_options(const Command& command, TokenizeOptions& options) {
  command.add_option("input", options.inputs, "files, folders or patterns of text");
  command.add_option("--tokenizer", options.tokenizer,
                     "tokenizer of the shards: tokenizer.json, .model, .tiktoken, or bytes");
  command
      .add_option("--output", options.output,
                  "folder to write: shards, or tokenizer.json of --train-vocabulary")
      .type_name("FOLDER");
  command.add_option("--format", options.format, "file format of the shards")
      .one_of({"olmo", "llm_c", "megatron", "nanogpt"})
      .show_default();
  command
      .add_option("--shard", options.shard,
                  "most tokens of a shard, as 20000 or 100Mt; a document is not cut")
      .show_default();
  command.add_option("--name", options.name, "first part of the names of shards").show_default();
  command
      .add_option("--data-format", options.data_format,
                  "file format of the inputs; auto: by their endings")
      .one_of({"auto", "text", "jsonl", "json", "parquet"})
      .show_default();
  command.add_option("--text-key", options.text_key, "JSON key or parquet column that has the text")
      .show_default();
  command.add_option("--end-of-text", options.end_of_text, "token or id after each document")
      .show_default();
  command
      .add_option("--special-in-text", options.special_in_text,
                  "special tokens in a text become their ids")
      .one_of({"true", "false"})
      .show_default();
  command.add_flag("--skip-invalid", options.skip_invalid,
                   "leave out invalid JSON lines; manifest.json lists the first 20");
  command
      .add_option("--threads", options.threads,
                  "threads that read, parse and encode; default: 0, one per processor")
      .between(0, 1024);
}

}  // namespace

void add_tokenize_options(const Command& command, TokenizeOptions& options) {
  add_encoding_options(command, options);
  auto train =
      command.add_option("--train-vocabulary", options.vocabulary,
                         "train a byte-level BPE of this many tokens: OUTPUT/tokenizer.json");
  command.add_option("--pattern", options.pattern, "word pattern of a trained vocabulary")
      .one_of({"gpt2", "gpt4"})
      .show_default();
  auto check =
      command.add_option("--check", options.check, "folder of shards to check").type_name("FOLDER");
  auto show =
      command.add_option("--show", options.show, "tokenizer to print").type_name("TOKENIZER");
  // Options without effect are refused.
  for (const auto* const name : {"--format", "--shard", "--name", "--end-of-text",
                                 "--special-in-text", "--skip-invalid", "--threads"}) {
    train.excludes(command.option(name));
    check.excludes(command.option(name));
    show.excludes(command.option(name));
  }
  for (const auto* const name : {"--data-format", "--text-key"}) {
    check.excludes(command.option(name));
    show.excludes(command.option(name));
  }
  train.excludes(command.option("--tokenizer"));
  check.excludes(train).excludes(command.option("input")).excludes(command.option("--output"));
  show.excludes(train).excludes(check).excludes(command.option("--tokenizer"));
  show.excludes(command.option("input")).excludes(command.option("--output"));
}

}  // namespace evenkeel::cli
