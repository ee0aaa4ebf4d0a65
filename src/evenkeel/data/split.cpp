// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/split.h"

#include "evenkeel/base/utf8.h"

namespace evenkeel::data {

namespace {

std::pair<Documents, Documents> split_one(const std::string& document, double fraction) {
  auto cut = static_cast<std::size_t>((1 - fraction) * static_cast<double>(document.size()));
  const auto line = document.substr(0, cut).rfind('\n');
  const auto wanted = document.size() - cut;
  if (line != std::string::npos && cut - line <= wanted) {
    cut = line + 1;
  } else {
    while (cut > 0 && is_utf8_continuation(document[cut])) --cut;
  }
  std::pair<Documents, Documents> parts;
  if (cut > 0) parts.first = {document.substr(0, cut)};
  if (cut < document.size()) parts.second = {document.substr(cut)};
  return parts;
}

}  // namespace

std::pair<Documents, Documents> split(Documents documents, double fraction) {
  if (documents.size() == 1) return split_one(documents[0], fraction);
  constexpr double kTolerance =
      0.1;  // allowed excess of whole documents, relative to the wanted size
  const auto size_of = [](const std::string& document) {
    return static_cast<double>(document.size());
  };
  double bytes = 0;
  for (const auto& document : documents) bytes += size_of(document);
  const double wanted = fraction * bytes;
  double tail = 0;
  auto end = documents.end();  // end of the first part
  while (end != documents.begin() && tail < wanted) {
    const bool fits = size_of(*(end - 1)) <= wanted - tail + kTolerance * wanted;
    if (!fits || end - 1 == documents.begin()) break;
    tail += size_of(*--end);
  }
  std::pair<Documents, Documents> parts;
  auto rest = end;
  if (end != documents.begin() && tail < wanted) {
    --end;
    parts = split_one(*end, (wanted - tail) / size_of(*end));
  }
  const auto moved = [](auto at) { return std::make_move_iterator(at); };
  parts.first.insert(parts.first.begin(), moved(documents.begin()), moved(end));
  parts.second.insert(parts.second.end(), moved(rest), moved(documents.end()));
  return parts;
}

}  // namespace evenkeel::data
