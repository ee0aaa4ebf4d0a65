// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/config/config.h"

namespace evenkeel::data {

/// What the files of a run hold.
struct Texts {
  std::vector<std::string> documents;  // UTF-8, none empty
  std::string description;             // "books (2 text files, 1 jsonl file, gzip)"

  std::int64_t bytes() const;
};

/// Reads files and folders (.txt: one document; .jsonl: one a line; both also as .gz), the files
/// of a folder in the order of their names.
/// \param inputs  paths; `data` gives the format and the key of JSON lines
/// \throws Error (data) that names the file and the place in it
Texts read_texts(const std::vector<std::string>& inputs, const config::Data& data);

}  // namespace evenkeel::data
