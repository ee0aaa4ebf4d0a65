// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/base/utf8.h"
#include "evenkeel/cli/encode_shards.h"
#include "evenkeel/cli/standard_input.h"
#include "evenkeel/cli/tokenize_options.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/config/length.h"
#include "evenkeel/data/new_file.h"
#include "evenkeel/data/round_trip.h"
#include "evenkeel/data/shard_check.h"
#include "evenkeel/data/text_reader.h"
#include "evenkeel/data/token_writer.h"
#include "evenkeel/tokenizer/train_vocabulary.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kTokenizeExamples = R"(Examples:
  evenkeel tokenize wiki/*.jsonl.zst --tokenizer tokenizer.json --output tokens
  evenkeel tokenize code --tokenizer tokenizer.json --output tokens --format megatron
  evenkeel tokenize --check tokens --tokenizer tokenizer.json         digests, ids, round trip
  evenkeel tokenize notes --train-vocabulary 4096 --output notes-4096
  echo "It's a test" | evenkeel tokenize --show tokenizer.json         kind, special tokens, ids
The tokens train with: evenkeel train --set data.train=tokens --set data.tokenizer=tokenizer.json)";

/// The keys of [data] that change how texts are read and encoded.
config::Data data_of(const TokenizeOptions& options) {
  config::Data data;
  data.tokenizer = options.tokenizer;
  data.format = options.data_format;
  data.text_key = options.text_key;
  data.end_of_text = options.end_of_text;
  data.special_in_text = options.special_in_text == "true";
  return data;
}

void require(bool holds, const std::string& message) {
  if (!holds) throw Error(Exit::usage, message);
}

std::int64_t shard_tokens(const std::string& word) {
  std::int64_t plain = 0;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), plain);
  if (read.ec == std::errc() && read.ptr == word.data() + word.size() && plain >= 1) return plain;
  const auto length = config::parse_length(word);
  if (length && length->unit == config::Length::Unit::tokens && length->amount >= 1) {
    return static_cast<std::int64_t>(length->amount);
  }
  throw Error(Exit::usage,
              text("--shard must be a number of tokens, as 20000 or 100Mt, but is \"", word, "\""));
}

nlohmann::ordered_json manifest_as_json(const data::ShardManifest& manifest) {
  nlohmann::ordered_json out = {
      {"documents", manifest.documents()}, {"tokens", manifest.tokens()},
      {"bytes", manifest.bytes()},         {"shards", manifest.shards.size()},
      {"vocabulary", manifest.vocabulary}, {"end_of_text", manifest.end_of_text}};
  for (const auto& [name, count] : data::left_out_counts(manifest)) out[name] = count;
  if (manifest.invalid_lines) out["invalid_lines"] = *manifest.invalid_lines;
  return out;
}

void print_manifest(const data::ShardManifest& manifest, const std::string& folder) {
  const auto documents = manifest.documents();
  const auto shards = manifest.shards.size();
  print("%s: %s document%s, %s tokens, %s in %zu shard%s (%s)\n", folder.c_str(),
        with_commas(documents).c_str(), documents == 1 ? "" : "s",
        with_commas(manifest.tokens()).c_str(),
        bytes_text(static_cast<double>(manifest.bytes())).c_str(), shards, shards == 1 ? "" : "s",
        data::name_of(manifest.format));
}

/// A message about keys of [data] with the options that set them here.
std::string with_options(std::string message) {
  constexpr std::array<std::array<std::string_view, 2>, 5> kOptions = {
      {{"data.text_key", "--text-key"},
       {"data.format", "--data-format"},
       {"data.tokenizer", "--tokenizer"},
       {"data.special_in_text", "--special-in-text"},
       {"data.end_of_text", "--end-of-text"}}};
  for (const auto& [key, option] : kOptions) {
    for (std::size_t at = 0; (at = message.find(key, at)) != std::string::npos;) {
      message.replace(at, key.size(), option);
    }
  }
  return message;
}

/// Finds the inputs, and prints what they are.
/// \throws Error (usage) for a key or column that no input has, and for --skip-invalid without
/// lines of JSON
data::TextFiles tokenize_inputs(const TokenizeOptions& options, const config::Data& data) {
  auto inputs = data::find_text_files(options.inputs, data);
  const bool is_default = options.text_key == TokenizeOptions().text_key;
  require(is_default || data::has_fields(inputs.files),
          "--text-key has no effect without files of JSON or parquet; leave it out");
  require(!options.skip_invalid || std::ranges::any_of(inputs.files, data::has_json_lines),
          "--skip-invalid has no effect without JSON lines (.jsonl, or .json that begins with {); "
          "leave it out");
  for (auto& file : inputs.files) file.skips_invalid_lines = options.skip_invalid;
  if (!options.common.quiet) print_message(inputs.description);
  return inputs;
}

/// A reason without its last clause if that says how to mend a line, which a line that is left out
/// on request does not need.
std::string without_advice(const std::string& reason) {
  const auto at = reason.rfind("; ");
  if (at == std::string::npos) return reason;
  const auto clause = std::string_view(reason).substr(at);
  const bool is_advice = clause.starts_with("; mend ") || clause.starts_with("; convert ");
  return is_advice ? reason.substr(0, at) : reason;
}

/// Prints what was written, and what was left out.
void print_written(const TokenizeOptions& options, const data::ShardManifest& manifest,
                   data::JsonCounts counts) {
  counts.first_invalid = without_advice(counts.first_invalid);
  const auto met = data::left_out_description(counts, manifest.documents_without_tokens);
  if (!met.empty()) print_message(with_options("note: " + met));
  if (!options.common.json) return print_manifest(manifest, options.output);
  print_json(manifest_as_json(manifest));
}

/// Says what the tokenizer does to every text: the ids decode to the changed text.
void print_text_changes(const tokenizer::Tokenizer& tokenizer) {
  if (tokenizer.text_changes().empty()) return;
  print_message(text("note: ", tokenizer.path(), " ", tokenizer.text_changes(),
                     ", as the package sentencepiece does: the shards have the changed text"));
}

/// Encodes the inputs and writes them as shards.
Exit write_shards(const TokenizeOptions& options) {
  require(!options.tokenizer.empty(),
          "--tokenizer is wanted: a tokenizer.json, .model or .tiktoken file, or bytes");
  require(!options.output.empty(), "--output is wanted: the folder of the shards");
  const auto data = data_of(options);
  require(data.special_in_text || data.tokenizer != "bytes",
          "--special-in-text has no effect with --tokenizer bytes, which has no special token in a "
          "text; leave it out");
  const data::TextEncoding encoding(data);
  encoding.check_end_of_text(encoding.vocabulary());
  require(!options.name.empty() && options.name.find('/') == std::string::npos,
          text("--name must be the first part of file names, without \"/\", but is \"",
               options.name, "\""));
  const auto files = tokenize_inputs(options, data);
  print_text_changes(encoding.tokenizer());
  data::TokenWriter writer({.folder = options.output,
                            .name = options.name,
                            .format = data::shard_format(options.format),
                            .shard_tokens = shard_tokens(options.shard),
                            .vocabulary = encoding.vocabulary(),
                            .end_of_text = encoding.required_end_of_text(),
                            .tokenizer = encoding.tokenizer().digest(),
                            .tokenizer_encoding = encoding.tokenizer().encoding_digest(),
                            .special_in_text = data.special_in_text,
                            .skips_invalid = options.skip_invalid});
  const auto written = encode_shards(writer, options, files.files, data, encoding);
  print_written(options, written.manifest, written.counts);
  return Exit::success;
}

/// Checks a folder of shards; with --tokenizer also the round trip of 1,000 documents.
Exit check_folder(const TokenizeOptions& options) {
  constexpr std::int64_t kDocuments = 1000;
  const auto manifest = data::check_shards(*options.check);
  std::int64_t documents = 0;
  if (!options.tokenizer.empty()) {
    auto data = data_of(options);
    data.special_in_text = manifest.special_in_text.value_or(true);
    documents = data::check_round_trip(*options.check, data::TextEncoding(data), kDocuments);
  }
  if (options.common.json) {
    auto out = manifest_as_json(manifest);
    out["round_trips"] = documents;
    print_json(out);
    return Exit::success;
  }
  print_manifest(manifest, *options.check);
  if (documents > 0) {
    print("%s documents decoded and encoded again: equal ids\n", with_commas(documents).c_str());
  }
  return Exit::success;
}

/// Prints what a tokenizer is, and the ids of standard input if that is no terminal.
Exit show_tokenizer(const TokenizeOptions& options) {
  config::Data data;
  data.tokenizer = *options.show;
  const data::TextEncoding encoding(data);
  const auto& tokenizer = encoding.tokenizer();
  nlohmann::ordered_json out = {{"kind", tokenizer.kind()},
                                {"vocabulary", tokenizer.vocabulary()},
                                {"digest", tokenizer.digest()}};
  if (!tokenizer.text_changes().empty()) out["normalizer"] = tokenizer.text_changes();
  if (const auto end = encoding.end_of_text()) out["end_of_text"] = *end;
  for (const auto& [special, id] : tokenizer.special_tokens()) out["special"][special] = id;
  if (::isatty(STDIN_FILENO) == 0) {
    auto input = standard_input("a text");
    if (input.starts_with(kByteOrderMark)) input.erase(0, kByteOrderMark.size());
    if (!input.empty()) out["ids"] = encoding.encode(input);
  }
  if (options.common.json) {
    print_json(out);
    return Exit::success;
  }
  for (const auto& [key, value] : out.items()) {
    const auto shown = value.is_string() ? value.get<std::string>() : value.dump();
    print("%-12s %s\n", key.c_str(), shown.c_str());
  }
  return Exit::success;
}

/// Counts the words of the inputs, and merges. A signal ends the program at once: no file is open.
tokenizer::Vocabulary vocabulary_of_inputs(const TokenizeOptions& options) {
  const auto data = data_of(options);
  const auto files = tokenize_inputs(options, data);
  tokenizer::WordCounts words(options.pattern == "gpt4" ? tokenizer::TrainingPattern::gpt4
                                                        : tokenizer::TrainingPattern::gpt2);
  for (const auto& file : files.files) {
    data::read_pieces(file, data, [&](std::string_view piece, bool) { words.add(piece); });
  }
  return tokenizer::train_vocabulary(words, *options.vocabulary);
}

/// Trains a vocabulary on the inputs and writes OUTPUT/tokenizer.json.
Exit train_tokenizer(const TokenizeOptions& options) {
  require(!options.output.empty(), "--output is wanted: the folder of tokenizer.json");
  require(*options.vocabulary >= tokenizer::kMinTrainedVocabulary,
          text("--train-vocabulary must be at least 257 (the bytes and end-of-text), but is ",
               *options.vocabulary));
  const std::filesystem::path folder = options.output;
  std::error_code none;
  if (std::filesystem::exists(folder / "tokenizer.json", none)) {
    throw Error(Exit::data, text((folder / "tokenizer.json").string(),
                                 ": exists already; name another folder, or remove it"));
  }
  const auto vocabulary = vocabulary_of_inputs(options);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw Error(Exit::io, text(options.output, ": cannot make the folder: ", error.message()));
  data::NewFile file(folder / "tokenizer.json");
  const auto content = vocabulary.tokenizer_json();
  file.append(content.data(), content.size());
  file.finish();
  const auto size = static_cast<std::int64_t>(vocabulary.tokens.size());
  if (options.common.json) {
    print_json({{"tokenizer", file.path().string()}, {"vocabulary", size}});
    return Exit::success;
  }
  print("%s: %s tokens\n", file.path().c_str(), with_commas(size).c_str());
  if (size < *options.vocabulary) {
    print_message(
        text("note: the text has no more pairs to merge, so the vocabulary is smaller than ",
             with_commas(*options.vocabulary)));
  }
  return Exit::success;
}

Exit tokenize(const TokenizeOptions& options) {
  require(options.vocabulary || options.pattern == TokenizeOptions().pattern,
          "--pattern has no effect without --train-vocabulary; leave it out");
  if (options.show) return show_tokenizer(options);
  if (options.check) return check_folder(options);
  require(!options.inputs.empty(),
          "tokenize needs an input: files, folders or patterns; see evenkeel tokenize --help");
  return options.vocabulary ? train_tokenizer(options) : write_shards(options);
}

Exit run_tokenize(const TokenizeOptions& options) {
  try {
    return tokenize(options);
  } catch (const Error& error) {
    throw Error(error.exit(), with_options(error.what()));
  }
}

}  // namespace

/// `tokenize` writes texts as shards of token ids, with a manifest; trains a vocabulary; checks a
/// folder of shards; prints a tokenizer. The shards are equal for any number of threads. Exit
/// codes: 64 an option is missing or wrong; 65 a text, a tokenizer or a shard is damaged; 74 a file
/// cannot be written; 130 a signal stopped the writing of shards.
Verb add_tokenize(const Command& program) {
  const auto options = std::make_shared<TokenizeOptions>();
  const auto command = program.add_subcommand("tokenize", verb_summary("tokenize"));
  add_tokenize_options(command, *options);
  add_json(command, options->common);
  add_quiet(command, options->common);
  command.footer(kTokenizeExamples);
  return {command, [options] { return run_tokenize(*options); }};
}

}  // namespace evenkeel::cli
