// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/generate/generated_text.h"

#include <algorithm>

namespace evenkeel::generate {

void GeneratedText::emit(std::string_view bytes) {
  if (raw_) return write_(bytes);
  write_(display_.add(bytes));
}

/// The size of the longest end of the text that begins a stop string.
std::size_t GeneratedText::waiting_size() const {
  std::size_t longest = 0;
  for (const auto& stop : stops_) {
    for (auto size = std::min(stop.size() - 1, pending_.size()); size > longest; --size) {
      if (std::string_view(stop).starts_with(
              std::string_view(pending_).substr(pending_.size() - size))) {
        longest = size;
      }
    }
  }
  return longest;
}

bool GeneratedText::add(std::string_view bytes) {
  pending_ += bytes;
  auto end = std::string::npos;
  for (const auto& stop : stops_) end = std::min(end, pending_.find(stop));
  if (end != std::string::npos) {
    pending_.resize(end);
    return false;
  }
  const auto ready = pending_.size() - waiting_size();
  emit(std::string_view(pending_).substr(0, ready));
  pending_.erase(0, ready);
  return true;
}

void GeneratedText::finish() {
  emit(pending_);
  pending_.clear();
  if (!raw_) write_(display_.finish());
}

}  // namespace evenkeel::generate
