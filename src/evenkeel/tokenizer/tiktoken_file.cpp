// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/tiktoken_file.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "evenkeel/base/nearest.h"
#include "evenkeel/base/printable.h"
#include "evenkeel/tokenizer/refuse.h"

namespace evenkeel::tokenizer {

namespace {

/// A special token of a known encoding.
struct SpecialAfterRanks {
  const char* text;
  int offset;  // id - number of tokens in the file
};

constexpr std::size_t kAnyRanks = 0;

/// An encoding that people know by a name.
struct Encoding {
  std::vector<std::string> names;
  std::string_view pattern;
  Syntax syntax;
  std::vector<SpecialAfterRanks> specials;
  std::size_t ranks;  // of the file of tiktoken; kAnyRanks: files of this name differ
};

const std::vector<Encoding>& encodings() {
  static const std::vector<Encoding> kEncodings = {
      {{"gpt2", "r50k", "r50k_base"}, kTiktokenGpt2Pattern, Syntax::perl, {{kEndOfText, 0}}, 50256},
      {{"whisper", "multilingual"}, kGpt2Pattern, Syntax::perl, {{kEndOfText, 0}}, kAnyRanks},
      {{"p50k", "p50k_base"}, kTiktokenGpt2Pattern, Syntax::perl, {{kEndOfText, -24}}, 50280},
      {{"cl100k", "cl100k_base", "gpt4"},
       kTiktokenGpt4Pattern,
       Syntax::perl,
       {{kEndOfText, 1},
        {"<|fim_prefix|>", 2},
        {"<|fim_middle|>", 3},
        {"<|fim_suffix|>", 4},
        {"<|endofprompt|>", 20}},
       100256},
      {{"o200k", "o200k_base", "gpt4o"},
       kO200kPattern,
       Syntax::perl,
       {{kEndOfText, 1}, {"<|endofprompt|>", 20}},
       199998},
      {{"llama3"},
       kGpt4Pattern,
       Syntax::perl,
       {{"<|begin_of_text|>", 0},
        {"<|end_of_text|>", 1},
        {"<|start_header_id|>", 6},
        {"<|end_header_id|>", 7},
        {"<|eot_id|>", 9},
        {"<|reserved_special_token_250|>", 255}},
       kAnyRanks},
      {{"qwen", "qwen2"},
       kQwen2Pattern,
       Syntax::perl,
       {{kEndOfText, 0}, {"<|im_start|>", 1}, {"<|im_end|>", 2}},
       kAnyRanks}};
  return kEncodings;
}

const Encoding* encoding_of(const std::string& name) {
  for (const auto& each : encodings()) {
    if (std::find(each.names.begin(), each.names.end(), name) != each.names.end()) return &each;
  }
  return nullptr;
}

std::optional<std::string> base64_decoded(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string out;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char each : text) {
    const auto digit = kDigits.find(each);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xff);
  }
  return out;
}

/// True if the first line that is not empty is that of a file of ranks.
bool has_ranks(std::string_view content) {
  content.remove_prefix(std::min(content.find_first_not_of("\r\n"), content.size()));
  const auto line = content.substr(0, content.find_first_of("\r\n"));
  const auto space = line.find(' ');
  if (line.starts_with("= ")) return true;
  return space != std::string_view::npos && base64_decoded(line.substr(0, space)) &&
         line.find_first_not_of("0123456789", space + 1) == std::string_view::npos;
}

/// The encoding that the user or the name of the file selects; nullptr for a regular expression.
const Encoding* selected_encoding(const std::string& path, std::string_view content,
                                  const std::string& pattern) {
  const auto file = std::filesystem::path(path).filename().string();
  const auto name = pattern.empty() ? file.substr(0, file.find('.')) : pattern;
  if (const auto* const known = encoding_of(name)) return known;
  if (pattern.empty() && !has_ranks(content)) {
    refuse(path,
           "must be a tokenizer (tokenizer.json, .model, .tiktoken), but is another file; name ",
           "one, or \"bytes\"");
  }
  if (pattern.empty()) {
    refuse(path, "the pattern that divides text must be known, but no pattern is named ",
           printable_line(name), did_you_mean(name, tiktoken_names()),
           "; give its name or regular expression");
  }
  constexpr auto kNameCharacters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  if (pattern.find_first_not_of(kNameCharacters) == std::string::npos) {
    refuse(path, "no pattern is named ", pattern, did_you_mean(pattern, tiktoken_names()));
  }
  return nullptr;
}

/// The lines of the ranks of a file.
struct RankLines {
  std::vector<std::size_t> of_rank;  // the number of the line, by rank; 0: no line has the rank
  std::size_t count = 0;             // of ranks

  bool has(Id rank) const { return rank < of_rank.size() && of_rank[rank] != 0; }
  void add(Id rank, std::size_t line) {
    if (rank >= of_rank.size()) of_rank.resize(std::size_t{rank} + 1);
    of_rank[rank] = line;
    ++count;
  }
};

/// Enters the token of a line. Whisper's file has a line "= 50256": a rank without a token.
/// \return the rank
Id read_line(std::string_view line, const std::string& where, const RankLines& lines,
             Model& model) {
  const auto space = line.find(' ');
  const auto word = line.substr(0, space);
  const bool has_token = word != "=";
  const auto bytes = has_token ? base64_decoded(word) : std::optional<std::string>("");
  const auto digits = space == std::string_view::npos ? "" : line.substr(space + 1);
  Id id = 0;
  const char* const start = digits.data();
  const char* const stop = start + digits.size();
  const auto [read, error] = std::from_chars(start, stop, id);
  const bool is_number = !digits.empty() && error == std::errc() && read == stop;
  if (!bytes || bytes->empty() == has_token || !is_number || id >= kMaxVocabulary) {
    refuse(where, "must be a token in base 64, a space and a rank below ", kMaxVocabulary,
           ", but is ", printable_line(line.substr(0, 80)));
  }
  if (lines.has(id) || model.ids.contains(*bytes)) {
    refuse(where, "must have a token and a rank of its own, but another line has them, too");
  }
  if (!has_token) return id;
  if (bytes->size() == 1) model.bpe.byte_ids[static_cast<unsigned char>(bytes->front())] = id;
  model.add_token(*bytes, id);
  return id;
}

RankLines read_lines(const std::string& path, std::string_view content, Model& model) {
  RankLines lines;
  std::size_t number = 0;
  while (!content.empty()) {
    const auto end = std::min(content.find('\n'), content.size());
    auto line = content.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++number;
    if (!line.empty()) {
      lines.add(read_line(line, evenkeel::text(path, ":", number), lines, model), number);
    }
    content.remove_prefix(std::min(end + 1, content.size()));
  }
  return lines;
}

/// Refuses a file that lacks a rank below its last one, except the id of a special token, or that
/// has not as many ranks as it must: the special tokens would get other ids.
/// \param encoding  nullptr: without special tokens
/// \param wanted    number of ranks; kAnyRanks: any
void check_ranks(const std::string& path, const RankLines& lines, const Encoding* encoding,
                 std::size_t wanted) {
  const auto count = static_cast<std::int64_t>(wanted == kAnyRanks ? lines.count : wanted);
  const auto is_special = [&](std::int64_t rank) {
    return encoding != nullptr && std::ranges::any_of(encoding->specials, [&](const auto& each) {
             return rank == count + each.offset;
           });
  };
  const auto& of_rank = lines.of_rank;
  for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
    if (of_rank[rank] != 0 || is_special(static_cast<std::int64_t>(rank))) continue;
    auto next = rank;
    while (of_rank[next] == 0) ++next;  // the last one is not 0
    refuse(evenkeel::text(path, ":", of_rank[next]), "rank ", rank, " must be in the file, too, ",
           "but this line has rank ", next, "; copy or download the file again");
  }
  if (wanted == kAnyRanks || lines.count == wanted) return;
  refuse(path, "must have the ", wanted, " ranks of ", encoding->names[0], ", but has ",
         lines.count, "; copy or download the file again");
}

/// Calls act(left, right, id) for each pair of tokens that together are a token.
template <typename Act>
void for_each_pair(const IdByText& ids, const Act& act) {
  for (const auto& [bytes, id] : ids) {
    const std::string_view whole = bytes;
    for (std::size_t at = 1; at < whole.size(); ++at) {
      const auto left = ids.find(whole.substr(0, at));
      if (left == ids.end()) continue;
      const auto right = ids.find(whole.substr(at));
      if (right != ids.end()) act(left->second, right->second, id);
    }
  }
}

void add_specials(const Encoding& encoding, std::size_t ranks, const std::string& path,
                  Model& model) {
  for (const auto& each : encoding.specials) {
    const auto id = static_cast<Id>(static_cast<std::int64_t>(ranks) + each.offset);
    if (id >= kMaxVocabulary) {
      refuse(path, "must be a file of ", encoding.names[0], ", but has only ", ranks, " tokens");
    }
    if (id < model.token_bytes.size() && !model.token_bytes[id].empty()) {
      refuse(path, "id ", id, " must be free for ", each.text, " of ", encoding.names[0],
             ", but is a token of the file; give another pattern");
    }
    model.add_added_token(each.text, id, true);
    model.raw_added.add({each.text, id, true});
  }
}

}  // namespace

std::vector<std::string> tiktoken_names() {
  std::vector<std::string> out;
  for (const auto& each : encodings()) {
    out.insert(out.end(), each.names.begin(), each.names.end());
  }
  std::sort(out.begin(), out.end());
  return out;
}

Model tiktoken_file(const std::string& path, std::string_view content, const std::string& pattern) {
  const auto* const encoding = selected_encoding(path, content, pattern);
  Model model;
  model.kind = kTiktoken;
  model.path = path;
  model.bpe.byte_ids.fill(kNoId);
  const auto lines = read_lines(path, content, model);
  if (model.ids.empty()) refuse(path, "must have a token in each line, but is empty");
  // A pattern that a caller names may also be that of other ranks than tiktoken's.
  const bool is_of_tiktoken = encoding != nullptr && pattern.empty();
  check_ranks(path, lines, encoding, is_of_tiktoken ? encoding->ranks : kAnyRanks);
  std::size_t pairs = 0;
  for_each_pair(model.ids, [&](Id, Id, Id) { ++pairs; });
  model.bpe.merges = Merges(pairs);
  for_each_pair(model.ids,
                [&](Id left, Id right, Id id) { model.bpe.merges.add(left, right, id, id); });
  for (const auto& [bytes, id] : model.ids) model.bpe.neighbors.add(bytes);
  model.bpe.ignore_merges = true;
  model.bpe.words = model.ids;
  const auto used = encoding == nullptr ? pattern : std::string(encoding->pattern);
  model.ranks_pattern = used;
  const auto syntax = encoding == nullptr ? Syntax::perl : encoding->syntax;
  model.pre_tokenizer.add({{},
                           std::nullopt,
                           Split{Regex(used, syntax, evenkeel::text(path, ": pattern")),
                                 WordPattern::of(used, syntax), Behavior::isolated, false}});
  if (encoding != nullptr) add_specials(*encoding, lines.count, path, model);
  return model;
}

}  // namespace evenkeel::tokenizer
