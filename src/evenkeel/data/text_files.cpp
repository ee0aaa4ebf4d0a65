// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/text_files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <optional>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/data/input_paths.h"
#include "evenkeel/data/text_stream.h"
#include "evenkeel/data/token_inputs.h"

namespace evenkeel::data {

namespace {

namespace fs = std::filesystem;

constexpr std::array<TextKind, 4> kTextKinds = {TextKind::text, TextKind::jsonl, TextKind::json,
                                                TextKind::parquet};

struct Ending {
  std::string_view ending;
  TextKind kind;
};
constexpr std::array<Ending, 36> kEndings = {
    {{".txt", TextKind::text},     {".text", TextKind::text},  {".md", TextKind::text},
     {".rst", TextKind::text},     {".tex", TextKind::text},   {".html", TextKind::text},
     {".py", TextKind::text},      {".c", TextKind::text},     {".cc", TextKind::text},
     {".cpp", TextKind::text},     {".cu", TextKind::text},    {".h", TextKind::text},
     {".hpp", TextKind::text},     {".go", TextKind::text},    {".java", TextKind::text},
     {".jl", TextKind::text},      {".js", TextKind::text},    {".rs", TextKind::text},
     {".sh", TextKind::text},      {".sql", TextKind::text},   {".ts", TextKind::text},
     {".css", TextKind::text},     {".kt", TextKind::text},    {".log", TextKind::text},
     {".lua", TextKind::text},     {".php", TextKind::text},   {".r", TextKind::text},
     {".rb", TextKind::text},      {".swift", TextKind::text}, {".toml", TextKind::text},
     {".xml", TextKind::text},     {".yaml", TextKind::text},  {".jsonl", TextKind::jsonl},
     {".ndjson", TextKind::jsonl}, {".json", TextKind::json},  {".parquet", TextKind::parquet}}};

std::string lower_case(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char each) { return static_cast<char>(std::tolower(each)); });
  return word;
}

/// The compression that the name of a file has.
Compression named_compression(const fs::path& path) {
  const auto last = lower_case(path.extension().string());
  if (last == ".gz") return Compression::gzip;
  return last == ".zst" ? Compression::zstd : Compression::none;
}

/// The extension of a file without a final .gz or .zst: ".txt".
std::string ending(const fs::path& path) {
  const bool is_packed = named_compression(path) != Compression::none;
  return lower_case((is_packed ? path.stem() : path).extension().string());
}

std::optional<TextKind> named_kind(const fs::path& path) {
  const auto wanted = ending(path);
  const auto* const found = std::find_if(kEndings.begin(), kEndings.end(),
                                         [&](const Ending& each) { return each.ending == wanted; });
  if (found == kEndings.end()) return std::nullopt;
  return found->kind;
}

/// ".txt, .text, ..."
std::string known_endings() {
  std::string all;
  for (const auto& each : kEndings) all += text(all.empty() ? "" : " ", each.ending);
  return all;
}

TextKind kind_of(const fs::path& path, const std::string& wanted) {
  for (const auto kind : kTextKinds) {
    if (wanted == name_of(kind)) return kind;
  }
  if (const auto kind = named_kind(path)) return *kind;
  if (const auto end = ending(path); end == ".bin" || end == ".npy") {
    throw Error(
        Exit::data,
        text(path.string(), ": must be text, but ", end, " is the ending of a file of token ids; ",
             named_compression(path) == Compression::none ? "name files of text" : "unpack it"));
  }
  throw Error(Exit::data, text(path.string(), ": must end in one of ", known_endings(),
                               " (also .gz, .zst), but ends in \"", ending(path),
                               "\"; or set data.format to text, jsonl, json or parquet"));
}

/// The number of files of each kind, and the files that were left out.
struct Found {
  std::array<int, kTextKinds.size()> kinds{};
  std::array<int, 3> compressions{};
  int with_crlf = 0;
  std::vector<std::string> left_out;
};

/// True if a line of the first 64 KiB ends in CR LF.
bool has_crlf(TextStream& stream) {
  std::string start(std::size_t{1} << 16, '\0');
  start.resize(stream.read(start.data(), start.size()));
  return start.find("\r\n") != std::string::npos;
}

TextFile text_file(const fs::path& path, const std::string& format, Found& found) {
  TextStream stream(path.string());
  const TextFile file = {
      .path = path.string(), .kind = kind_of(path, format), .compression = stream.compression()};
  const auto named = named_compression(path);
  if (named != Compression::none && file.compression == Compression::none) {
    throw Error(Exit::data,
                text(file.path, ": must be ", name_of(named),
                     ", as its name says, but does not begin as ", name_of(named),
                     " does; copy it again, or name it without ", path.extension().string()));
  }
  if (file.kind == TextKind::parquet && file.compression != Compression::none) {
    throw Error(Exit::data, text(file.path,
                                 ": must be parquet, but is compressed as a whole; "
                                 "unpack it"));
  }
  ++found.kinds.at(static_cast<std::size_t>(file.kind));
  ++found.compressions.at(static_cast<std::size_t>(file.compression));
  if (file.kind == TextKind::text && has_crlf(stream)) ++found.with_crlf;
  return file;
}

/// True for a file of a folder that is no text of its own: settings of a project are .json, too.
bool is_left_out(const fs::path& path, const InputPaths& paths, const std::string& format) {
  const auto kind = named_kind(path);
  if (!kind) return true;
  return *kind == TextKind::json && paths.is_folder && format != name_of(TextKind::json);
}

/// Appends the files of an input. \param advice  what to do with token files
void add_files(const std::string& input, const std::string& format, const char* advice,
               std::vector<TextFile>& files, Found& found) {
  const auto paths = input_paths(input);
  const auto before = files.size();
  for (const auto& path : paths.paths) {
    if (paths.is_search && is_left_out(path, paths, format)) {
      found.left_out.push_back(paths.root.empty() ? path.string()
                                                  : path.lexically_relative(paths.root).string());
    } else {
      files.push_back(text_file(path, format, found));
      files.back().may_be_empty = paths.is_search;
    }
  }
  if (files.size() > before) return;
  const auto tokens = std::find_if(paths.paths.begin(), paths.paths.end(), has_token_ending);
  if (tokens != paths.paths.end()) {
    throw Error(Exit::data, text(input, ": must hold texts, but holds token files (",
                                 tokens->filename().string(), "); ", advice));
  }
  throw Error(Exit::data, text(input, ": must hold files that end in ", known_endings(),
                               " (also .gz, .zst), but holds none"));
}

/// "; left out: a.png, b.png and 3 more"
std::string left_out_text(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  if (names.empty()) return {};
  std::string shown;
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i) {
    shown += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kShown) shown += text(" and ", names.size() - kShown, " more");
  return "; left out: " + shown;
}

std::string files_described(const std::vector<std::string>& inputs, const Found& found) {
  std::string names;
  for (const auto& input : inputs) names += (names.empty() ? "" : ", ") + input;
  std::string kinds;
  const auto add = [&](int count, const auto&... what) {
    if (count > 0) kinds += text(kinds.empty() ? "" : ", ", count, " ", what...);
  };
  for (const auto kind : kTextKinds) {
    add(found.kinds.at(static_cast<std::size_t>(kind)), name_of(kind));
  }
  for (const auto each : {Compression::gzip, Compression::zstd}) {
    add(found.compressions.at(static_cast<std::size_t>(each)), "of them ", name_of(each));
  }
  add(found.with_crlf, "of them with CRLF line ends");
  return text(names, " (", kinds, left_out_text(found.left_out), ")");
}

}  // namespace

const char* name_of(TextKind kind) {
  constexpr std::array<const char*, 4> kNames = {"text", "jsonl", "json", "parquet"};
  return kNames.at(static_cast<std::size_t>(kind));
}

const char* mixed_list_advice(const std::vector<std::string>& inputs, const config::Data& data,
                              const char* otherwise) {
  const bool is_training_list = inputs.size() > 1 && inputs == data.train;
  return is_training_list
             ? "a list holds texts or token files; tokenize the texts, or give each input a weight"
             : otherwise;
}

TextFiles find_text_files(const std::vector<std::string>& inputs, const config::Data& data) {
  TextFiles all;
  Found found;
  const auto* const advice = mixed_list_advice(inputs, data, "name files of text");
  for (const auto& input : inputs) add_files(input, data.format, advice, all.files, found);
  all.description = files_described(inputs, found);
  return all;
}

bool has_fields(const std::vector<TextFile>& files) {
  return std::any_of(files.begin(), files.end(),
                     [](const TextFile& each) { return each.kind != TextKind::text; });
}

std::vector<std::string> text_file_names(const std::string& folder) {
  const auto paths = input_paths(folder);
  std::vector<std::string> names;
  for (const auto& path : paths.paths) {
    if (!is_left_out(path, paths, "auto")) names.push_back(path.string());
  }
  return names;
}

}  // namespace evenkeel::data
