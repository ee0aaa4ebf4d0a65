// SPDX-License-Identifier: Apache-2.0
// The readers and writers of src/evenkeel/data for tests/ecosystem/formats_check.py.
//
//   formats_driver ids FILE VOCABULARY [TYPE]      the ids as int64
//   formats_driver texts KEY INPUT...              each document after its length, a uint64
//   formats_driver pieces KEY INPUT...             the same, from read_pieces()
//   formats_driver measure KEY INPUT...            documents, bytes, CPU seconds, peak memory in
//   KiB formats_driver write FORMAT FOLDER VOCABULARY END_OF_TEXT SHARD_TOKENS
//                                                  input: each document's ids, uint32, after their
//                                                  number, a uint64
//   formats_driver check FOLDER                    check_shards()
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/data/shard_check.h"
#include "evenkeel/data/text_reader.h"
#include "evenkeel/data/token_file.h"
#include "evenkeel/data/token_writer.h"

namespace evenkeel::data {
namespace {

using Words = std::vector<std::string>;

void put(const void* data, std::size_t size) {
  if (std::fwrite(data, 1, size, stdout) != size) throw Error(Exit::io, "cannot write");
}

std::optional<TokenType> token_type(const std::string& name) {
  for (const auto type : {TokenType::uint8, TokenType::uint16, TokenType::uint32, TokenType::uint64,
                          TokenType::int32, TokenType::int64}) {
    if (name == name_of(type)) return type;
  }
  return std::nullopt;
}

void print_ids(const Words& words) {
  const auto vocabulary = std::stoll(words.at(1));
  const auto type = words.size() > 2 ? token_type(words[2]) : std::nullopt;
  const TokenFile file(words.at(0), type ? &*type : nullptr, vocabulary);
  file.check_ids(vocabulary);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(file.count()));
  file.read(0, file.count(), ids.data());
  put(ids.data(), ids.size() * sizeof ids[0]);
}

/// Calls `use` for each document of the inputs after the first word, which is data.text_key.
void each_document(const Words& words, const std::function<void(std::string_view)>& use) {
  config::Data data;
  data.text_key = words.at(0);
  const auto found = find_text_files({words.begin() + 1, words.end()}, data);
  for (const auto& file : found.files) read_documents(file, data, use);
}

void put_document(std::string_view document) {
  const std::uint64_t size = document.size();
  put(&size, sizeof size);
  put(document.data(), document.size());
}

void print_pieces(const Words& words) {
  config::Data data;
  data.text_key = words.at(0);
  const auto found = find_text_files({words.begin() + 1, words.end()}, data);
  for (const auto& file : found.files) {
    read_pieces(file, data, [](std::string_view piece, bool) { put_document(piece); });
  }
}

/// VmHWM. The peak of getrusage() is that of the process that started this one, if it is larger.
std::string peak_kibibytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmHWM:" && status >> word) return word;
  }
  return "0";
}

void measure(const Words& words) {
  std::uint64_t documents = 0, bytes = 0;
  each_document(words, [&](std::string_view document) {
    ++documents;
    bytes += document.size();
  });
  struct rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    constexpr double kMicro = 1e-6;
    return static_cast<double>(time.tv_sec) + kMicro * static_cast<double>(time.tv_usec);
  };
  std::printf("%llu %llu %.3f %s\n", static_cast<unsigned long long>(documents),
              static_cast<unsigned long long>(bytes),
              seconds(usage.ru_utime) + seconds(usage.ru_stime), peak_kibibytes().c_str());
}

void write(const Words& words) {
  TokenWriter writer({.folder = words.at(1),
                      .name = "x",
                      .format = shard_format(words.at(0)),
                      .shard_tokens = std::stoll(words.at(4)),
                      .vocabulary = std::stoll(words.at(2)),
                      .end_of_text = static_cast<std::uint32_t>(std::stoul(words.at(3))),
                      .tokenizer = "none"});
  std::uint64_t count = 0;
  while (std::fread(&count, sizeof count, 1, stdin) == 1) {
    std::vector<std::uint32_t> ids(count);
    if (std::fread(ids.data(), sizeof ids[0], count, stdin) != count) {
      throw Error(Exit::data, "the input ends in a document");
    }
    writer.append(ids);
  }
  std::printf("%lld\n", static_cast<long long>(writer.finish().tokens()));
}

void act(const std::string& verb, const Words& words) {
  if (verb == "ids") return print_ids(words);
  if (verb == "texts") return each_document(words, put_document);
  if (verb == "pieces") return print_pieces(words);
  if (verb == "measure") return measure(words);
  if (verb == "write") return write(words);
  if (verb == "check") {
    std::printf("%lld\n", static_cast<long long>(check_shards(words.at(0)).tokens()));
    return;
  }
  throw Error(Exit::usage, "no verb is named \"" + verb + "\"");
}

}  // namespace
}  // namespace evenkeel::data

int main(int count, char** words) {
  try {
    evenkeel::data::act(count > 1 ? words[1] : "", {words + std::min(count, 2), words + count});
    return 0;
  } catch (const evenkeel::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.exit());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "internal error: %s\n", error.what());
    return static_cast<int>(evenkeel::Exit::internal);
  }
}
