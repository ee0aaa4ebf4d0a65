// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/digest.h"

#include <gtest/gtest.h>

namespace evenkeel {
namespace {

// XXH3-128 of nothing, as the specification of xxHash prints it (high half first).
TEST(Digest, IsXxh3With128Bits) {
  EXPECT_EQ(digest(nullptr, 0), "99aa06d3014798d86001c324468d497f");
}

TEST(Digest, DoesNotDependOnThePieces) {
  const std::string bytes(5000, 'x');
  for (const std::size_t cut : {0, 1, 17, 256, 4999}) {
    Digest pieces;
    pieces.update(bytes.data(), cut);
    pieces.update(bytes.data() + cut, bytes.size() - cut);
    EXPECT_EQ(pieces.hex(), digest(bytes.data(), bytes.size()));
  }
}

}  // namespace
}  // namespace evenkeel
