// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "evenkeel/tokenizer/code_set.h"
#include "evenkeel/tokenizer/metaspace.h"
#include "evenkeel/tokenizer/tokenizer_json.h"
#include "evenkeel/tokenizer/utf8_decode.h"

namespace evenkeel::tokenizer {

namespace {

/// A regular expression that matches exactly `text`.
std::string escaped(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, length] = decode_utf8(text.data() + at);
    out += CodeSet({{code, code}}).class_text();
    at += length;
  }
  return out;
}

Behavior behavior_of(const Field& field) {
  struct Row {
    const char* name;
    Behavior behavior;
  };
  static constexpr std::array<Row, 5> kRows = {
      {{"Removed", Behavior::removed},
       {"Isolated", Behavior::isolated},
       {"MergedWithPrevious", Behavior::merged_with_previous},
       {"MergedWithNext", Behavior::merged_with_next},
       {"Contiguous", Behavior::contiguous}}};
  const auto& name = field.string();
  for (const auto& each : kRows) {
    if (name == each.name) return each.behavior;
  }
  field.refuse_value("Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

/// A Split whose matches the WordPattern finds, if there is one.
Split split_at(const std::string& pattern, const std::string& where, Behavior behavior,
               bool invert) {
  Split out{Regex(pattern, Syntax::ruby, where), std::nullopt, behavior, invert};
  const bool keeps_matches =
      behavior == Behavior::isolated || (behavior == Behavior::removed && invert);
  if (keeps_matches) out.words = WordPattern::of(pattern, Syntax::ruby);
  return out;
}

Split split_of(const Field& field) {
  const auto pattern = field["pattern"];
  const auto regex = pattern["Regex"], text = pattern["String"];
  if (regex.is_null() && text.is_null())
    pattern.refuse_value("{\"Regex\": ...} or {\"String\": ...}");
  const auto& used = regex.is_null() ? text : regex;
  if (used.string().empty()) used.refuse_value("a pattern that is not empty");
  return split_at(regex.is_null() ? escaped(text.string()) : regex.string(), used.where(),
                  behavior_of(field["behavior"]), field["invert"].flag(false));
}

PreTokenizerStep byte_level_of(const Field& field) {
  PreTokenizerStep step;
  if (field["add_prefix_space"].flag(true)) step.prefix = Prefix{" ", Prefix::Scheme::always};
  if (field["use_regex"].flag(true)) {
    step.split = split_at(std::string(kGpt2Pattern), field.where(), Behavior::isolated, false);
  }
  return step;
}

/// A metaspace: U+2581, or another character that the file names.
PreTokenizerStep metaspace_of(const Field& field) {
  PreTokenizerStep step;
  if (field["replacement"].string() != kMetaspace) {
    field["replacement"].refuse_value("\"\xe2\x96\x81\" (U+2581)");
  }
  step.replace_spaces = kMetaspace;
  const auto named = field["prepend_scheme"];
  const auto scheme = !named.is_null()                       ? named.string()
                      : field["add_prefix_space"].flag(true) ? std::string("always")
                                                             : std::string("never");
  if (scheme == "always") {
    step.prefix = Prefix{kMetaspace, Prefix::Scheme::always};
  } else if (scheme == "first") {
    step.prefix = Prefix{kMetaspace, Prefix::Scheme::first};
  } else if (scheme != "never") {
    named.refuse_value("always, first or never");
  }
  if (field["split"].flag(true)) {
    step.split = split_at(escaped(kMetaspace), field.where(), Behavior::merged_with_next, false);
  }
  return step;
}

/// Adds the steps of a pre-tokenizer. \return whether it ends in ByteLevel
bool add_steps(const Field& field, bool after_byte_level, PreTokenizer& out) {
  const auto& type = field.type();
  if (after_byte_level) field["type"].refuse_value("no step after ByteLevel");
  if (type == "Sequence") {
    const auto parts = field["pretokenizers"];
    const auto count = parts.size_of("array");
    bool is_byte_level = false;
    for (std::size_t at = 0; at < count; ++at) {
      is_byte_level = add_steps(parts[at], is_byte_level, out);
    }
    return is_byte_level;
  }
  if (type == "ByteLevel") {
    out.add(byte_level_of(field));
    return true;
  }
  if (type == "Split") {
    out.add({{}, std::nullopt, split_of(field)});
  } else if (type == "Digits") {
    const bool individual = field["individual_digits"].flag(false);
    out.add(
        {{},
         std::nullopt,
         split_at(individual ? "\\p{N}" : "\\p{N}+", field.where(), Behavior::isolated, false)});
  } else if (type == "Metaspace") {
    out.add(metaspace_of(field));
  } else {
    field["type"].refuse_value("ByteLevel, Split, Digits, Metaspace or Sequence");
  }
  return false;
}

Normalizer::Step replace_of(const Field& field) {
  const auto from = field["pattern"]["String"];
  if (from.is_null()) field["pattern"].refuse_value("{\"String\": ...}");
  if (from.string().empty()) from.refuse_value("a text that is not empty");
  return {Normalizer::Step::Kind::replace, from.string(), field["content"].string()};
}

void read_decoder_step(const Field& field, Decoder& out) {
  const auto& type = field.type();
  if (type == "Sequence") {
    const auto parts = field["decoders"];
    const auto count = parts.size_of("array");
    for (std::size_t at = 0; at < count; ++at) read_decoder_step(parts[at], out);
  } else if (type == "Replace") {
    const auto step = replace_of(field);
    if (step.from != kMetaspace || step.to != " ") {
      field.refuse_value("a replacement of U+2581 by a space");
    }
    out.metaspace_to_space = true;
  } else if (type == "Strip") {
    const bool is_space = field["content"].string() == " ";
    if (!is_space || field["start"].number() > 1 || field["stop"].number() != 0) {
      field.refuse_value("of one space at the start");
    }
    out.strips_first_space = field["start"].number() == 1;
  } else if (type == "Metaspace") {
    out.metaspace_to_space = true;
    PreTokenizerStep step = metaspace_of(field);
    out.strips_first_space = step.prefix.has_value();
  } else if (type != "ByteFallback" && type != "Fuse") {
    field["type"].refuse_value("Replace, ByteFallback, Fuse, Strip, Metaspace or Sequence");
  }
}

/// Adds what undoes a normalizer or pre-tokenizer that writes U+2581 for a space.
void add_inverse(const Field& field, Decoder& out) {
  if (field.is_null()) return;
  const auto& type = field.type();
  if (type == "Sequence") {
    const auto parts =
        field["normalizers"].is_null() ? field["pretokenizers"] : field["normalizers"];
    const auto count = parts.size_of("array");
    for (std::size_t at = 0; at < count; ++at) add_inverse(parts[at], out);
  } else if (type == "Replace") {
    const auto step = replace_of(field);
    if (step.from == " " && step.to == kMetaspace) out.metaspace_to_space = true;
  } else if (type == "Prepend") {
    if (field["prepend"].string() == kMetaspace) out.strips_first_space = true;
  } else if (type == "Metaspace") {
    out.metaspace_to_space = true;
    if (metaspace_of(field).prefix) out.strips_first_space = true;
  }
}

}  // namespace

void read_normalizer(const Field& field, Normalizer& out) {
  if (field.is_null()) return;
  using Kind = Normalizer::Step::Kind;
  const auto& type = field.type();
  if (type == "Sequence") {
    const auto parts = field["normalizers"];
    const auto count = parts.size_of("array");
    for (std::size_t at = 0; at < count; ++at) read_normalizer(parts[at], out);
  } else if (type == "NFC") {
    out.add({Kind::nfc, {}, {}});
  } else if (type == "NFKC") {
    out.add({Kind::nfkc, {}, {}});
  } else if (type == "Prepend") {
    out.add({Kind::prepend, {}, field["prepend"].string()});
  } else if (type == "Replace") {
    out.add(replace_of(field));
  } else {
    field["type"].refuse_value("NFC, NFKC, Replace, Prepend or Sequence");
  }
}

bool read_pre_tokenizer(const Field& field, PreTokenizer& out) {
  return !field.is_null() && add_steps(field, false, out);
}

Decoder read_decoder(const Field& field) {
  Decoder out;
  if (!field.is_null()) read_decoder_step(field, out);
  return out;
}

Decoder inverse_of(const Field& normalizer, const Field& pre_tokenizer) {
  Decoder out;
  add_inverse(normalizer, out);
  add_inverse(pre_tokenizer, out);
  return out;
}

}  // namespace evenkeel::tokenizer
