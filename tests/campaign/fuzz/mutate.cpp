// SPDX-License-Identifier: Apache-2.0
#include "mutate.h"

#include <nlohmann/json.hpp>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "evenkeel/base/digest.h"
#include "evenkeel/base/error.h"
#include "evenkeel/data/gzip.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace evenkeel::campaign {

namespace {

using nlohmann::json;

/// Values at the limits of numbers, strings, tables and encodings.
const std::vector<std::string> kValues = {"0",
                                          "-1",
                                          "1.5",
                                          "1e308",
                                          "-1e308",
                                          "5e-324",
                                          "1e400",
                                          "nan",
                                          "-inf",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "18446744073709551616",
                                          "4294967296",
                                          "16777216",
                                          "0x7f",
                                          "1_000",
                                          "null",
                                          "true",
                                          "[]",
                                          "{}",
                                          "\"\"",
                                          "\"x\"",
                                          "'''",
                                          "\"\"\"",
                                          "\"\\u0000\"",
                                          "\"\\ud800\"",
                                          "\xff",
                                          "\xc0\x80",
                                          "\xed\xa0\x80",
                                          "\x1b[2J",
                                          "\xc2\x9b",
                                          "../../x",
                                          "<script>",
                                          "1979-05-27T07:32:00Z",
                                          "\"5%\"",
                                          "\"100Mt\"",
                                          "\"auto\"",
                                          "\"all\"",
                                          "1/0",
                                          "ln(0)",
                                          "sqrt(-1)",
                                          "(-1)^0.5",
                                          "2^2^2^9"};

/// Words of the formats.
const std::vector<std::string> kWords = {"[",
                                         "]",
                                         "{",
                                         "}",
                                         "[[",
                                         "]]",
                                         "=",
                                         ":",
                                         ",",
                                         ".",
                                         "#",
                                         "\n",
                                         "\\",
                                         "\"a\".\"b\".",
                                         "a.b.c.d",
                                         "extends",
                                         "norm = ",
                                         "layers",
                                         "attention = ",
                                         "feed_forward = ",
                                         "input = ",
                                         "\"rms_norm\"",
                                         "\"none\"",
                                         "[[layers]]",
                                         "[grid]",
                                         "[[claims]]",
                                         "[measure]",
                                         "seeds = ",
                                         "\"step\":",
                                         "\"loss\":",
                                         "\"val_loss\":",
                                         "\"text\":",
                                         "\"shape\":[1]",
                                         "\"dtype\":\"F32\"",
                                         "\"data_offsets\":[0,4]",
                                         "__metadata__",
                                         "sqrt(",
                                         "min(",
                                         "l",
                                         "N",
                                         "t",
                                         "^",
                                         "/",
                                         "*",
                                         "-"};

/// Random choices that depend on one seed.
class Chance {
 public:
  explicit Chance(std::uint32_t seed) : random_(seed) {}
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }
  const std::string& of(const std::vector<std::string>& list) { return list[below(list.size())]; }

 private:
  std::mt19937 random_;
};

/// A change of bytes by libFuzzer.
std::string with_other_bytes(std::string input, std::size_t most) {
  const auto size = std::min(input.size(), most);
  input.resize(most);
  input.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(input.data()), size, most));
  return input;
}

/// The positions after one of these characters.
std::vector<std::size_t> places_after(const std::string& text, const char* characters) {
  std::vector<std::size_t> places;
  for (auto at = text.find_first_of(characters); at != std::string::npos;
       at = text.find_first_of(characters, at + 1)) {
    places.push_back(at + 1);
  }
  return places;
}

/// Replaces a value, after = or : or in a list, by `by`.
void replace_value(std::string& text, Chance& chance, const std::string& by) {
  const auto places = places_after(text, "=:[,");
  if (places.empty()) return;
  const auto at = places[chance.below(places.size())];
  text.replace(at, std::min(text.find_first_of(",]}\n", at), text.size()) - at, by);
}

/// A value inside many brackets, or a key of many parts; a quarter of them thousands of levels
/// deep.
std::string deep(Chance& chance) {
  constexpr std::size_t kShallow = 100, kDeep = 15000;
  const std::array<std::string, 5> opens = {"[", "{\"a\":", "{a=", "a.", "\"a\"."};
  const std::array<std::string, 5> closes = {"]", "}", "}", "", ""};
  const auto kind = chance.below(opens.size());
  const auto depth = chance.below(chance.below(4) == 0 ? kDeep : kShallow);
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += opens.at(kind);
  text += closes.at(kind).empty() ? "a = 1\n" : "1";
  for (std::size_t i = 0; i < depth; ++i) text += closes.at(kind);
  return text;
}

/// Puts a deep value in place of a value, or a deep key at the start of a line.
void nest(std::string& text, Chance& chance) {
  const auto value = deep(chance);
  if (!value.ends_with('\n')) return replace_value(text, chance, value);
  const auto lines = places_after(text, "\n");
  text.insert(lines.empty() ? 0 : lines[chance.below(lines.size())], value);
}

/// Copies, moves or removes a line.
void change_lines(std::string& text, Chance& chance) {
  const auto lines = places_after(text, "\n");
  if (lines.size() < 2) return;
  const auto from = lines[chance.below(lines.size() - 1)];
  const auto line = text.substr(from, text.find('\n', from) + 1 - from);
  if (chance.below(2) == 0) text.erase(from, line.size());
  if (chance.below(3) != 0)
    text.insert(chance.below(2) == 0 ? 0 : std::min(lines.back(), text.size()), line);
}

/// One change that keeps most of the structure of a text.
std::string with_other_text(std::string text, Chance& chance, std::size_t most) {
  switch (chance.below(8)) {
    case 0:
    case 1:
      replace_value(text, chance, chance.of(kValues));
      break;
    case 2:
      text.insert(chance.below(text.size() + 1), chance.of(kWords));
      break;
    case 3:
      text.insert(chance.below(text.size() + 1), chance.of(kValues));
      break;
    case 4:
      change_lines(text, chance);
      break;
    case 5:
      if (chance.below(4) == 0) nest(text, chance);
      break;
    case 6: {
      const auto at = chance.below(text.size() + 1);
      text.insert(chance.below(text.size() + 1), text.substr(at, 1 + chance.below(60)));
      break;
    }
    default:
      return with_other_bytes(std::move(text), most);
  }
  return text;
}

std::string gzipped(const std::string& text) {
  constexpr int kGzip = 31;
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return text;
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// The content of a gzip file; nullopt if it is damaged, or larger than `most`.
std::optional<std::string> gunzipped(std::string_view packed, std::size_t most) {
  data::GzipDecoder decoder;
  std::string out(most, '\0');
  std::size_t size = 0;
  while (size < most) {
    const bool is_last = packed.empty();
    const auto some = decoder.decode(packed, out.data() + size, most - size);
    if (some.failure != data::DecodeFailure::none) return std::nullopt;
    size += some.written;
    if (!is_last || some.written > 0) continue;
    if (!decoder.may_end()) return std::nullopt;
    out.resize(size);
    return out;
  }
  return std::nullopt;
}

std::string with_other_content(const std::string& input, Chance& chance, std::size_t most) {
  if (data::compression_of(input) != data::Compression::gzip) {
    return gzipped(with_other_text(input, chance, most));
  }
  const auto content = gunzipped(input, std::size_t{16} * most);
  return content ? gzipped(with_other_text(*content, chance, most)) : with_other_bytes(input, most);
}

/// The header of a safetensors file, with its length.
std::string with_other_header(const std::string& input, Chance& chance, std::size_t most) {
  std::uint64_t size = 0;
  if (input.size() < sizeof size) return with_other_bytes(input, most);
  std::memcpy(&size, input.data(), sizeof size);
  size = std::min<std::uint64_t>(size, input.size() - sizeof size);
  const auto header = with_other_text(input.substr(sizeof size, size), chance, most);
  const std::uint64_t length = header.size();
  std::string out(sizeof length, '\0');
  std::memcpy(out.data(), &length, sizeof length);
  return out + header + input.substr(sizeof size + size);
}

/// A value somewhere inside a JSON value.
json& part_of(json& value, Chance& chance) {
  if (!value.is_structured() || value.empty() || chance.below(6) == 0) return value;
  return part_of(*std::next(value.begin(), static_cast<std::ptrdiff_t>(chance.below(value.size()))),
                 chance);
}

/// A manifest with another value and the digest that fits.
std::string with_other_entry(const std::string& input, Chance& chance, std::size_t most) {
  auto manifest = json::parse(input, nullptr, false);
  if (!manifest.is_object()) return with_other_bytes(input, most);
  const auto value = json::parse(chance.of(kValues), nullptr, false);
  auto& part = part_of(manifest, chance);
  if (part.is_object() && chance.below(2) == 0 && !part.empty()) {
    part.erase(part.begin());
  } else {
    part = value.is_discarded() ? json("x") : value;
  }
  if (!manifest.is_object()) return with_other_bytes(input, most);
  manifest["root_digest"] = std::string(32, '0');
  const auto text_of = [](const json& each) {
    return each.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
  };
  const auto text = text_of(manifest);
  manifest["root_digest"] = evenkeel::digest(text.data(), text.size());
  return text_of(manifest);
}

std::string changed(Grammar grammar, const std::string& input, Chance& chance, std::size_t most) {
  if (chance.below(8) == 0) return with_other_bytes(input, most);
  switch (grammar) {
    case Grammar::gzip:
      return with_other_content(input, chance, most);
    case Grammar::safetensors:
      return with_other_header(input, chance, most);
    case Grammar::manifest:
      return with_other_entry(input, chance, most);
    case Grammar::binary:
      return with_other_bytes(input, most);
    default:
      return with_other_text(input, chance, most);
  }
}

}  // namespace

std::string mutated(Grammar grammar, const std::string& input, std::uint32_t seed,
                    std::size_t most) {
  Chance chance(seed);
  auto out = input;
  for (auto times = 1 + chance.below(3); times > 0; --times) {
    out = changed(grammar, out, chance, most);
    if (out.size() > most) out.resize(most);
  }
  return out;
}

}  // namespace evenkeel::campaign
