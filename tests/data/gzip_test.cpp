// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/gzip.h"

#include <gtest/gtest.h>

#include "data/gzipped.h"
#include "data/refusal.h"

namespace evenkeel::data {
namespace {

TEST(Gzip, DecompressesAllMembersOneAfterAnother) {
  const auto packed = gzipped("one, ") + gzipped("two");
  EXPECT_TRUE(is_gzip(packed));
  EXPECT_FALSE(is_gzip("one, two"));
  EXPECT_EQ(gunzipped(packed, "a.gz"), "one, two");
}

TEST(Gzip, DecompressesMoreThanOneBlock) {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += std::to_string(i * 7919 % 100003) + " ";
  EXPECT_EQ(gunzipped(gzipped(text), "a.gz"), text);
}

TEST(Gzip, RefusesDataThatAreCutOff) {
  const auto packed = gzipped("a text that is long enough to be cut");
  EXPECT_EQ(refusal([&] { gunzipped(packed.substr(0, 30), "a.gz"); }),
            "a.gz: the gzip data end too early, after 30 bytes; copy or download the file again");
}

TEST(Gzip, RefusesBrokenData) {
  auto packed = gzipped("a text");
  packed[packed.size() - 6] ^= 1;  // the checksum of RFC 1952, section 2.3.1
  EXPECT_EQ(refusal([&] { gunzipped(packed, "a.gz"); }),
            text("a.gz: the gzip data are broken near byte ", packed.size() - 4,
                 "; copy or download the file again"));
  EXPECT_NE(refusal([&] { gunzipped(gzipped("a text") + "rubbish", "a.gz"); }), "no refusal");
}

TEST(Gzip, RefusesABomb) {
  const auto bomb = gzipped(std::string(std::size_t{80} << 20, ' '));
  EXPECT_EQ(refusal([&] { gunzipped(bomb, "a.gz"); }),
            text("a.gz: ", bomb.size(),
                 " bytes unpack to more than 1000 times as many; no text does; unpack it yourself "
                 "if it is one"));
  const std::string small(std::size_t{1} << 20, ' ');  // as dense, but no danger
  EXPECT_EQ(gunzipped(gzipped(small), "a.gz"), small);
}

}  // namespace
}  // namespace evenkeel::data
