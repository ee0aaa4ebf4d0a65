// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/layer_switches.h"

#include <algorithm>
#include <charconv>

#include "evenkeel/base/error.h"

namespace evenkeel::convert {

namespace {

constexpr const char* kSwitchForm =
    "a dict of layers such as _{0:{'attn_norm':True,'ffn_residual':False}}_";

/// Reads the literal from left to right.
class SwitchReader {
 public:
  SwitchReader(std::string_view literal, const std::string& where)
      : literal_(literal), where_(where) {}

  std::vector<LayerPatch> patches() {
    std::vector<LayerPatch> out;
    wants('_');
    wants('{');
    while (!takes('}')) {
      LayerPatch patch;
      patch.layers = layers();
      wants(':');
      patch.values = values();
      out.push_back(std::move(patch));
      if (takes(',')) continue;
      wants('}');
      break;
    }
    wants('_');
    skip_spaces();
    if (at_ < literal_.size()) refuse();
    return out;
  }

 private:
  [[noreturn]] void refuse() const {
    throw Error(Exit::data,
                text(where_, " must be ", kSwitchForm, ", but is not at character ", at_ + 1));
  }

  void skip_spaces() {
    while (at_ < literal_.size() && literal_[at_] == ' ') ++at_;
  }
  bool takes(char wanted) {
    skip_spaces();
    if (at_ >= literal_.size() || literal_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void wants(char wanted) {
    if (!takes(wanted)) refuse();
  }

  std::int64_t layer() {
    skip_spaces();
    std::int64_t value = 0;
    const auto* const begin = literal_.data() + at_;
    const auto result = std::from_chars(begin, literal_.data() + literal_.size(), value);
    if (result.ec != std::errc() || value < 0) refuse();
    at_ += static_cast<std::size_t>(result.ptr - begin);
    return value;
  }

  /// A number, or a tuple of numbers.
  std::vector<std::int64_t> layers() {
    if (!takes('(')) return {layer()};
    std::vector<std::int64_t> out;
    while (!takes(')')) {
      out.push_back(layer());
      if (takes(',')) continue;
      wants(')');
      break;
    }
    if (out.empty()) refuse();
    return out;
  }

  std::map<std::string, bool> values() {
    std::map<std::string, bool> out;
    wants('{');
    while (!takes('}')) {
      const auto name = word();
      wants(':');
      out[name] = truth();
      if (takes(',')) continue;
      wants('}');
      break;
    }
    return out;
  }

  /// The name of a switch in quotes.
  std::string word() {
    skip_spaces();
    const char quote = at_ < literal_.size() ? literal_[at_] : '\0';
    if (quote != '\'' && quote != '"') refuse();
    const auto end = literal_.find(quote, at_ + 1);
    if (end == std::string_view::npos) refuse();
    std::string name(literal_.substr(at_ + 1, end - at_ - 1));
    const std::vector<std::string> known = {"attn_norm", "attn_residual", "ffn_norm",
                                            "ffn_residual"};
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw Error(Exit::data, text(where_, ": unknown switch \"", name,
                                   "\"; known: attn_norm, attn_residual, ffn_norm, ffn_residual"));
    }
    at_ = end + 1;
    return name;
  }

  bool truth() {
    skip_spaces();
    for (const bool value : {true, false}) {
      const std::string_view name = value ? "True" : "False";
      if (literal_.substr(at_).starts_with(name)) {
        at_ += name.size();
        return value;
      }
    }
    refuse();
  }

  std::string_view literal_;
  const std::string& where_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<LayerPatch> parse_layer_switches(std::string_view literal, const std::string& where) {
  if (literal.empty()) return {};
  return SwitchReader(literal, where).patches();
}

std::vector<LayerSwitches> switches_of_layers(const LayerSwitches& all,
                                              const std::vector<LayerPatch>& patches,
                                              std::int64_t layers, const std::string& where) {
  std::vector<LayerSwitches> out(static_cast<std::size_t>(layers), all);
  for (const auto& patch : patches) {
    for (const auto layer : patch.layers) {
      if (layer >= layers) {
        throw Error(Exit::data, text(where, ": layer ", layer, " must be below model.n_layers (",
                                     layers, "); layers are counted from 0"));
      }
      auto& own = out[static_cast<std::size_t>(layer)];
      for (const auto& [name, value] : patch.values) {
        if (name == "attn_norm") own.attn_norm = value;
        if (name == "attn_residual") own.attn_residual = value;
        if (name == "ffn_norm") own.ffn_norm = value;
        if (name == "ffn_residual") own.ffn_residual = value;
      }
    }
  }
  return out;
}

}  // namespace evenkeel::convert
