// SPDX-License-Identifier: Apache-2.0
#include "targets.h"

#include <nlohmann/json.hpp>

#include <array>
#include <fstream>
#include <stdexcept>

#include "config_targets.h"
#include "evenkeel/base/error.h"
#include "evenkeel/base/utf8.h"
#include "evenkeel/data/document_bounds.h"
#include "evenkeel/data/encode_files.h"
#include "evenkeel/data/json_array.h"
#include "evenkeel/data/json_lines.h"
#include "evenkeel/data/parquet_reader.h"
#include "evenkeel/data/shard_check.h"
#include "evenkeel/data/text_reader.h"
#include "evenkeel/data/text_stream.h"
#include "evenkeel/data/texts.h"
#include "evenkeel/data/token_file.h"
#include "evenkeel/data/token_writer.h"
#include "evenkeel/norm/expression.h"
#include "evenkeel/report/html.h"
#include "evenkeel/report/report.h"
#include "evenkeel/serve/completion_request.h"
#include "evenkeel/serve/request_error.h"
#include "evenkeel/serve/request_head.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/store/json_lines.h"
#include "evenkeel/store/run_folder.h"
#include "evenkeel/store/safetensors.h"
#include "evenkeel/tasks/arrow_stream.h"
#include "evenkeel/tasks/prompts.h"
#include "evenkeel/tasks/request_file.h"
#include "evenkeel/tokenizer/encoder.h"
#include "evenkeel/tokenizer/sentencepiece_bpe.h"
#include "evenkeel/tokenizer/tokenizer.h"

namespace evenkeel::campaign {

namespace {

namespace fs = std::filesystem;

/// The first byte of an input as a choice below `limit`; 0 for an empty input.
std::size_t choice_of(const std::string& input, std::size_t limit) {
  return input.empty() ? 0 : static_cast<unsigned char>(input[0]) % limit;
}

std::string rest_of(const std::string& input) {
  return input.empty() ? input : input.substr(1);
}

/// A document must be UTF-8.
void check_document(std::string_view document) {
  if (first_invalid_utf8(document)) throw std::logic_error("a document is not UTF-8");
}

constexpr std::uint64_t kMaxWindow = std::uint64_t{1} << 24;

void fuzz_json_lines(const std::string& input, const fs::path& folder) {
  data::TextWindow window(put(folder / "text.jsonl", input), kMaxWindow);
  data::read_json_lines(window, "text", check_document);
}

void fuzz_json_array(const std::string& input, const fs::path& folder) {
  data::TextWindow window(put(folder / "text.json", input), kMaxWindow);
  data::read_json_array(window, "text", check_document);
}

void fuzz_records(const std::string& input, const fs::path& folder) {
  store::read_json_lines(put(folder / "metrics.jsonl", input));
}

/// A run folder in which the input is one of the files.
void fuzz_report(const std::string& input, const fs::path& folder) {
  static const std::array<std::pair<const char*, const char*>, 6> kFiles = {
      {{"status.json", R"({"state":"training","step":2,"steps":4,"scheme":"s","preset":"tiny"})"},
       {"provenance.json", R"({"evenkeel":"0.2.0","changes":[],"data":{"train":"text"}})"},
       {"metrics.jsonl",
        "{\"step\":1,\"loss\":5.5,\"lr\":0.001}\n{\"step\":2,\"val_loss\":5.25}\n"},
       {"probes.jsonl", "{\"step\":1,\"probe\":\"grad_norm\",\"layers\":[1,2]}\n"},
       {"health.jsonl", "{\"step\":1,\"event\":\"spike\",\"layer\":0,\"detail\":\"d\"}\n"},
       {"run.toml", "preset = \"tiny\"\n"}}};
  const auto run = folder / "runs" / "run-1";
  fs::create_directories(run);
  const auto chosen = choice_of(input, kFiles.size());
  for (std::size_t i = 0; i < kFiles.size(); ++i) {
    put(run / kFiles.at(i).first, i == chosen ? rest_of(input) : kFiles.at(i).second);
  }
  store::list_runs(folder / "runs");
  report::write_report({run}, folder / "page.html");
}

void fuzz_safetensors(const std::string& input, const fs::path& folder) {
  store::Safetensors::read(put(folder / "tensors.safetensors", input));
}

/// Arrow in the plug-in is not instrumented: only signals, hangs, and writes by functions of libc
/// are seen.
void fuzz_parquet(const std::string& input, const fs::path& folder) {
  try {
    data::read_parquet(put(folder / "a.parquet", input).string(), "text", check_document);
  } catch (const Error& error) {
    const bool is_missing =
        std::string_view(error.what()).find("./ek parquet") != std::string::npos;
    if (is_missing) throw std::logic_error("the plug-in does not load");
    throw;
  }
}

/// The manifest of an otherwise intact checkpoint.
void fuzz_manifest(const std::string& input, const fs::path& folder) {
  const auto checkpoint = folder / "run" / "checkpoints" / "step-00000004";
  if (!fs::exists(checkpoint)) {
    fs::create_directories(checkpoint);
    fs::copy(checkpoint_files, checkpoint, fs::copy_options::overwrite_existing);
  }
  put(checkpoint / "MANIFEST.json", input);
  store::newest_checkpoint(folder / "run");
}

/// A compressed file.
void fuzz_unpack(const std::string& input, const fs::path& folder) {
  data::TextStream stream(put(folder / "text", input).string());
  std::string block(std::size_t{1} << 16, '\0');
  while (stream.read(block.data(), block.size()) == block.size()) {
  }
}

/// The bytes of a text that threads read and encode.
std::string encoded_bytes(const std::vector<data::TextFile>& files) {
  constexpr int kThreads = 2;
  static const data::TextEncoding bytes{config::Data{}};
  std::string all;
  data::encode_files(files, {}, bytes, kThreads, [&](std::span<const data::TokenId> ids, bool) {
    for (const auto id : ids) all += static_cast<char>(id);
  });
  return all;
}

/// A file of texts; the first byte chooses its kind.
void fuzz_texts(const std::string& input, const fs::path& folder) {
  static const std::array<const char*, 8> kNames = {"a.txt",       "a.jsonl",   "a.txt.gz",
                                                    "a.jsonl.gz",  "a.json",    "a.txt.zst",
                                                    "a.jsonl.zst", "a.json.zst"};
  const auto file = put(folder / kNames.at(choice_of(input, kNames.size())), rest_of(input));
  const auto files = data::find_text_files({file.string()}, config::Data{});
  const auto encoded = encoded_bytes(files.files);
  std::string all, again;
  for (const auto& each : data::read_texts({file.string()}, config::Data{}).documents) all += each;
  data::read_pieces(files.files.at(0), config::Data{}, [&](std::string_view piece, bool) {
    check_document(piece);
    again += piece;
  });
  if (all != again || all != encoded)
    throw std::logic_error("the pieces differ from the documents");
}

/// A file of token ids; the first byte chooses its name, or makes the input the index of a file.
void fuzz_tokens(const std::string& input, const fs::path& folder) {
  static const std::array<const char*, 3> kNames = {"a.bin", "a.npy", "b.idx"};
  constexpr std::int64_t kVocabulary = 50257;
  const auto chosen = choice_of(input, kNames.size());
  auto file = put(folder / kNames.at(chosen), rest_of(input));
  if (chosen == 2) file = put(folder / "b.bin", std::string(6, '\1'));
  const data::TokenFile tokens(file.string(), nullptr, kVocabulary);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(tokens.count()));
  tokens.read(0, tokens.count(), ids.data());
  tokens.check_ids(kVocabulary);
}

void fuzz_bounds(const std::string& input, const fs::path& folder) {
  constexpr std::int64_t kTokens = 1000;
  data::read_document_bounds(put(folder / "a.csv.gz", input), kTokens,
                             [](std::int64_t start, std::int64_t end) {
                               const bool is_inside = start >= 0 && start < end && end <= kTokens;
                               if (!is_inside) throw std::logic_error("a document lies outside");
                             });
}

/// The manifest of a folder with a file a.npy.
void fuzz_shards(const std::string& input, const fs::path& folder) {
  put(folder / "a.npy", std::string("\1\0\2\0", 4));
  put(folder / "manifest.json", input);
  data::check_shards(folder.string());
}

/// Every prompt of the first rows.
void fuzz_arrow(const std::string& input, const fs::path& folder) {
  constexpr int kRows = 50;
  int left = kRows;
  const tasks::ArrowStream stream(put(folder / "a.arrow", input).string());
  stream.each_row([&](const tasks::ArrowRow& row) {
    if (left-- <= 0) return;
    for (const auto& form : tasks::prompt_forms()) {
      try {
        tasks::form_document(form, row);
      } catch (const Error&) {  // most forms need other columns
      }
    }
  });
}

/// The rows of each document are complete, and its gold choice is one of them.
void fuzz_requests(const std::string& input, const fs::path& folder) {
  const auto file = put(folder / "requests.jsonl", input).string();
  for (const auto metric : {tasks::Metric::bpb, tasks::Metric::acc}) {
    for (const auto& document : tasks::read_request_file(file, metric).documents) {
      if (document.gold >= document.rows.size()) throw std::logic_error("gold is no choice");
      for (const auto& row : document.rows) {
        check_document(row.context);
        if (row.continuation.empty()) throw std::logic_error("a continuation is empty");
        check_document(row.continuation);
      }
    }
  }
}

/// A tokenizer that loads must encode and decode any text.
void load_and_use(const fs::path& file, const tokenizer::LoadOptions& options = {}) {
  const auto tokenizer = tokenizer::Tokenizer::load(file.string(), options);
  std::vector<tokenizer::Id> ids;
  tokenizer::Encoder(tokenizer).encode("It's a \xc3\xa9 test  \n<|endoftext|> 123", ids);
  tokenizer.decode(std::vector<std::int64_t>(ids.begin(), ids.end()));
  tokenizer.decode(std::vector<std::int64_t>{-1, tokenizer.vocabulary(), 1});
}

void fuzz_tokenizer(const std::string& input, const fs::path& folder) {
  load_and_use(put(folder / "tokenizer.json", input));
}

void fuzz_tiktoken(const std::string& input, const fs::path& folder) {
  load_and_use(put(folder / "a.tiktoken", input), {.pattern = "gpt2"});
}

/// A SentencePiece model as our own reader sees it, and its map of characters.
void fuzz_sentencepiece(const std::string& input, const fs::path&) {
  constexpr std::string_view kText = "It's a \xc3\xa9 test  \xef\xbc\xa1 123";
  tokenizer::Model model;
  std::string hold;
  if (tokenizer::read_sentencepiece_bpe(input, model)) {
    model.sentencepiece_normalizer->apply(kText, hold);
  }
  const tokenizer::SentencePieceNormalizer mapped = {.characters = tokenizer::CharacterMap(input)};
  mapped.apply(kText, hold);
}

void fuzz_html(const std::string& input, const fs::path&) {
  const auto escaped = report::escaped(input);
  const bool is_safe = escaped.find_first_of("<>\"'") == std::string::npos;
  if (!is_safe || first_invalid_utf8(escaped)) throw std::logic_error("escaped() is not safe");
}

/// A body of `eval --serve`; the first byte chooses the path. A refusal must be JSON.
void fuzz_request(const std::string& input, const fs::path&) {
  constexpr std::size_t kPaths = 3;
  try {
    const auto body = rest_of(input);
    const auto chosen = choice_of(input, kPaths);
    if (chosen == 0) serve::parse_completion_request(body);
    if (chosen == 1) serve::parse_tokenize_request(body);
    if (chosen == 2) serve::parse_detokenize_request(body);
  } catch (const serve::RequestError& error) {
    const bool is_valid = error.status() == 400 && !first_invalid_utf8(error.body().dump());
    if (!is_valid) throw std::logic_error("a refusal is not valid");
  }
}

/// The head of an HTTP request. What is accepted must be accepted again with the Host left out.
void fuzz_request_head(const std::string& input, const fs::path&) {
  try {
    const auto head = serve::parse_request_head(input);
    const auto line = head.normalized.find("\r\n") + 2;
    const auto again =
        head.normalized.substr(0, line) + "Host: localhost\r\n" + head.normalized.substr(line);
    if (serve::parse_request_head(again).normalized != head.normalized) {
      throw std::logic_error("a normalized head has another meaning");
    }
  } catch (const serve::RequestError& error) {
    if (first_invalid_utf8(error.body().dump())) throw std::logic_error("a refusal is not UTF-8");
  }
}

void fuzz_expression(const std::string& input, const fs::path&) {
  const norm::Variables variables = {
      {"l", 1},  {"N", 12}, {"S", 24},      {"d", 64},       {"dk", 16}, {"f", 172},   {"h", 4},
      {"kv", 2}, {"t", 1},  {"vocab", 257}, {"context", 64}, {"T", 100}, {"width", 64}};
  norm::Expression::parse(input).value(variables);
}

}  // namespace

const std::vector<FuzzTarget>& fuzz_targets() {
  static const std::vector<FuzzTarget> targets = {
      {"arrow", Grammar::binary, fuzz_arrow},
      {"bounds", Grammar::gzip, fuzz_bounds},
      {"config", Grammar::toml, fuzz_config},
      {"expression", Grammar::text, fuzz_expression},
      {"gzip", Grammar::gzip, fuzz_unpack},
      {"html", Grammar::text, fuzz_html},
      {"json_array", Grammar::json, fuzz_json_array},
      {"json_lines", Grammar::json, fuzz_json_lines},
      {"manifest", Grammar::manifest, fuzz_manifest},
      {"parquet", Grammar::binary, fuzz_parquet},
      {"records", Grammar::json, fuzz_records},
      {"report", Grammar::json, fuzz_report},
      {"request", Grammar::json, fuzz_request},
      {"request_head", Grammar::text, fuzz_request_head},
      {"requests", Grammar::json, fuzz_requests},
      {"safetensors", Grammar::safetensors, fuzz_safetensors},
      {"scheme", Grammar::toml, fuzz_scheme},
      {"sentencepiece", Grammar::binary, fuzz_sentencepiece},
      {"setting", Grammar::toml, fuzz_setting},
      {"shards", Grammar::json, fuzz_shards},
      {"study", Grammar::toml, fuzz_study},
      {"texts", Grammar::json, fuzz_texts},
      {"tiktoken", Grammar::text, fuzz_tiktoken},
      {"tokenizer", Grammar::json, fuzz_tokenizer},
      {"tokens", Grammar::binary, fuzz_tokens},
      {"yaml", Grammar::text, fuzz_yaml},
      {"zstd", Grammar::binary, fuzz_unpack},
  };
  return targets;
}

}  // namespace evenkeel::campaign
