// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/normalizer.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uniset.h>
#include <unicode/unistr.h>

#include <cstring>

#include "evenkeel/base/error.h"

namespace evenkeel::tokenizer {

namespace {

const icu::Normalizer2& nfc_of_unicode_9() {
  static const auto* const kNormalizer = [] {
    UErrorCode error = U_ZERO_ERROR;
    static icu::UnicodeSet characters(icu::UnicodeString("[:age=9.0:]"), error);
    characters.freeze();
    static const icu::FilteredNormalizer2 filtered(*icu::Normalizer2::getNFCInstance(error),
                                                   characters);
    EK_ASSERT(U_SUCCESS(error));
    return &filtered;
  }();
  return *kNormalizer;
}

bool is_ascii(std::string_view text) {
  std::size_t at = 0;
  constexpr std::uint64_t kHighBits = 0x8080808080808080;
  for (std::uint64_t eight = 0; at + sizeof eight <= text.size(); at += sizeof eight) {
    std::memcpy(&eight, text.data() + at, sizeof eight);
    if ((eight & kHighBits) != 0) return false;
  }
  for (; at < text.size(); ++at) {
    if (static_cast<unsigned char>(text[at]) >= 0x80) return false;
  }
  return true;
}

std::string replaced(std::string_view text, const std::string& from, const std::string& to) {
  std::string out;
  std::size_t begin = 0;
  for (auto at = text.find(from); at != std::string_view::npos; at = text.find(from, begin)) {
    out.append(text.substr(begin, at - begin)).append(to);
    begin = at + from.size();
  }
  return out.append(text.substr(begin));
}

}  // namespace

std::string_view nfc(std::string_view text, std::string& hold) {
  if (is_ascii(text)) return text;
  const auto& normalizer = nfc_of_unicode_9();
  UErrorCode error = U_ZERO_ERROR;
  const icu::StringPiece piece(text.data(), static_cast<std::int32_t>(text.size()));
  if (normalizer.isNormalizedUTF8(piece, error) && U_SUCCESS(error)) return text;
  std::string out;
  icu::StringByteSink<std::string> sink(&out);
  error = U_ZERO_ERROR;
  normalizer.normalizeUTF8(0, piece, sink, nullptr, error);
  EK_ASSERT(U_SUCCESS(error));
  hold = std::move(out);
  return hold;
}

std::string_view Normalizer::apply(std::string_view text, std::string& hold) const {
  for (const auto& step : steps_) {
    if (text.empty()) return text;
    if (step.kind == Step::Kind::nfc) {
      text = nfc(text, hold);
    } else if (step.kind == Step::Kind::prepend) {
      hold = step.to + std::string(text);
      text = hold;
    } else if (text.find(step.from) != std::string_view::npos) {
      hold = replaced(text, step.from, step.to);
      text = hold;
    }
  }
  return text;
}

}  // namespace evenkeel::tokenizer
