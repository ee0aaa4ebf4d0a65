// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/text_stream.h"

#include <algorithm>

#include "data/gzipped.h"
#include "data/refusal.h"
#include "data/temporary_folder.h"
#include "data/zstd_packed.h"

namespace evenkeel::data {
namespace {

/// A format, and a function that packs a text in it.
struct Packer {
  const char* format;
  std::string (*pack)(const std::string& text);
};
const std::vector<Packer> kPackers = {
    {"gzip", [](const std::string& text) { return gzipped(text); }},
    {"zstd", [](const std::string& text) { return zstd_packed(text); }}};

class TextStreams : public TemporaryFolder {
 protected:
  /// The text of a file, read in pieces of `piece` bytes.
  static std::string read_all(const std::string& path, std::size_t piece = 1000003) {
    TextStream stream(path);
    std::string all;
    for (std::string some(piece, '\0');;) {
      const auto got = stream.read(some.data(), some.size());
      all.append(some, 0, got);
      if (got < some.size()) return all;
    }
  }
  std::string text_of(const std::string& content) const { return read_all(file("a", content)); }
  std::string refused(const std::string& content) const {
    const auto path = file("a", content);
    return refusal([&] { read_all(path); }).substr(path.size() - 1);
  }
};

TEST_F(TextStreams, ReadAFileThatIsNotCompressed) {
  const auto path = file("a", "a text");
  EXPECT_EQ(read_all(path), "a text");
  EXPECT_EQ(read_all(path, 1), "a text");
  EXPECT_EQ(TextStream(path).compression(), Compression::none);
  EXPECT_EQ(read_all(file("empty", "")), "");
}

TEST_F(TextStreams, DecompressAllMembersOneAfterAnother) {
  for (const auto& [format, pack] : kPackers) {
    EXPECT_EQ(text_of(pack("one, ") + pack("") + pack("two")), "one, two") << format;
    EXPECT_STREQ(name_of(TextStream(path("a")).compression()), format);
  }
}

TEST_F(TextStreams, TakeASkippableFrameForTheStartOfZstd) {
  const std::string skippable("\x50\x2a\x4d\x18\x04\x00\x00\x00none", 12);
  EXPECT_EQ(text_of(skippable + zstd_packed("a text")), "a text");
  EXPECT_EQ(text_of("Q*M"), "Q*M");
}

TEST_F(TextStreams, DecompressMoreThanOneBlock) {
  std::string text;
  std::uint64_t state = 1;
  for (int i = 0; i < 300000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;  // Knuth, MMIX
    text += std::to_string(state >> 40) + " ";
  }
  for (const auto& [format, pack] : kPackers) {
    const auto packed = pack(text);

    EXPECT_GT(packed.size(), std::size_t{1} << 19) << format;
    EXPECT_TRUE(text_of(packed) == text) << format;
  }
}

TEST_F(TextStreams, RefuseDataThatAreCutOff) {
  const std::string text = "a text that is long enough to be cut, by any number of bytes";
  for (const auto& [format, pack] : kPackers) {
    const auto packed = pack(text);
    for (std::size_t size = 4; size < packed.size(); ++size) {
      EXPECT_EQ(refused(packed.substr(0, size)),
                "a: the " + std::string(format) + " data end too early, after " +
                    std::to_string(size) + " bytes; copy or download the file again");
    }
  }
}

TEST_F(TextStreams, RefuseDataThatAreBroken) {
  auto packed = gzipped("a text");
  packed[packed.size() - 6] ^= 1;  // the checksum of RFC 1952, section 2.3.1
  EXPECT_EQ(refused(packed), text("a: the gzip data are broken near byte ", packed.size() - 4,
                                  "; copy or download the file again"));
  packed = zstd_packed("a text");
  packed.back() ^= 1;  // the checksum of RFC 8878, section 3.1.1
  // The library checks a small frame as a whole.
  EXPECT_EQ(refused(packed),
            "a: the zstd data are broken near byte 0; copy or download the file again");
  for (const auto& each : kPackers) {
    EXPECT_NE(refused(each.pack("a text") + "rubbish"), "no refusal");
  }
}

TEST_F(TextStreams, RefuseABomb) {
  for (const auto& [format, pack] : kPackers) {
    const auto member = pack(std::string(std::size_t{66} << 20, ' '));
    std::string bomb;
    for (int i = 0; i < 1000; ++i) bomb += member;  // 66 GB
    const auto answer = refused(bomb);
    const std::string before = "a: the first ";
    ASSERT_EQ(answer.substr(0, before.size()), before) << format;
    EXPECT_LE(std::stoul(answer.substr(before.size())), member.size());
    EXPECT_EQ(answer.substr(answer.find(" bytes")),
              " bytes unpack to more than 1000 times as many; no text does; unpack it yourself if "
              "it is one");
    const std::string small(std::size_t{1} << 20, ' ');  // as dense, but no danger
    EXPECT_TRUE(text_of(pack(small)) == small) << format;
  }
}

TEST_F(TextStreams, RefuseAWindowThatIsTooLarge) {
  std::string text(100, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 17);
  EXPECT_EQ(text_of(zstd_packed(text, 27)), text);
  EXPECT_EQ(refused(zstd_packed(text, 28)),
            "a: must need at most 128 MiB to unpack, but its zstd window is larger; compress it "
            "again without --long");
}

TEST_F(TextStreams, DecompressManyEmptyMembers) {
  for (const auto& each : kPackers) {
    const auto empty = each.pack("");
    std::string packed;
    for (int i = 0; i < 100000; ++i) packed += empty;
    EXPECT_EQ(text_of(packed + each.pack("end")), "end");
  }
}

}  // namespace
}  // namespace evenkeel::data
