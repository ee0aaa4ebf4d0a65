// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/texts.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/base/system_memory.h"
#include "evenkeel/base/utf8.h"
#include "evenkeel/data/gzip.h"
#include "evenkeel/data/json_lines.h"

namespace evenkeel::data {

namespace {

namespace fs = std::filesystem;

/// The extension of a file without a final .gz: ".txt".
std::string ending(const fs::path& path) {
  return path.extension() == ".gz" ? path.stem().extension().string() : path.extension().string();
}

/// The number of files read of each kind; `others`: files of a folder that were not read.
struct Counts {
  int text = 0, jsonl = 0, gzip = 0, others = 0;
};

/// The files of an input: the file itself, or the text files of a folder.
std::vector<fs::path> files_of(const fs::path& input, Counts& counts) {
  std::error_code error;
  const auto status = fs::status(input, error);
  if (!fs::exists(status)) {
    throw Error(Exit::data, text(input.string(), ": must be a file or a folder, but is missing"));
  }
  if (!fs::is_directory(status)) return {input};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(input, error)) {
    const auto kind = ending(entry.path());
    const bool is_text = kind == ".txt" || kind == ".jsonl";
    if (is_text) files.push_back(entry.path());
    if (!is_text) ++counts.others;
  }
  if (error) throw Error(Exit::data, text(input.string(), ": cannot read: ", error.message()));
  if (files.empty()) {
    throw Error(Exit::data, text(input.string(),
                                 ": must hold .txt or .jsonl files (also .gz), "
                                 "but holds none"));
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// The format of a file: "text" or "jsonl".
std::string format_of(const fs::path& file, const std::string& wanted) {
  if (wanted != "auto") return wanted;
  const auto kind = ending(file);
  if (kind == ".txt") return "text";
  if (kind == ".jsonl") return "jsonl";
  throw Error(Exit::data, text(file.string(),
                               ": must end in .txt or .jsonl (also .gz), but ends "
                               "in \"",
                               kind,
                               "\"; or set data.format to text or "
                               "jsonl"));
}

/// The size limit of a file in bytes. A byte of text takes one byte, and two as a token.
std::uint64_t max_text_bytes() {
  constexpr double kBytesPerByte = 3;
  const double memory = total_bytes();
  return memory > 0 ? static_cast<std::uint64_t>(memory / kBytesPerByte) : kMaxRecordBytes;
}

std::string content_of(const fs::path& file) {
  try {
    return read_file(file, max_text_bytes());
  } catch (const Error& error) {
    throw Error(Exit::data, error.what());
  }
}

void check_utf8(std::string_view content, const std::string& name) {
  const auto offset = first_invalid_utf8(content);
  if (!offset) return;
  std::array<char, 8> byte{};
  std::snprintf(byte.data(), byte.size(), "0x%02x",
                static_cast<unsigned>(static_cast<unsigned char>(content[*offset])));
  throw Error(Exit::data, text(name, ": must be UTF-8, but byte ", *offset, " is ", byte.data(),
                               "; convert it, for example with iconv"));
}

void read_into(Texts& texts, Counts& counts, const fs::path& file, const config::Data& data) {
  const auto name = file.string();
  const auto format = format_of(file, data.format);
  auto content = content_of(file);
  if (file.extension() == ".gz" && !is_gzip(content)) {
    throw Error(Exit::data, text(name,
                                 ": must be gzip, as its name says, but does not begin as gzip "
                                 "does; copy it again, or name it without .gz"));
  }
  if (is_gzip(content)) {
    content = gunzipped(content, name, max_text_bytes());
    ++counts.gzip;
  }
  check_utf8(content, name);
  const auto before = texts.documents.size();
  if (format == "jsonl") {
    ++counts.jsonl;
    auto documents = json_lines(content, data.text_key, name);
    std::move(documents.begin(), documents.end(), std::back_inserter(texts.documents));
  } else {
    ++counts.text;
    if (!content.empty()) texts.documents.push_back(std::move(content));
  }
  if (texts.documents.size() == before) {
    throw Error(Exit::data, text(name, ": must hold text, but is empty"));
  }
}

std::string texts_described(const std::vector<std::string>& inputs, const Counts& counts) {
  std::string names;
  for (const auto& input : inputs) names += (names.empty() ? "" : ", ") + input;
  std::string kinds;
  const auto add = [&](int count, const char* kind) {
    if (count > 0) kinds += text(kinds.empty() ? "" : ", ", count, " ", kind);
  };
  add(counts.text, "text");
  add(counts.jsonl, "jsonl");
  add(counts.gzip, "of them gzip");
  if (counts.others > 0) kinds += text("; ", counts.others, " neither, left out");
  return text(names, " (", kinds, ")");
}

}  // namespace

std::int64_t Texts::bytes() const {
  std::int64_t sum = 0;
  for (const auto& document : documents) sum += static_cast<std::int64_t>(document.size());
  return sum;
}

Texts read_texts(const std::vector<std::string>& inputs, const config::Data& data) {
  Texts texts;
  Counts counts;
  for (const auto& input : inputs) {
    for (const auto& file : files_of(input, counts)) read_into(texts, counts, file, data);
  }
  texts.description = texts_described(inputs, counts);
  return texts;
}

}  // namespace evenkeel::data
