// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/gzip.h"

#include <gtest/gtest.h>

#include "data/gzipped.h"
#include "data/refusal.h"

namespace evenkeel::data {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;

TEST(Gzip, DecompressesAllMembersOneAfterAnother) {
  const auto packed = gzipped("one, ") + gzipped("two");
  EXPECT_TRUE(is_gzip(packed));
  EXPECT_FALSE(is_gzip("one, two"));
  EXPECT_EQ(gunzipped(packed, "a.gz", kMaxBytes), "one, two");
}

TEST(Gzip, DecompressesMoreThanOneBlock) {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += std::to_string(i * 7919 % 100003) + " ";
  const auto unpacked = gunzipped(gzipped(text), "a.gz", kMaxBytes);
  EXPECT_EQ(unpacked, text);
  EXPECT_LT(unpacked.capacity(), text.size() + 100);  // no memory but that of the text
}

TEST(Gzip, RefusesDataThatAreCutOff) {
  const auto packed = gzipped("a text that is long enough to be cut");
  EXPECT_EQ(refusal([&] { gunzipped(packed.substr(0, 30), "a.gz", kMaxBytes); }),
            "a.gz: the gzip data end too early, after 30 bytes; copy or download the file again");
}

TEST(Gzip, RefusesBrokenData) {
  auto packed = gzipped("a text");
  packed[packed.size() - 6] ^= 1;  // the checksum of RFC 1952, section 2.3.1
  EXPECT_EQ(refusal([&] { gunzipped(packed, "a.gz", kMaxBytes); }),
            text("a.gz: the gzip data are broken near byte ", packed.size() - 4,
                 "; copy or download the file again"));
  EXPECT_NE(refusal([&] { gunzipped(gzipped("a text") + "rubbish", "a.gz", kMaxBytes); }),
            "no refusal");
}

TEST(Gzip, RefusesABomb) {
  const auto member = gzipped(std::string(std::size_t{66} << 20, ' '));
  std::string bomb;
  for (int i = 0; i < 1000; ++i) bomb += member;  // 66 GB
  const auto answer = refusal([&] { gunzipped(bomb, "a.gz", std::uint64_t{1} << 40); });
  const std::string before = "a.gz: the first ";
  ASSERT_EQ(answer.substr(0, before.size()), before);
  EXPECT_LE(std::stoul(answer.substr(before.size())), member.size());
  EXPECT_EQ(answer.substr(answer.find(" bytes")),
            " bytes unpack to more than 1000 times as many; no text does; unpack it yourself if it "
            "is one");
  const std::string small(std::size_t{1} << 20, ' ');  // as dense, but no danger
  EXPECT_EQ(gunzipped(gzipped(small), "a.gz", kMaxBytes), small);
}

TEST(Gzip, RefusesMoreThanTheLimit) {
  const auto packed = gzipped(std::string(1000, 'a'));
  EXPECT_EQ(gunzipped(packed, "a.gz", 1000).size(), 1000u);
  EXPECT_EQ(refusal([&] { gunzipped(packed, "a.gz", 999); }),
            "a.gz: must unpack to at most 999 bytes, but unpacks to more; name a smaller file");
}

TEST(Gzip, DecompressesManyEmptyMembers) {
  const auto empty = gzipped("");
  std::string packed;
  for (int i = 0; i < 100000; ++i) packed += empty;
  EXPECT_EQ(gunzipped(packed + gzipped("end"), "a.gz", kMaxBytes), "end");
}

}  // namespace
}  // namespace evenkeel::data
