// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/split.h"

#include "evenkeel/data/utf8.h"

namespace evenkeel::data {

namespace {

std::pair<Documents, Documents> split_one(const std::string& document, double fraction) {
  auto cut = static_cast<std::size_t>((1 - fraction) * static_cast<double>(document.size()));
  const auto line = document.substr(0, cut).rfind('\n');
  if (line != std::string::npos) {
    cut = line + 1;
  } else {
    while (cut > 0 && continues_character(document[cut])) --cut;
  }
  std::pair<Documents, Documents> parts;
  if (cut > 0) parts.first = {document.substr(0, cut)};
  if (cut < document.size()) parts.second = {document.substr(cut)};
  return parts;
}

}  // namespace

std::pair<Documents, Documents> split(Documents documents, double fraction) {
  if (documents.size() == 1) return split_one(documents[0], fraction);
  double bytes = 0;
  for (const auto& document : documents) bytes += static_cast<double>(document.size());
  double tail = 0;
  auto first = documents.end();
  while (first != documents.begin() + 1 && tail < fraction * bytes) {
    --first;
    tail += static_cast<double>(first->size());
  }
  std::pair<Documents, Documents> parts;
  parts.second.assign(std::make_move_iterator(first), std::make_move_iterator(documents.end()));
  documents.erase(first, documents.end());
  parts.first = std::move(documents);
  return parts;
}

}  // namespace evenkeel::data
