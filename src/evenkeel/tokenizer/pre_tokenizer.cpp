// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/pre_tokenizer.h"

#include <algorithm>

#include "evenkeel/tokenizer/utf8_decode.h"

namespace evenkeel::tokenizer {

namespace {

using Span = PreTokenizer::Span;
using Spans = std::vector<Span>;

/// The matches and what is between them. A match may be empty, but not at the end of the last one.
Spans matches_of(const Regex& regex, std::string_view text, Regex::Scratch& scratch) {
  Spans out;
  std::size_t end = 0, from = 0;
  bool has_match = false;
  while (from <= text.size()) {
    const auto match = regex.find(text, from, scratch);
    if (!match) break;
    if (match->begin == match->end && has_match && match->end == end) {
      from += from < text.size() ? decode_utf8(text.data() + from).length : 1;
      continue;
    }
    if (match->begin > end) out.push_back({end, match->begin, false});
    out.push_back({match->begin, match->end, true});
    end = from = match->end;
    has_match = true;
  }
  if (end < text.size()) out.push_back({end, text.size(), false});
  return out;
}

/// Joins a match with the piece before it, unless that is a match, too.
Spans merged_with_previous(const Spans& spans) {
  Spans out;
  bool after_match = false;
  for (const auto& each : spans) {
    if (each.is_match && !after_match && !out.empty()) {
      out.back().end = each.end;
    } else {
      out.push_back(each);
    }
    after_match = each.is_match;
  }
  return out;
}

Spans merged_with_next(const Spans& spans) {
  Spans out;
  bool before_match = false;
  for (auto each = spans.rbegin(); each != spans.rend(); ++each) {
    if (each->is_match && !before_match && !out.empty()) {
      out.back().begin = each->begin;
    } else {
      out.push_back(*each);
    }
    before_match = each->is_match;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

/// Joins neighbors that are both matches, or both none.
Spans contiguous(const Spans& spans) {
  Spans out;
  bool was_match = false;
  for (const auto& each : spans) {
    if (each.is_match == was_match && !out.empty()) {
      out.back().end = each.end;
    } else {
      out.push_back(each);
    }
    was_match = each.is_match;
  }
  return out;
}

}  // namespace

LineCut PreTokenizer::line_cut() const {
  const auto changes_text = [](const PreTokenizerStep& step) {
    return step.prefix || !step.replace_spaces.empty();
  };
  if (std::any_of(steps_.begin(), steps_.end(), changes_text)) return LineCut::unknown;
  const bool has_words = !steps_.empty() && steps_.front().split && steps_.front().split->words;
  return has_words ? steps_.front().split->words->line_cut() : LineCut::unknown;
}

Spans PreTokenizer::pieces(const Split& split, std::string_view text, Scratch& scratch) {
  auto spans = matches_of(split.regex, text, scratch.regex);
  for (auto& each : spans) each.is_match = each.is_match != split.invert;
  switch (split.behavior) {
    case Behavior::removed:
      std::erase_if(spans, [](const Span& each) { return each.is_match; });
      return spans;
    case Behavior::isolated:
      return spans;
    case Behavior::merged_with_previous:
      return merged_with_previous(spans);
    case Behavior::merged_with_next:
      return merged_with_next(spans);
    case Behavior::contiguous:
      return contiguous(spans);
  }
  return spans;
}

bool PreTokenizer::changes(const PreTokenizerStep& step, std::string_view text, Begin place,
                           std::string& changed) {
  bool is_changed = false;
  if (!step.replace_spaces.empty() && text.find(' ') != std::string_view::npos) {
    for (const char each : text) {
      each == ' ' ? void(changed += step.replace_spaces) : void(changed += each);
    }
    is_changed = true;
  }
  if (!step.prefix) return is_changed;
  const auto now = is_changed ? std::string_view(changed) : text;
  const bool applies = place == Begin::text ||
                       (place == Begin::inside && step.prefix->scheme == Prefix::Scheme::always);
  if (!applies || now.starts_with(step.prefix->text)) return is_changed;
  changed = step.prefix->text + std::string(now);
  return true;
}

}  // namespace evenkeel::tokenizer
