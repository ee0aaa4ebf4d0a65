// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/config/config.h"

namespace evenkeel::data {

/// The documents in the files of a text.
struct Texts {
  std::vector<std::string> documents;  // UTF-8, none empty
  std::string description;             // "books (2 text, 1 jsonl, 1 of them gzip)"

  std::int64_t bytes() const;
};

/// Reads all documents of the files that find_text_files() finds into memory.
/// \param inputs  files, folders and patterns
/// \param data    data.format and data.text_key
/// \throws Error (data, exit code 65), with the file and the position in it
Texts read_texts(const std::vector<std::string>& inputs, const config::Data& data);

}  // namespace evenkeel::data
