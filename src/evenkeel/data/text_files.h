// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/data/compression.h"

namespace evenkeel::data {

/// What a file of text holds.
///
///   | kind    | name                                    | documents                              |
///   | ------- | --------------------------------------- | -------------------------------------- |
///   | text    | .txt, .md, .py and other source code    | the file                               |
///   | jsonl   | .jsonl, .ndjson                         | one object per line                    |
///   | json    | .json                                   | an array of strings or objects; or as  |
///   |         |                                         | jsonl, if it begins with {             |
///   | parquet | .parquet                                | one row each, of a column of strings   |
///
/// All but parquet may be compressed: .gz and .zst.
enum class TextKind { text, jsonl, json, parquet };

const char* name_of(TextKind kind);

struct TextFile {
  std::string path;
  TextKind kind = TextKind::text;
  Compression compression = Compression::none;
  bool may_be_empty = false;         // found in a folder or by a pattern: an empty file is skipped
  bool skips_invalid_lines = false;  // lines of JSON that cannot be used are counted and left out
};

struct TextFiles {
  std::vector<TextFile> files;
  std::string description;  // "books (2 text, 1 jsonl, 1 of them gzip; left out: cover.png)"
};

/// What to do about a list of texts and token files.
/// \param data       data.train: a list with this content is a training text, and may have weights
/// \param otherwise  the advice for another list, and for a single input
const char* mixed_list_advice(const std::vector<std::string>& inputs, const config::Data& data,
                              const char* otherwise);

/// Finds the files of a text. An input is a file, a folder, or a pattern as of a shell (`*`, `?`,
/// `[a-z]`); `~` at its start is the home folder. A folder gives the text files in it and in its
/// folders, in the order of their paths. Hidden entries, links to folders and files of other kinds
/// are left out of folders and patterns; so are the .json files of a folder, unless data.format is
/// "json", and run folders.
/// \param data  data.format: the kind of all files that are found, if it is not "auto"; data.train:
///              a list with this content is a training text, which the advice of a message heeds
/// \throws Error (data, exit code 65) for a missing file, a folder or pattern without text files
///         (it may hold token files), a name without a known ending, or a file that is compressed
///         by its name only
TextFiles find_text_files(const std::vector<std::string>& inputs, const config::Data& data);

/// True if a file has its texts in a field or column, named data.text_key: JSON or parquet.
bool has_fields(const std::vector<TextFile>& files);

/// The files of a folder that find_text_files() reads.
std::vector<std::string> text_file_names(const std::string& folder);

}  // namespace evenkeel::data
