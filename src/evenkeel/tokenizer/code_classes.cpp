// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/code_classes.h"

#include <initializer_list>
#include <map>
#include <string>

#include "evenkeel/tokenizer/code_set.h"

namespace evenkeel::tokenizer {

namespace {

void mark(std::string& classes, const CodeSet& set, std::uint8_t bit) {
  for (const auto& range : set.ranges()) {
    for (auto code = range.first; code <= range.last; ++code) {
      classes[code] = static_cast<char>(static_cast<std::uint8_t>(classes[code]) | bit);
    }
  }
}

void mark(std::string& classes, std::initializer_list<const char*> categories, std::uint8_t bit) {
  for (const auto* each : categories) mark(classes, *category_set(each), bit);
}

}  // namespace

const CodeClasses& CodeClasses::instance() {
  static const CodeClasses kClasses;
  return kClasses;
}

CodeClasses::CodeClasses() {
  std::string classes(kMaxCodePoint + 1, '\0');
  mark(classes, {"L"}, letter);
  mark(classes, {"N"}, number);
  mark(classes, space_set(), space);
  mark(classes, CodeSet({{'\n', '\n'}, {'\r', '\r'}}), line_end);
  mark(classes, {"Lu", "Lt", "Lm", "Lo", "M"}, upper);
  mark(classes, {"Ll", "Lm", "Lo", "M"}, lower);
  mark(classes, CodeSet({{0, 0x2ff}, {0x3400, 0x4dbf}, {0x4e00, 0x9fff}}), quick_nfc);
  std::map<std::string, std::uint16_t> known;
  for (std::size_t block = 0; block < block_of_.size(); ++block) {
    auto content = classes.substr(block << kShift, kBlock);
    const auto [found, is_new] =
        known.emplace(std::move(content), static_cast<std::uint16_t>(known.size()));
    if (is_new) blocks_.insert(blocks_.end(), found->first.begin(), found->first.end());
    block_of_[block] = found->second;
  }
}

}  // namespace evenkeel::tokenizer
