// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/toml_depth.h"

#include <algorithm>
#include <string>
#include <vector>

namespace evenkeel::config {

namespace {

/// Reads a TOML text from its begin to its end, without recursion, and measures the depth.
class DepthScanner {
 public:
  DepthScanner(std::int64_t limit, std::string_view toml) : limit_(limit), toml_(toml) {}

  std::optional<std::int64_t> first_line_beyond_limit() {
    std::int64_t table = 0;  // the depth of the table that the last header names
    take("\xef\xbb\xbf");    // byte order mark
    for (skip_blank(); !at_end() && !is_too_deep_; skip_blank()) {
      const auto begin = at_;
      if (peek() == '[') {
        table = header();
      } else {
        pair(table);
      }
      if (at_ == begin) ++at_;  // not TOML
    }
    if (!is_too_deep_) return std::nullopt;
    return 1 + std::count(toml_.begin(), toml_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
  }

 private:
  /// A list or inline table that is not closed yet, and its own depth.
  struct Open {
    bool is_table;
    std::int64_t depth;
  };

  bool at_end() const { return at_ >= toml_.size(); }
  char peek() const { return toml_[at_]; }
  void advance(std::size_t count) { at_ = std::min(at_ + count, toml_.size()); }

  bool take(std::string_view expected) {
    if (!toml_.substr(at_).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }

  void skip_until(std::string_view ends) {
    at_ = std::min(toml_.find_first_of(ends, at_), toml_.size());
  }
  void skip(std::string_view letters) {
    at_ = std::min(toml_.find_first_not_of(letters, at_), toml_.size());
  }
  void skip_space() { skip(" \t"); }

  /// Skips spaces, line ends and comments.
  void skip_blank() {
    for (skip(" \t\r\n"); !at_end() && peek() == '#'; skip(" \t\r\n")) skip_until("\n");
  }

  void note(std::int64_t depth) { is_too_deep_ = is_too_deep_ || depth > limit_; }

  /// Skips a string of any of the four kinds.
  void string() {
    const char quote = peek();
    const bool is_multi_line = take(std::string(3, quote));
    if (!is_multi_line) advance(1);
    while (!at_end()) {
      const char each = peek();
      if (each == '\\' && quote == '"') {
        advance(2);
      } else if (each == '\n' && !is_multi_line) {
        return;  // not TOML
      } else if (each != quote) {
        advance(1);
      } else if (!is_multi_line) {
        return advance(1);
      } else {  // up to two quotes may precede the three that end the string
        const auto run = std::min(toml_.find_first_not_of(quote, at_), toml_.size()) - at_;
        advance(std::min<std::size_t>(run, 5));
        if (run >= 3) return;
      }
    }
  }

  /// Skips a dotted key. \return the number of its parts
  std::int64_t key() {
    constexpr std::string_view kBare =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    std::int64_t parts = 0;
    do {
      skip_space();
      const auto begin = at_;
      if (at_end()) return parts;
      if (peek() == '"' || peek() == '\'') {
        string();
      } else {
        skip(kBare);
      }
      if (at_ > begin) ++parts;
      skip_space();
    } while (take("."));
    return parts;
  }

  /// Skips "[a.b]" or "[[a.b]]". \return the depth of the table
  std::int64_t header() {
    const bool is_of_list = take("[[");
    if (!is_of_list) advance(1);
    const auto depth = key() + (is_of_list ? 1 : 0);
    note(depth);
    take(is_of_list ? "]]" : "]");
    return depth;
  }

  /// Skips "a.b = VALUE" in a table of this depth.
  void pair(std::int64_t table) {
    const auto depth = table + key();
    note(depth);
    if (take("=")) value(depth);
  }

  /// Skips a value, with all lists and inline tables inside it.
  void value(std::int64_t depth) {
    std::vector<Open> open;
    while (!is_too_deep_) {
      open.empty() ? skip_space() : skip_blank();
      if (at_end()) return;
      const char each = peek();
      if (each == '[' || each == '{') {
        note(depth);
        open.push_back({each == '{', depth});
        depth = next_item(open.back());
      } else if (!open.empty() && each == ',') {
        depth = next_item(open.back());
      } else if (!open.empty() && (each == ']' || each == '}')) {
        advance(1);
        open.pop_back();
      } else {
        note(depth);
        scalar();
      }
      if (open.empty()) return;
    }
  }

  /// Skips the bracket or comma before an item, and the key of an item of an inline table.
  /// \return the depth of the item
  std::int64_t next_item(const Open& container) {
    advance(1);
    if (!container.is_table) return container.depth + 1;
    skip_blank();
    const auto depth = container.depth + key();
    note(depth);
    take("=");
    return depth;
  }

  /// Skips a string, number, boolean or date.
  void scalar() {
    if (peek() == '"' || peek() == '\'') return string();
    const auto begin = at_;
    skip_until(",]}#\n");
    if (at_ == begin) advance(1);  // not TOML
  }

  std::int64_t limit_;
  std::string_view toml_;
  std::size_t at_ = 0;
  bool is_too_deep_ = false;
};

}  // namespace

std::optional<std::int64_t> first_line_deeper_than(std::int64_t limit, std::string_view toml) {
  return DepthScanner(limit, toml).first_line_beyond_limit();
}

}  // namespace evenkeel::config
