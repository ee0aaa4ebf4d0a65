// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/yaml_document.h"

#include <yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "evenkeel/base/error.h"
#include "evenkeel/base/json_parser.h"

namespace evenkeel::convert {

namespace {

using Json = nlohmann::ordered_json;

bool is_yaml_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The word without '_', which YAML 1.1 permits between digits.
std::string without_underscores(std::string_view word) {
  std::string out(word);
  std::erase(out, '_');
  return out;
}

/// A decimal integer; nullopt for another form, a leading zero included (YAML 1.1: octal).
std::optional<std::int64_t> yaml_integer(std::string_view word) {
  const auto digits = word.substr(word.starts_with('-') || word.starts_with('+') ? 1 : 0);
  if (digits.empty() || !is_yaml_digit(digits.front())) return std::nullopt;
  if (digits.size() > 1 && digits.front() == '0') return std::nullopt;
  const bool has_digits = std::all_of(digits.begin(), digits.end(),
                                      [](char c) { return is_yaml_digit(c) || c == '_'; });
  if (!has_digits) return std::nullopt;
  auto plain = without_underscores(word);
  if (plain.starts_with('+')) plain.erase(0, 1);
  std::int64_t value = 0;
  const auto* const end = plain.data() + plain.size();
  const auto result = std::from_chars(plain.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

/// A finite number with a point or an exponent, as OmegaConf reads it: "1e12", ".5", "3.".
std::optional<double> yaml_number(std::string_view word) {
  auto plain = without_underscores(word);
  if (plain.starts_with('+')) plain.erase(0, 1);
  const std::size_t sign = plain.starts_with('-') ? 1 : 0;
  if (plain.find_first_of(".eE") == std::string::npos) return std::nullopt;
  const bool has_digit = std::any_of(plain.begin(), plain.end(), is_yaml_digit);
  const bool begins = sign < plain.size() && (is_yaml_digit(plain[sign]) || plain[sign] == '.');
  if (!has_digit || !begins) return std::nullopt;
  double value = 0;
  const auto* const end = plain.data() + plain.size();
  const auto result = std::from_chars(plain.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// The value of a scalar without quotes.
Json plain_value(const std::string& word) {
  constexpr std::array kNull = {"", "~", "null", "Null", "NULL"};
  constexpr std::array kTrue = {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"};
  constexpr std::array kFalse = {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"};
  const auto is_one_of = [&](const auto& words) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  if (is_one_of(kNull)) return nullptr;
  if (is_one_of(kTrue)) return true;
  if (is_one_of(kFalse)) return false;
  if (const auto whole = yaml_integer(word)) return *whole;
  if (const auto number = yaml_number(word)) return *number;
  return word;
}

/// One event of libyaml.
class YamlEvent {
 public:
  YamlEvent() = default;
  YamlEvent(const YamlEvent&) = delete;
  YamlEvent& operator=(const YamlEvent&) = delete;
  YamlEvent(YamlEvent&&) = delete;
  YamlEvent& operator=(YamlEvent&&) = delete;
  ~YamlEvent() { clear(); }

  void clear() {
    if (is_filled_) yaml_event_delete(&event_);
    is_filled_ = false;
  }
  bool read(yaml_parser_t& parser) {
    clear();
    is_filled_ = yaml_parser_parse(&parser, &event_) != 0;
    return is_filled_;
  }
  const yaml_event_t& get() const { return event_; }

 private:
  yaml_event_t event_ = {};
  bool is_filled_ = false;
};

/// Reads the events of one document.
class YamlReader {
 public:
  YamlReader(std::string_view yaml, const std::string& name) : name_(name) {
    EK_ASSERT(yaml_parser_initialize(&parser_) != 0);
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    // libyaml wants unsigned char; the bytes are the same.
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(yaml.data()),
                                 yaml.size());
  }
  YamlReader(const YamlReader&) = delete;
  YamlReader& operator=(const YamlReader&) = delete;
  YamlReader(YamlReader&&) = delete;
  YamlReader& operator=(YamlReader&&) = delete;
  ~YamlReader() { yaml_parser_delete(&parser_); }

  std::vector<YamlEntry> entries() {
    open();
    if (event_.get().type != YAML_MAPPING_START_EVENT)
      refuse("must be a table of keys, but is not");
    std::vector<YamlEntry> out;
    read_table("", out, 1);
    close();
    return out;
  }

  Json value() {
    open();
    auto out = read_value(1);
    close();
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(Exit::data, text(name_, ":", event_.get().start_mark.line + 1, ": ", what));
  }

  void next() {
    if (!event_.read(parser_)) {
      const auto line = std::max(parser_.problem_mark.line, parser_.context_mark.line) + 1;
      throw Error(Exit::data, text(name_, ":", line, ": must be YAML, but ",
                                   parser_.problem ? parser_.problem : "is not"));
    }
    if (event_.get().type == YAML_ALIAS_EVENT) {
      refuse("aliases (*name) are not read; write the value itself");
    }
  }

  /// Goes to the first node.
  void open() {
    next();  // the start of the stream
    next();
    if (event_.get().type == YAML_STREAM_END_EVENT) refuse("must be YAML, but is empty");
    next();
  }

  void close() {
    next();  // the end of the document
    next();
    if (event_.get().type != YAML_STREAM_END_EVENT) refuse("must be one document, but has several");
  }

  void count_node(int depth) {
    if (depth > kMaxDepth)
      refuse(text("must be nested at most ", kMaxDepth, " deep, but is deeper"));
    if (++nodes_ > kMaxYamlNodes) {
      refuse(text("must have at most ", kMaxYamlNodes, " values, but has more"));
    }
  }

  std::string scalar_text() const {
    const auto& scalar = event_.get().data.scalar;
    return {reinterpret_cast<const char*>(scalar.value), scalar.length};
  }

  Json read_scalar() {
    const auto& scalar = event_.get().data.scalar;
    if (scalar.tag != nullptr) refuse("tags (!name) are not read; leave it out");
    auto word = scalar_text();
    return scalar.style == YAML_PLAIN_SCALAR_STYLE ? plain_value(word) : Json(std::move(word));
  }

  /// The value that the current event begins.
  Json read_value(int depth) {
    count_node(depth);
    switch (event_.get().type) {
      case YAML_SCALAR_EVENT:
        return read_scalar();
      case YAML_SEQUENCE_START_EVENT: {
        auto list = Json::array();
        for (next(); event_.get().type != YAML_SEQUENCE_END_EVENT; next()) {
          list.push_back(read_value(depth + 1));
        }
        return list;
      }
      case YAML_MAPPING_START_EVENT: {
        auto table = Json::object();
        for (next(); event_.get().type != YAML_MAPPING_END_EVENT; next()) {
          const auto key = read_key();
          if (table.contains(key)) refuse(text("key \"", key, "\" is there twice"));
          next();
          table[key] = read_value(depth + 1);
        }
        return table;
      }
      default:
        refuse("must be a value, but is not");
    }
  }

  std::string read_key() {
    if (event_.get().type != YAML_SCALAR_EVENT) refuse("a key must be a word, but is not");
    return scalar_text();
  }

  /// The entries of the table that the current event begins.
  void read_table(const std::string& prefix, std::vector<YamlEntry>& out, int depth) {
    count_node(depth);
    std::set<std::string> keys;
    const auto before = out.size();
    for (next(); event_.get().type != YAML_MAPPING_END_EVENT; next()) {
      const auto key = read_key();
      if (!keys.insert(key).second) refuse(text("key \"", key, "\" is there twice"));
      const auto line = event_.get().start_mark.line + 1;
      next();
      if (event_.get().type == YAML_MAPPING_START_EVENT) {
        read_table(text(prefix, key, "."), out, depth + 1);
      } else {
        out.push_back({prefix + key, line, read_value(depth + 1)});
      }
    }
    if (out.size() == before && !prefix.empty()) {
      out.push_back(
          {prefix.substr(0, prefix.size() - 1), event_.get().start_mark.line + 1, Json::object()});
    }
  }

  const std::string& name_;
  yaml_parser_t parser_ = {};
  YamlEvent event_;
  std::size_t nodes_ = 0;
};

}  // namespace

std::vector<YamlEntry> parse_yaml(std::string_view yaml, const std::string& name) {
  return YamlReader(yaml, name).entries();
}

Json parse_yaml_value(std::string_view yaml, const std::string& name) {
  return YamlReader(yaml, name).value();
}

}  // namespace evenkeel::convert
