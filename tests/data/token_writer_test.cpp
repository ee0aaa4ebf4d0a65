// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/token_writer.h"

#include "data/refusal.h"
#include "data/temporary_folder.h"
#include "data/token_bytes_of.h"
#include "evenkeel/data/document_bounds.h"
#include "evenkeel/data/shard_check.h"
#include "evenkeel/data/token_file.h"

namespace evenkeel::data {
namespace {

namespace fs = std::filesystem;
using TokenIds = std::vector<std::uint32_t>;

class TokenWriterTest : public TemporaryFolder {
 protected:
  static constexpr std::uint32_t kEnd = 9;

  TokenWriterOptions options(ShardFormat format, std::int64_t vocabulary = 1000) const {
    return {.folder = path("shards"),
            .name = "x",
            .format = format,
            .shard_tokens = 6,
            .vocabulary = vocabulary,
            .end_of_text = kEnd,
            .tokenizer = "t"};
  }
  /// Writes documents; the shards are those of `options`.
  static ShardManifest write(const TokenWriterOptions& options,
                             const std::vector<TokenIds>& documents) {
    TokenWriter writer(options);
    for (const auto& each : documents) writer.append(each);
    return writer.finish();
  }
  ShardManifest write_three(ShardFormat format, std::int64_t vocabulary = 1000) const {
    return write(options(format, vocabulary), {{1, 2}, {}, {3}, {4, 5, 6}});
  }
  std::string shard(const std::string& name) const { return read_file(path("shards/" + name)); }
  /// The message of check_shards(), without the folder.
  std::string check() const {
    const auto folder = path("shards");
    auto message = refusal([&] { check_shards(folder); });
    if (message.starts_with(folder)) message.erase(0, folder.size() + 1);
    return message;
  }
};

TEST_F(TokenWriterTest, WritesOlmosFilesWithDocumentBounds) {
  const auto manifest = write_three(ShardFormat::olmo);
  ASSERT_EQ(manifest.shards.size(), 2u);
  EXPECT_EQ(shard("x-00000.npy"), bytes_of<std::uint16_t>({1, 2, kEnd, 3, kEnd}));
  EXPECT_EQ(shard("x-00001.npy"), bytes_of<std::uint16_t>({4, 5, 6, kEnd}));
  EXPECT_EQ(shard("x-00000.csv.gz"), document_bounds_packed({3, 5}));
  EXPECT_EQ(shard("x-00001.csv.gz"), document_bounds_packed({4}));
  EXPECT_EQ(check(), "no refusal");
}

TEST_F(TokenWriterTest, TakesTheTypeOfTheVocabulary) {
  const auto type = [](ShardFormat format, std::int64_t vocabulary) {
    return name_of(shard_type(format, vocabulary));
  };
  EXPECT_STREQ(type(ShardFormat::olmo, 256), "uint8");
  EXPECT_STREQ(type(ShardFormat::olmo, 65536), "uint16");
  EXPECT_STREQ(type(ShardFormat::olmo, 65537), "uint32");
  EXPECT_STREQ(type(ShardFormat::llm_c, 257), "uint16");
  EXPECT_STREQ(type(ShardFormat::llm_c, 65537), "uint32");
  EXPECT_STREQ(type(ShardFormat::megatron, 65499), "uint16");
  EXPECT_STREQ(type(ShardFormat::megatron, 65500), "int32");
  EXPECT_STREQ(type(ShardFormat::nanogpt, 65536), "uint16");
  EXPECT_EQ(refusal([&] { type(ShardFormat::nanogpt, 100278); }),
            "exit code 64: the format nanogpt holds at most 65,536 ids, but the vocabulary has "
            "100,278; take olmo, llm_c or megatron");
}

TEST_F(TokenWriterTest, WritesBothHeadersOfLlmC) {
  write_three(ShardFormat::llm_c);
  EXPECT_EQ(shard("x-00000.bin"),
            llm_c_of(20240520, 1, 5, bytes_of<std::uint16_t>({1, 2, kEnd, 3, kEnd})));
  EXPECT_EQ(check(), "no refusal");
  fs::remove_all(path("shards"));
  write_three(ShardFormat::llm_c, 128256);
  EXPECT_EQ(shard("x-00001.bin"),
            llm_c_of(20240801, 7, 4, bytes_of<std::uint32_t>({4, 5, 6, kEnd})));
  EXPECT_EQ(check(), "no refusal");
}

TEST_F(TokenWriterTest, WritesMegatronsIndex) {
  write_three(ShardFormat::megatron);
  const MegatronIndex index = {.lengths = {3, 2}, .pointers = {0, 6}, .documents = {0, 1, 2}};
  EXPECT_EQ(shard("x-00000.idx"), index.bytes());
  EXPECT_EQ(shard("x-00000.bin"), bytes_of<std::uint16_t>({1, 2, kEnd, 3, kEnd}));
  EXPECT_EQ(check(), "no refusal");
  fs::remove_all(path("shards"));
  write_three(ShardFormat::megatron, 70000);
  const MegatronIndex wide = {
      .type = 4, .lengths = {3, 2}, .pointers = {0, 12}, .documents = {0, 1, 2}};
  EXPECT_EQ(shard("x-00000.idx"), wide.bytes());
  EXPECT_EQ(check(), "no refusal");
}

TEST_F(TokenWriterTest, WritesNanoGptsFiles) {
  write_three(ShardFormat::nanogpt);
  EXPECT_EQ(shard("x-00001.bin"), bytes_of<std::uint16_t>({4, 5, 6, kEnd}));
  EXPECT_EQ(check(), "no refusal");
}

TEST_F(TokenWriterTest, KeepsTheDocumentsOfPartsWhole) {
  for (const auto format :
       {ShardFormat::olmo, ShardFormat::llm_c, ShardFormat::megatron, ShardFormat::nanogpt}) {
    // The second token of {2, 3, 4, 5}, the third of {5, 6, 7} no longer fit.
    const std::vector<TokenIds> documents = {{1, 2, 3}, {2, 3, 4, 5}, {1, 2, 3, 4, 5, 6, 7, 8},
                                             {5, 6},    {5, 6, 7},    {7}};
    const auto whole = write(options(format), documents);
    std::vector<std::string> files;
    for (const auto& each : whole.shards) {
      files.push_back(shard(each.tokens_file.name));
      if (each.sidecar) files.push_back(shard(each.sidecar->name));
    }
    fs::remove_all(path("shards"));
    TokenWriter writer(options(format));
    for (const auto& ids : documents) {
      for (const auto id : ids) writer.append_part(TokenIds{id});
      writer.append({});
    }
    const auto parts = writer.finish();
    ASSERT_EQ(parts.shards.size(), whole.shards.size());
    std::size_t file = 0;
    for (std::size_t i = 0; i < parts.shards.size(); ++i) {
      const auto& [found, wanted] = std::pair(parts.shards[i], whole.shards[i]);
      EXPECT_EQ(found.documents, wanted.documents);
      EXPECT_EQ(found.tokens, wanted.tokens);
      EXPECT_EQ(shard(found.tokens_file.name), files.at(file++));
      if (found.sidecar) {
        EXPECT_EQ(shard(found.sidecar->name), files.at(file++));
      }
    }
    EXPECT_EQ(check(), "no refusal");
    fs::remove_all(path("shards"));
  }
}

TEST_F(TokenWriterTest, MovesMoreTokensThanItsBufferHas) {
  auto large = options(ShardFormat::olmo);
  large.shard_tokens = 2'000'000;
  TokenIds ids(1'900'000);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::uint32_t>(i % 997);
  TokenWriter writer(large);
  writer.append(TokenIds(50'000, 1));
  writer.append_part(ids);
  writer.append(TokenIds(80'000, 2));
  const auto manifest = writer.finish();
  ASSERT_EQ(manifest.shards.size(), 2u);
  EXPECT_EQ(manifest.shards[0].tokens, 50'001);
  EXPECT_EQ(manifest.shards[1].tokens, 1'980'001);
  EXPECT_EQ(check(), "no refusal");
  const TokenFile file(path("shards/x-00001.npy"), nullptr, 1000);
  std::vector<std::int64_t> found(static_cast<std::size_t>(file.count()));
  file.read(0, file.count(), found.data());
  EXPECT_TRUE(std::equal(ids.begin(), ids.end(), found.begin()));
  EXPECT_EQ(found[ids.size()], 2);
}

TEST_F(TokenWriterTest, GivesADocumentThatIsLongerThanAShardAShardAlone) {
  const auto manifest =
      write(options(ShardFormat::olmo), {{1}, {1, 2, 3, 4, 5, 6, 7, 8}, {2}, {1, 2, 3}});
  ASSERT_EQ(manifest.shards.size(), 3u);
  EXPECT_EQ(manifest.shards[1].tokens, 9);
  EXPECT_EQ(manifest.shards[2].tokens, 6);  // exactly full
  EXPECT_EQ(manifest.documents(), 4);
  EXPECT_EQ(manifest.tokens(), 17);
}

TEST_F(TokenWriterTest, WritesTheManifest) {
  write_three(ShardFormat::megatron);
  const auto first = file_digest(path("shards/x-00000.bin")).xxh3;
  const auto manifest = shard("manifest.json");
  EXPECT_NE(manifest.find("{\n"
                          " \"format\": \"megatron\",\n"
                          " \"type\": \"uint16\",\n"
                          " \"tokenizer\": \"t\",\n"
                          " \"vocabulary\": 1000,\n"
                          " \"end_of_text\": 9,\n"
                          " \"documents\": 3,\n"
                          " \"tokens\": 9,\n"
                          " \"bytes\": 162,\n"
                          " \"shards\": [\n"
                          "  {\n"
                          "   \"file\": \"x-00000.bin\",\n"
                          "   \"bytes\": 10,\n"
                          "   \"xxh3\": \"" +
                          first + "\",\n   \"documents\": 2,\n   \"tokens\": 5,\n"),
            std::string::npos)
      << manifest;
  EXPECT_EQ(read_shard_manifest(path("shards")).bytes(), 162);
}

TEST_F(TokenWriterTest, SaysWhichInvalidLinesWereLeftOut) {
  JsonCounts counts;
  counts.invalid_lines = 30;
  counts.first_invalid_lines = {{"a.jsonl", 2}, {"gr\xfcn.jsonl", 7}};
  auto skipping = options(ShardFormat::olmo);
  skipping.skips_invalid = true;
  TokenWriter writer(skipping);
  writer.append(TokenIds{1});
  EXPECT_EQ(writer.finish(counts).invalid_lines, 30);
  const auto manifest = read_shard_manifest(path("shards"));
  EXPECT_EQ(manifest.invalid_lines, 30);
  EXPECT_EQ(manifest.first_invalid_lines,
            (std::vector<InvalidLine>{{"a.jsonl", 2}, {"gr\xef\xbf\xbdn.jsonl", 7}}));
  EXPECT_EQ(check(), "no refusal");
  fs::remove_all(path("shards"));
  write_three(ShardFormat::olmo);
  EXPECT_FALSE(read_shard_manifest(path("shards")).invalid_lines.has_value());
}

TEST_F(TokenWriterTest, LeavesNothingUnfinished) {
  {
    TokenWriter writer(options(ShardFormat::olmo));
    writer.append(TokenIds{1, 2, 3, 4, 5});
    writer.append(TokenIds{6});
    EXPECT_TRUE(fs::exists(path("shards/x-00000.npy")));
    EXPECT_TRUE(fs::exists(path("shards/x-00001.npy.part")));
    EXPECT_FALSE(fs::exists(path("shards/x-00001.npy")));
  }
  EXPECT_FALSE(fs::exists(path("shards/x-00001.npy.part")));
  EXPECT_FALSE(fs::exists(path("shards/manifest.json")));
}

TEST_F(TokenWriterTest, WritesBlocksLargerThanItsBuffer) {
  auto large = options(ShardFormat::llm_c);
  large.shard_tokens = 100'000'000;
  TokenIds all(3'000'000);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint32_t>(i % 997);
  write(large, {{1}, all, {2}});
  const TokenFile file(path("shards/x-00000.bin"), nullptr, 1000);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(file.count()));
  file.read(0, file.count(), ids.data());
  ASSERT_EQ(ids.size(), all.size() + 5);
  EXPECT_TRUE(std::equal(all.begin(), all.end(), ids.begin() + 2));
  EXPECT_EQ(ids[ids.size() - 2], 2);
  EXPECT_EQ(check(), "no refusal");
}

TEST_F(TokenWriterTest, RefusesWhatItCannotWrite) {
  write_three(ShardFormat::olmo);
  EXPECT_EQ(refusal([&] { TokenWriter writer(options(ShardFormat::olmo)); }),
            path("shards") +
                ": must hold no shards yet, but has manifest.json; name another folder, or remove "
                "the shards");
  fs::remove(path("shards/manifest.json"));
  fs::remove(path("shards/x-00000.csv.gz"));
  fs::remove(path("shards/x-00001.csv.gz"));
  fs::remove(path("shards/x-00001.npy"));
  EXPECT_EQ(refusal([&] { TokenWriter writer(options(ShardFormat::megatron)); }),
            path("shards") +
                ": must hold no shards yet, but has x-00000.npy; name another folder, or remove "
                "the shards");
  fs::remove_all(path("shards"));
  EXPECT_EQ(refusal([&] { write(options(ShardFormat::olmo), {{}}); }),
            path("shards") + ": must hold tokens, but no document has any");
  auto large = options(ShardFormat::olmo);
  large.shard_tokens = std::int64_t{1} << 31;
  EXPECT_EQ(refusal([&] { TokenWriter writer(large); }),
            "exit code 64: a shard must have 1 to 2147483647 tokens, but has 2147483648");
  auto inside = options(ShardFormat::olmo);
  inside.folder = file("plain", "x") + "/shards";
  EXPECT_EQ(refusal([&] { TokenWriter writer(inside); }),
            "exit code 74: " + inside.folder + ": cannot make the folder: Not a directory");
  EXPECT_EQ(refusal([] { shard_format("olmoo"); }),
            "exit code 64: no format of shards is named \"olmoo\"; did you mean \"olmo\"? known: "
            "llm_c, megatron, nanogpt, olmo");
}

TEST_F(TokenWriterTest, FindsChangedFiles) {
  write_three(ShardFormat::olmo);
  const auto before = shard("x-00001.npy");
  file("shards/x-00001.npy", bytes_of<std::uint16_t>({4, 5, 7, kEnd}));
  EXPECT_EQ(check(), "x-00001.npy: must have the XXH3 digest " +
                         read_shard_manifest(path("shards")).shards[1].tokens_file.digest.xxh3 +
                         " as manifest.json says, but has " +
                         file_digest(path("shards/x-00001.npy")).xxh3 +
                         "; copy the file or write the shards again");
  file("shards/x-00001.npy", before.substr(2));
  EXPECT_EQ(check(),
            "x-00001.npy: must have 8 bytes as manifest.json says, but has 6; copy the file "
            "or write the shards again");
  file("shards/x-00001.npy", before);
  EXPECT_EQ(check(), "no refusal");
  fs::remove(path("shards/x-00000.csv.gz"));
  EXPECT_EQ(check(), "x-00000.csv.gz: cannot open: No such file or directory");
}

TEST_F(TokenWriterTest, FindsIdsOutsideTheVocabularyAndWrongBounds) {
  auto manifest = write_three(ShardFormat::olmo);
  manifest.vocabulary = 300;
  file("shards/x-00001.npy", bytes_of<std::uint16_t>({4, 5, 300, kEnd}));
  manifest.shards[1].tokens_file.digest = file_digest(path("shards/x-00001.npy"));
  write_shard_manifest(path("shards"), manifest);
  EXPECT_EQ(check(),
            "x-00001.npy: token ids must be 0 to 299, but token 2 is 300; set "
            "model.vocabulary, or data.token_type if the type is not uint16");
  file("shards/x-00000.csv.gz", document_bounds_packed({3}));
  manifest.shards[0].sidecar->digest = file_digest(path("shards/x-00000.csv.gz"));
  write_shard_manifest(path("shards"), manifest);
  EXPECT_EQ(check(),
            "x-00000.csv.gz: must have 2 documents as manifest.json says, but has 1; copy "
            "the file or write the shards again");
}

TEST_F(TokenWriterTest, RefusesAManifestThatIsNone) {
  fs::create_directories(path("shards"));
  EXPECT_EQ(check(),
            "manifest.json: cannot open: No such file or directory; name a folder that `evenkeel "
            "tokenize` wrote");
  file("shards/manifest.json", "{");
  EXPECT_EQ(check(), "manifest.json: must be JSON, but is not at column 2");
  const std::string start =
      "{\"format\":\"olmo\",\"tokenizer\":\"\",\"vocabulary\":300,\"type\":\"uint16\",";
  const std::string shard = "\"xxh3\":\"\",\"bytes\":1,\"documents\":1,\"tokens\":1}]}";
  for (const auto& [content, field] : std::vector<std::pair<std::string, std::string>>{
           {"[]", "format"},
           {"{\"format\":\"npy\"}", "format"},
           {start + "\"end_of_text\":300}", "end_of_text"},
           {start + "\"end_of_text\":-1}", "end_of_text"},
           {start + "\"end_of_text\":1.5}", "end_of_text"},
           {start + "\"end_of_text\":1}", "shards"},
           {start + "\"end_of_text\":1,\"special_in_text\":1}", "special_in_text"},
           {start + "\"end_of_text\":1,\"tokenizer_encoding\":1}", "tokenizer_encoding"},
           {start + "\"end_of_text\":1,\"invalid_lines\":-1}", "invalid_lines"},
           {start + "\"end_of_text\":1,\"invalid_lines\":1}", "first_invalid_lines"},
           {start + "\"end_of_text\":1,\"invalid_lines\":1,\"first_invalid_lines\":[1]}",
            "first_invalid_lines"},
           {start + "\"end_of_text\":1,\"shards\":[1]}", "shards"},
           {start + "\"end_of_text\":1,\"shards\":[{\"file\":\"../x\"," + shard, "file"},
           {start + "\"end_of_text\":1,\"shards\":[{\"file\":\"\"," + shard, "file"},
           {start + "\"end_of_text\":1,\"shards\":[{\"file\":\"x\"}]}", "bytes"}}) {
    file("shards/manifest.json", content);
    EXPECT_EQ(check(), "manifest.json: must be a manifest of shards, but \"" + field +
                           "\" is missing or wrong; write the shards again")
        << content;
  }
}

}  // namespace
}  // namespace evenkeel::data
