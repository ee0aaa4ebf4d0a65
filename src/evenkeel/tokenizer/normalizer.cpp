// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/normalizer.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uniset.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <cstring>

#include "evenkeel/base/error.h"
#include "evenkeel/base/replace_all.h"
#include "evenkeel/tokenizer/code_classes.h"
#include "evenkeel/tokenizer/utf8_decode.h"

namespace evenkeel::tokenizer {

namespace {

using Form = const icu::Normalizer2* (*)(UErrorCode&);

/// The characters of Unicode 9.
const icu::UnicodeSet& characters_of_unicode_9() {
  static const auto kCharacters = [] {
    UErrorCode error = U_ZERO_ERROR;
    icu::UnicodeSet characters(icu::UnicodeString("[:age=9.0:]"), error);
    EK_ASSERT(U_SUCCESS(error));
    characters.freeze();
    return characters;
  }();
  return kCharacters;
}

icu::FilteredNormalizer2 of_unicode_9(Form form) {
  UErrorCode error = U_ZERO_ERROR;
  const auto* const all = form(error);
  EK_ASSERT(U_SUCCESS(error));
  return {*all, characters_of_unicode_9()};
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

/// True if NFC changes no character of the text, whatever its neighbors are.
bool is_unchanged(std::string_view text) {
  const auto& classes = CodeClasses::instance();
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, length] = decode_utf8(text.data() + at);
    if ((classes.of(code) & CodeClasses::quick_nfc) == 0) return false;
    at += length;
  }
  return true;
}

std::string_view normalized(const icu::Normalizer2& normalizer, std::string_view text,
                            std::string& hold) {
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

}  // namespace

std::string_view nfc(std::string_view text, std::string& hold) {
  static const auto kNormalizer = of_unicode_9(icu::Normalizer2::getNFCInstance);
  return is_unchanged(text) ? text : normalized(kNormalizer, text, hold);
}

std::string_view nfkc(std::string_view text, std::string& hold) {
  static const auto kNormalizer = of_unicode_9(icu::Normalizer2::getNFKCInstance);
  return is_ascii(text) ? text : normalized(kNormalizer, text, hold);
}

bool Normalizer::is_of_unicode() const {
  return std::all_of(steps_.begin(), steps_.end(), [](const Step& step) {
    return step.kind == Step::Kind::nfc || step.kind == Step::Kind::nfkc;
  });
}

std::string_view Normalizer::apply(std::string_view text, std::string& hold, bool prepends) const {
  for (const auto& step : steps_) {
    if (text.empty()) return text;
    if (step.kind == Step::Kind::nfc) {
      text = nfc(text, hold);
    } else if (step.kind == Step::Kind::nfkc) {
      text = nfkc(text, hold);
    } else if (step.kind == Step::Kind::prepend) {
      if (!prepends) continue;
      hold = step.to + std::string(text);
      text = hold;
    } else if (text.find(step.from) != std::string_view::npos) {
      hold = replace_all(text, step.from, step.to);
      text = hold;
    }
  }
  return text;
}

}  // namespace evenkeel::tokenizer
