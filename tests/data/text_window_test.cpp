// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/text_window.h"

#include "data/refusal.h"
#include "data/temporary_folder.h"

namespace evenkeel::data {
namespace {

using TextWindows = TemporaryFolder;

TEST_F(TextWindows, MoveOverATextThatIsLargerThanTheirBuffer) {
  std::string text;
  for (int i = 0; text.size() < (std::size_t{5} << 20); ++i) text += std::to_string(i) + "\n";
  TextWindow window(file("a", text), std::uint64_t{1} << 30);
  std::string all;
  do {
    EXPECT_EQ(window.offset(), all.size());
    const auto some = window.view().size() / 3 + 1;
    if (window.view().empty()) break;
    all += window.view().substr(0, some);
    window.consume(some);
  } while (window.grow() || !window.view().empty());
  EXPECT_TRUE(all == text);
}

TEST_F(TextWindows, DropAByteOrderMark) {
  TextWindow window(file("a", "\xef\xbb\xbftext"), 100);
  EXPECT_EQ(window.view(), "text");
  EXPECT_EQ(window.offset(), 3u);
  EXPECT_EQ(TextWindow(file("b", "\xef\xbb"), 100).view(), "\xef\xbb");
}

TEST_F(TextWindows, GrowUpToTheirLimit) {
  const std::string text(std::size_t{3} << 20, 'a');
  TextWindow enough(file("a", text), text.size());
  while (enough.grow()) {
  }
  EXPECT_TRUE(enough.view() == text);
  TextWindow less(path("a"), text.size() - 1);
  EXPECT_EQ(refusal([&] {
              while (less.grow()) {
              }
            }),
            path("a") +
                ": a document must have at most 3145727 bytes, but one has more; split it, or name "
                "a smaller file");
}

}  // namespace
}  // namespace evenkeel::data
