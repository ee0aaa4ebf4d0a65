// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace evenkeel::data {

/// The content of OLMo's file X.csv.gz of a file X.npy: a line "start,end" for each document, in
/// tokens; the end is exclusive and follows the end-of-text token. Without a time in the header of
/// gzip, so that equal documents give equal bytes.
/// \param ends  the end of each document; each begins at the end of the one before
std::string document_bounds_packed(const std::vector<std::int64_t>& ends);

/// Calls `use` for each document of a file X.csv or X.csv.gz. Further fields of a line are ignored.
/// \param tokens  number of tokens of the file that the documents are in
/// \throws Error (data, exit code 65), with the line, for documents that are empty, overlap, are
///         not in order or end after `tokens`
void read_document_bounds(const std::string& path, std::int64_t tokens,
                          const std::function<void(std::int64_t start, std::int64_t end)>& use);

}  // namespace evenkeel::data
