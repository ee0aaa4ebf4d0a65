// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/encode_files.h"

#include "data/gzipped.h"
#include "data/refusal.h"
#include "data/temporary_folder.h"
#include "data/zstd_packed.h"
#include "evenkeel/data/text_reader.h"

namespace evenkeel::data {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20;
constexpr TokenId kEnd = 0xffffffff;  // after each document

class EncodeFiles : public TemporaryFolder {
 protected:
  using Ids = std::vector<TokenId>;

  static std::vector<TextFile> files_in(const std::string& input) {
    return find_text_files({input}, {}).files;
  }
  static config::Data with_tokenizer(const std::string& name) {
    config::Data data;
    data.tokenizer = text(EK_TESTS, "/golden/tokenizers/", name);
    data.end_of_text = "0";
    return data;
  }
  /// The ids of all documents, one after another, and what encode_files() says about them.
  static Ids encoded(const std::string& input, const config::Data& data, int threads,
                     EncodedText& sum) {
    const TextEncoding encoding(data);
    Ids out;
    const auto use = [&](std::span<const TokenId> ids, bool is_end) {
      out.insert(out.end(), ids.begin(), ids.end());
      if (is_end) out.push_back(kEnd);
    };
    sum = encode_files(files_in(input), data, encoding, threads, use);
    return out;
  }
  /// The same from read_documents().
  static Ids expected(const std::string& input, const config::Data& data) {
    const TextEncoding encoding(data);
    Ids out;
    for (const auto& each : files_in(input)) {
      read_documents(each, data, [&](std::string_view document) {
        const auto ids = encoding.encode(document);
        out.insert(out.end(), ids.begin(), ids.end());
        out.push_back(kEnd);
      });
    }
    return out;
  }
  static void expect_equal_for_all_threads(const std::string& input, const config::Data& data,
                                           const std::vector<int>& counts = {1, 2, 3, 8}) {
    const auto wanted = expected(input, data);
    const auto documents = std::count(wanted.begin(), wanted.end(), kEnd);
    for (const int threads : counts) {
      EncodedText sum;
      EXPECT_TRUE(encoded(input, data, threads, sum) == wanted) << threads << " threads";
      EXPECT_EQ(sum.documents, documents);
      EXPECT_EQ(sum.tokens, static_cast<std::int64_t>(wanted.size()) - documents);
    }
  }
  static void expect_refusal_for_all_threads(const std::string& input, const std::string& wanted) {
    for (const int threads : {1, 2, 3, 8}) {
      EncodedText sum;
      EXPECT_EQ(refusal([&] { encoded(input, {}, threads, sum); }), wanted) << threads;
    }
  }

  static std::string json_line(int number, std::size_t repeats) {
    std::string line = "{\"id\": " + std::to_string(number) + ", \"text\": \"";
    for (std::size_t i = 0; i < repeats; ++i) line += "word " + std::to_string(number) + "\\n";
    return line + "\"}\n";
  }
  static std::string json_lines(int count, std::size_t repeats) {
    std::string lines;
    for (int i = 0; i < count; ++i) lines += json_line(i, repeats);
    return lines;
  }
  static std::string prose(std::size_t bytes) {
    std::string out;
    for (int i = 0; out.size() < bytes; ++i) {
      out += "It's line " + std::to_string(i) +
             (i % 3 == 0   ? ".\n\n"
              : i % 3 == 1 ? "\n"
                           : "!\r\n");
    }
    return out;
  }
};

TEST_F(EncodeFiles, GivesTheSameTokensForAnyNumberOfThreads) {
  file("all/a.jsonl", json_lines(3000, 300));
  file("all/b.jsonl.gz", gzipped(json_lines(2000, 200)));
  file("all/c.jsonl.zst", zstd_packed(json_lines(2000, 200)));
  file("all/d.txt", prose(7 * kMebibyte));
  file("all/e.txt.gz", gzipped(prose(5 * kMebibyte)));
  expect_equal_for_all_threads(path("all"), {});
  file("a.json", "[\"one\", \"\", {\"text\": \"two\"}]");
  expect_equal_for_all_threads(path("a.json"), {});
}

TEST_F(EncodeFiles, CutsTextWhereTheTokenizerAllowsIt) {
  for (const auto* name : {"gpt2.json", "gpt4.json", "neox.json", "llama2.json", "digits.json"}) {
    // Two blocks, thus one cut; the other tests cover more threads.
    expect_equal_for_all_threads(file("a.txt", prose(5 * kMebibyte / 2)), with_tokenizer(name),
                                 {1, 3});
  }
}

TEST_F(EncodeFiles, CountsNullsEmptyTextsAndLoneSurrogates) {
  const auto lines =
      file("a.jsonl", "{\"text\": null}\n{\"text\": \"\\ud800\"}\n" + json_lines(9000, 100));
  const auto array = file("b.json", "[null, \"one\", \"\", {\"text\": null}]");
  const auto files = find_text_files({lines, array}, {}).files;
  for (const int threads : {1, 3}) {
    const auto sum =
        encode_files(files, {}, TextEncoding({}), threads, [](std::span<const TokenId>, bool) {});
    EXPECT_EQ(sum.documents, 9002);
    EXPECT_EQ(sum.json.description(),
              "3 null texts left out, 1 empty text left out, 1 lone surrogate read as U+FFFD");
  }
}

TEST_F(EncodeFiles, LeavesOutInvalidLinesOnRequest) {
  const auto lines = json_lines(5000, 100);
  const auto one = file("all/a.jsonl", lines + "{\"text\": 3}\n" + lines + "oops\n");
  const auto two = file("all/b.json", "{\"text\": 4}\n" + lines);
  auto files = find_text_files({one, two}, {}).files;
  for (auto& each : files) each.skips_invalid_lines = true;
  for (const int threads : {1, 3}) {
    const auto sum =
        encode_files(files, {}, TextEncoding({}), threads, [](std::span<const TokenId>, bool) {});
    EXPECT_EQ(sum.documents, 3 * 5000);
    EXPECT_EQ(sum.json.description(),
              "3 invalid lines left out (the first: " + one +
                  ":5001: \"text\" must be a string, but is of type number; mend it, or set "
                  "data.text_key)");
    EXPECT_EQ(sum.json.first_invalid_lines,
              (std::vector<InvalidLine>{{one, 5001}, {one, 10002}, {two, 1}}));
  }
  files = {{.path = file("c.jsonl", "oops\n"), .kind = TextKind::jsonl}};
  files[0].skips_invalid_lines = true;
  EXPECT_EQ(refusal([&] {
              encode_files(files, {}, TextEncoding({}), 1, [](std::span<const TokenId>, bool) {});
            }),
            path("c.jsonl") + ": must hold text, but has none; the first invalid line: " +
                path("c.jsonl") + ":1: must be JSON, but is not at column 1; mend or remove it");
}

TEST_F(EncodeFiles, ListsTheFirst20InvalidLines) {
  std::string oops;
  for (int i = 0; i < 15; ++i) oops += "oops\n";
  auto many = oops;
  for (int i = 0; i < 15; ++i) many += oops;  // more than 20 in one block
  const auto path = file("a.jsonl", oops + json_lines(5000, 100) + many);
  const std::vector<TextFile> files = {
      {.path = path, .kind = TextKind::jsonl, .skips_invalid_lines = true}};
  for (const int threads : {1, 3}) {
    const auto counts =
        encode_files(files, {}, TextEncoding({}), threads, [](std::span<const TokenId>, bool) {
        }).json;
    EXPECT_EQ(counts.invalid_lines, 17 * 15);
    ASSERT_EQ(counts.first_invalid_lines.size(), 20U);
    EXPECT_EQ(counts.first_invalid_lines[14], (InvalidLine{path, 15}));
    EXPECT_EQ(counts.first_invalid_lines[15], (InvalidLine{path, 5016}));
    EXPECT_EQ(counts.first_invalid_lines[19], (InvalidLine{path, 5020}));
  }
}

TEST_F(EncodeFiles, RefuseACutLastLineAlsoWhereInvalidLinesAreLeftOut) {
  auto files =
      std::vector<TextFile>{{.path = file("d.jsonl", json_line(1, 2) + "{\"text\": \"cut o"),
                             .kind = TextKind::jsonl,
                             .skips_invalid_lines = true}};
  const auto message = refusal(
      [&] { encode_files(files, {}, TextEncoding({}), 1, [](std::span<const TokenId>, bool) {}); });
  EXPECT_EQ(message.find(path("d.jsonl") + ":2: "), 0U) << message;
  files[0].path = file("e.jsonl", json_line(1, 2) + "{\"text\": \"cut o\n");
  EXPECT_EQ(encode_files(files, {}, TextEncoding({}), 1, [](std::span<const TokenId>, bool) {})
                .json.invalid_lines,
            1);
}

TEST_F(EncodeFiles, ReadsJsonLinesThatEndInJson) {
  expect_equal_for_all_threads(file("a.json", "\n\n" + json_lines(100, 3)), {});
  expect_equal_for_all_threads(file("b.json.gz", gzipped(json_lines(100, 3))), {});
}

TEST_F(EncodeFiles, TakesHugeDocuments) {
  expect_equal_for_all_threads(
      file("a.jsonl", json_line(1, 2) + json_line(2, kMebibyte) + json_line(3, 2)), {});
  expect_equal_for_all_threads(file("a.txt", std::string(9 * kMebibyte, 'a')), {});
}

TEST_F(EncodeFiles, TakesManySmallFiles) {
  for (int i = 0; i < 300; ++i) {
    const auto name = "many/" + std::to_string(i);
    if (i % 5 == 0) file(name + ".txt", "");
    if (i % 5 == 1) file(name + ".txt", "\xef\xbb\xbf" + std::to_string(i));
    if (i % 5 == 2) file(name + ".jsonl", json_lines(i % 7, 1));
    if (i % 5 == 3) file(name + ".md.gz", gzipped("text " + std::to_string(i)));
    if (i % 5 == 4) file(name + ".jsonl", "{\"text\": \"no line feed at the end\"}");
  }
  expect_equal_for_all_threads(path("many"), {});
}

TEST_F(EncodeFiles, RefusesTheFirstErrorInTheOrderOfTheText) {
  const auto lines = json_lines(5000, 100);
  file("all/a.jsonl", lines + "{\"text\": 3}\n" + lines + "{\"other\": \"\"}\n");
  file("all/b.txt", prose(3 * kMebibyte) + "gr\xfcn");
  expect_refusal_for_all_threads(
      path("all"), path("all/a.jsonl") +
                       ":5001: \"text\" must be a string, but is of type number; mend it, or "
                       "set data.text_key");
  file("all/a.jsonl", lines);
  const auto offset = std::to_string(read_file(path("all/b.txt")).size() - 2);
  expect_refusal_for_all_threads(path("all"), path("all/b.txt") + ": must be UTF-8, but byte " +
                                                  offset +
                                                  " is 0xfc; convert it, for example with iconv");
}

TEST_F(EncodeFiles, GivesTheOffsetOfALineAfterAByteOrderMark) {
  const auto lines = "\xef\xbb\xbf" + json_lines(30000, 10);
  expect_refusal_for_all_threads(file("a.jsonl", lines + "{\"text\": \"gr\xfcn\"}\n"),
                                 path("a.jsonl") + ":30001: must be UTF-8, but byte " +
                                     std::to_string(lines.size() + 12) +
                                     " is 0xfc; convert it, for example with iconv");
}

TEST_F(EncodeFiles, RefusesADamagedFileAfterTheDocumentsBeforeIt) {
  const auto packed = gzipped(json_lines(9000, 100));
  file("all/a.jsonl.gz", packed.substr(0, packed.size() - 9));
  file("all/b.jsonl", "{");
  expect_refusal_for_all_threads(path("all"), path("all/a.jsonl.gz") +
                                                  ": the gzip data end too early, after " +
                                                  std::to_string(packed.size() - 9) +
                                                  " bytes; copy or download the file again");
}

TEST_F(EncodeFiles, RefusesFilesWithoutText) {
  for (const auto& name :
       {file("a.txt", ""), file("b.txt", "\xef\xbb\xbf"), file("a.txt.zst", zstd_packed("")),
        file("a.jsonl", "\n{\"text\": \"\"}\n"), file("a.json", "[]"), file("b.json", " ")}) {
    expect_refusal_for_all_threads(name, name + ": must hold text, but is empty");
  }
}

TEST_F(EncodeFiles, EndsWithTheErrorOfItsUser) {
  const auto input = file("a.jsonl", json_lines(20000, 100));
  for (const int threads : {1, 2, 8}) {
    int calls = 0;
    const auto use = [&](std::span<const TokenId>, bool) {
      if (++calls == 7000) throw Error(Exit::io, "disk full");
    };
    EXPECT_EQ(refusal([&] { encode_files(files_in(input), {}, TextEncoding({}), threads, use); }),
              "exit code 74: disk full");
    EXPECT_EQ(calls, 7000);
  }
}

}  // namespace
}  // namespace evenkeel::data
