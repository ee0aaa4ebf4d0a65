// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/regex_syntax.h"

#include <charconv>
#include <optional>

#include "evenkeel/base/printable.h"
#include "evenkeel/tokenizer/code_set.h"
#include "evenkeel/tokenizer/refuse.h"
#include "evenkeel/tokenizer/utf8_decode.h"

namespace evenkeel::tokenizer {

namespace {

constexpr std::size_t kMaxPatternBytes = std::size_t{1} << 16;
constexpr int kMaxGroups = 64;

/// What may follow a backslash and be itself.
constexpr std::string_view kPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ ";

/// Groups that both syntaxes have, longest first.
constexpr std::string_view kGroups[] = {"(?<=", "(?<!", "(?i:", "(?:", "(?=", "(?!", "(?>"};

/// A pass over the pattern that writes its translation.
class Translation {
 public:
  Translation(std::string_view pattern, Syntax syntax, const std::string& where)
      : pattern_(pattern), syntax_(syntax), where_(where) {}

  std::string whole() {
    if (pattern_.size() > kMaxPatternBytes) {
      refuse(where_, "must have at most ", kMaxPatternBytes, " bytes, but has ", pattern_.size());
    }
    alternatives(0, false);
    if (!done()) unsupported(1);
    return out_;
  }

 private:
  bool done() const { return at_ == pattern_.size(); }
  bool next_is(char wanted) const { return !done() && pattern_[at_] == wanted; }

  [[noreturn]] void unsupported(std::size_t bytes) const {
    refuse(where_, "must be a supported regular expression, but has ",
           printable(pattern_.substr(at_, bytes)), " at byte ", at_,
           "; supported: literals, [...], \\p{..} \\s \\S \\d \\D, groups, (?i:...), look-around, "
           "| ^ $ . * + ? {n,m}");
  }

  void alternatives(int depth, bool caseless) {
    if (depth > kMaxGroups) refuse(where_, "groups must be nested at most ", kMaxGroups, " deep");
    while (!done() && pattern_[at_] != ')') {
      if (pattern_[at_] == '|' || pattern_[at_] == '^' || pattern_[at_] == '$') {
        out_ += pattern_[at_++];
        continue;
      }
      const auto begin = out_.size();
      atom(depth, caseless);
      quantifier(begin);
    }
  }

  void atom(int depth, bool caseless) {
    const char first = pattern_[at_];
    if (first == '(') return group(depth, caseless);
    if (first == '[') {
      const auto set = bracket();
      if (caseless && (set.ranges().empty() || set.ranges().back().last >= 0x80)) unsupported(0);
      return set_text(set);
    }
    if (first == '.') {
      ++at_;
      return set_text(CodeSet({{'\n', '\n'}}).complement());
    }
    if (first == '*' || first == '+' || first == '?' || first == '{' || first == '}' ||
        first == ']') {
      unsupported(1);
    }
    if (first == '\\') {
      if (const auto found = class_escape()) {
        if (caseless) unsupported(0);
        return set_text(*found);
      }
    }
    const auto code = character();
    // PCRE2 folds other letters by the Unicode version of the system.
    if (caseless && code >= 0x80) unsupported(0);
    set_text(CodeSet({{code, code}}));
  }

  void group(int depth, bool caseless) {
    for (const auto each : kGroups) {
      if (!pattern_.substr(at_).starts_with(each)) continue;
      out_ += each;
      at_ += each.size();
      return rest_of_group(depth, caseless || each == "(?i:");
    }
    if (pattern_.substr(at_).starts_with("(?")) unsupported(3);
    out_ += "(?:";
    ++at_;
    rest_of_group(depth, caseless);
  }

  void rest_of_group(int depth, bool caseless) {
    alternatives(depth + 1, caseless);
    if (!next_is(')')) refuse(where_, "must be a regular expression, but a \")\" is missing");
    out_ += ')';
    ++at_;
  }

  /// A quantifier of the atom whose translation begins at `begin`.
  void quantifier(std::size_t begin) {
    if (done()) return;
    const char first = pattern_[at_];
    if (first == '*' || first == '+' || first == '?') {
      out_ += first;
      ++at_;
      if (next_is('?') || next_is('+')) out_ += pattern_[at_++];
    } else if (first == '{') {
      braces(begin);
    } else {
      return;
    }
    if (next_is('*') || next_is('+') || next_is('?') || next_is('{')) unsupported(1);
  }

  void braces(std::size_t begin) {
    const auto close = pattern_.find('}', at_);
    if (close == std::string_view::npos) unsupported(1);
    const auto inside = pattern_.substr(at_ + 1, close - at_ - 1);
    const auto comma = inside.find(',');
    const auto low = inside.substr(0, comma);
    const auto high = comma == std::string_view::npos ? low : inside.substr(comma + 1);
    const auto digits = [](std::string_view part) {
      return part.size() <= 4 && part.find_first_not_of("0123456789") == std::string_view::npos;
    };
    if (!digits(low) || !digits(high) || (low.empty() && high.empty())) {
      unsupported(close - at_ + 1);
    }
    out_ += '{';
    out_ += low.empty() ? "0" : low;
    if (comma != std::string_view::npos) out_ += ',';
    if (comma != std::string_view::npos) out_ += high;
    out_ += '}';
    at_ = close + 1;
    const bool is_ruby = syntax_ == Syntax::ruby;
    if (next_is('+') && !is_ruby) {
      out_ += pattern_[at_++];
    } else if (next_is('+')) {  // one or more of the repetition
      out_.insert(begin, "(?:");
      out_ += ")+";
      ++at_;
    } else if (next_is('?')) {
      // In Ruby's syntax an optional repetition.
      if (is_ruby && comma == std::string_view::npos) unsupported(1);
      out_ += pattern_[at_++];
    }
  }

  void set_text(const CodeSet& set) {
    out_ += set.ranges().empty() ? "(?!)" : '[' + set.class_text() + ']';
  }

  /// `[...]`, from its bracket on.
  CodeSet bracket() {
    ++at_;
    const bool negated = next_is('^');
    if (negated) ++at_;
    if (next_is(']')) unsupported(1);
    CodeSet set;
    while (!next_is(']')) {
      if (done()) refuse(where_, "must be a regular expression, but a \"]\" is missing");
      if (pattern_[at_] == '[' || pattern_.substr(at_).starts_with("&&")) unsupported(2);
      if (pattern_[at_] == '\\') {
        if (const auto found = class_escape()) {
          set.add(*found);
          continue;
        }
      }
      const auto first = character();
      auto last = first;
      if (next_is('-') && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']') {
        ++at_;
        if (pattern_[at_] == '[') unsupported(1);
        last = character();
      }
      if (last < first) unsupported(0);
      set.add(CodeSet({{first, last}}));
    }
    ++at_;
    return negated ? set.complement() : set;
  }

  /// `\s`, `\p{..}` and the like at a backslash; nullopt for an escaped character.
  std::optional<CodeSet> class_escape() {
    if (at_ + 1 >= pattern_.size()) unsupported(1);
    const char kind = pattern_[at_ + 1];
    if (kind == 'p' || kind == 'P') return property(kind == 'P');
    if (std::string_view("sSdD").find(kind) == std::string_view::npos) return std::nullopt;
    at_ += 2;
    auto set = kind == 's' || kind == 'S' ? space_set() : *category_set("Nd");
    return kind == 's' || kind == 'd' ? set : set.complement();
  }

  CodeSet property(bool negated) {
    const auto close = pattern_.find('}', at_);
    if (pattern_.substr(at_ + 2, 1) != "{" || close == std::string_view::npos) unsupported(2);
    auto name = pattern_.substr(at_ + 3, close - at_ - 3);
    if (name.starts_with('^')) {
      negated = !negated;
      name.remove_prefix(1);
    }
    const auto set = category_set(name);
    if (!set) unsupported(close - at_ + 1);
    at_ = close + 1;
    return negated ? set->complement() : *set;
  }

  /// A character, escaped or not.
  char32_t character() {
    if (pattern_[at_] != '\\') {
      const auto [code, length] = decode_utf8(pattern_.data() + at_);
      at_ += length;
      return code;
    }
    if (at_ + 1 >= pattern_.size()) unsupported(1);
    const char kind = pattern_[at_ + 1];
    if (kind == 'x' || kind == 'u') return hexadecimal(kind);
    constexpr std::string_view kNames = "tnrfva", kValues = "\t\n\r\f\v\a";
    const auto named = kNames.find(kind);
    if (named == std::string_view::npos && kPunctuation.find(kind) == std::string_view::npos) {
      unsupported(2);
    }
    at_ += 2;
    return static_cast<unsigned char>(named == std::string_view::npos ? kind : kValues[named]);
  }

  /// `\xHH`, `\x{H...}`, `\uHHHH`.
  char32_t hexadecimal(char kind) {
    auto digits = pattern_.substr(at_ + 2, kind == 'u' ? 4 : 2);
    auto end = at_ + 2 + digits.size();
    if (kind == 'x' && digits.starts_with('{')) {
      const auto close = pattern_.find('}', at_);
      if (close == std::string_view::npos) unsupported(3);
      digits = pattern_.substr(at_ + 3, close - at_ - 3);
      end = close + 1;
    }
    std::uint32_t code = 0;
    constexpr int kHexadecimal = 16;
    const char* const start = digits.data();
    const char* const stop = start + digits.size();
    const auto [read, error] = std::from_chars(start, stop, code, kHexadecimal);
    // In Oniguruma \x80 to \xff without braces are bytes, not characters.
    const bool is_byte = kind == 'x' && end == at_ + 4 && code >= 0x80;
    if (digits.empty() || error != std::errc() || read != stop || code > kMaxCodePoint || is_byte) {
      unsupported(end - at_);
    }
    at_ = end;
    return code;
  }

  std::string_view pattern_;
  Syntax syntax_;
  const std::string& where_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string pcre2_pattern(std::string_view pattern, Syntax syntax, const std::string& where) {
  return Translation(pattern, syntax, where).whole();
}

}  // namespace evenkeel::tokenizer
