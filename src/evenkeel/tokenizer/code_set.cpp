// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/code_set.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "evenkeel/base/error.h"
#include "evenkeel/tokenizer/unicode_tables.h"

namespace evenkeel::tokenizer {

namespace {

constexpr std::array<std::string_view, 30> kCategories = {
    "Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps",
    "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co"};
constexpr std::size_t kCapitals = 26;  // letters of the table: 'A' to 'Z', then 'a' to 'd'

std::size_t category_index(char letter) {
  return letter >= 'a' ? static_cast<std::size_t>(letter - 'a') + kCapitals
                       : static_cast<std::size_t>(letter - 'A');
}

/// The ranges of the categories that `wanted` selects.
template <typename Wanted>
std::vector<CodeSet::Range> category_ranges(const Wanted& wanted) {
  std::vector<CodeSet::Range> out;
  char32_t begin = 0;
  for (const char* at = kCategoryRuns; *at != '\0';) {
    const auto category = category_index(*at++);
    char32_t length = 0;
    for (; *at >= '0' && *at <= '9'; ++at) length = length * 10 + static_cast<char32_t>(*at - '0');
    if (length == 0) length = 1;
    if (wanted(kCategories[category])) out.push_back({begin, begin + length - 1});
    begin += length;
  }
  EK_ASSERT(begin == kMaxCodePoint + 1);
  return out;
}

}  // namespace

CodeSet::CodeSet(std::vector<Range> ranges) : ranges_(std::move(ranges)) {
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.first < b.first; });
  std::vector<Range> merged;
  for (const auto& each : ranges_) {
    if (!merged.empty() && each.first <= merged.back().last + 1) {
      merged.back().last = std::max(merged.back().last, each.last);
    } else {
      merged.push_back(each);
    }
  }
  ranges_ = std::move(merged);
}

void CodeSet::add(const CodeSet& other) {
  auto both = ranges_;
  both.insert(both.end(), other.ranges_.begin(), other.ranges_.end());
  *this = CodeSet(std::move(both));
}

CodeSet CodeSet::complement() const {
  std::vector<Range> out;
  char32_t next = 0;
  for (const auto& each : ranges_) {
    if (each.first > next) out.push_back({next, each.first - 1});
    next = each.last + 1;
  }
  if (next <= kMaxCodePoint) out.push_back({next, kMaxCodePoint});
  return CodeSet(std::move(out));
}

std::string CodeSet::class_text() const {
  constexpr std::size_t kLongest = 24;
  std::string out;
  for (const auto& each : ranges_) {
    std::array<char, kLongest> buffer{};
    const auto first = static_cast<unsigned>(each.first), last = static_cast<unsigned>(each.last);
    const int length = first == last
                           ? std::snprintf(buffer.data(), kLongest, "\\x{%x}", first)
                           : std::snprintf(buffer.data(), kLongest, "\\x{%x}-\\x{%x}", first, last);
    out.append(buffer.data(), static_cast<std::size_t>(length));
  }
  return out;
}

std::optional<CodeSet> category_set(std::string_view name) {
  if (name.empty() || name.size() > 2) return std::nullopt;
  auto found = category_ranges([&](std::string_view each) { return each.starts_with(name); });
  if (found.empty()) return std::nullopt;
  return CodeSet(std::move(found));
}

CodeSet space_set() {
  CodeSet out({{'\t', '\r'}, {0x85, 0x85}});
  out.add(*category_set("Z"));
  return out;
}

}  // namespace evenkeel::tokenizer
