// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/texts.h"

#include <utility>

#include "evenkeel/data/text_files.h"
#include "evenkeel/data/text_reader.h"

namespace evenkeel::data {

std::int64_t Texts::bytes() const {
  std::int64_t sum = 0;
  for (const auto& document : documents) sum += static_cast<std::int64_t>(document.size());
  return sum;
}

Texts read_texts(const std::vector<std::string>& inputs, const config::Data& data) {
  auto [files, description] = find_text_files(inputs, data);
  Texts texts = {.documents = {}, .description = std::move(description)};
  JsonCounts counts;
  for (const auto& file : files) {
    counts += read_documents(
        file, data, [&](std::string_view document) { texts.documents.emplace_back(document); });
  }
  if (const auto met = counts.description(); !met.empty()) texts.description += ", " + met;
  return texts;
}

}  // namespace evenkeel::data
