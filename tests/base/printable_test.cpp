// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/printable.h"

#include <gtest/gtest.h>

#include "evenkeel/base/utf8.h"

namespace evenkeel {
namespace {

TEST(Printable, KeepsTextOfAnyScript) {
  const std::string text = "a – é 漢 \xf0\x9f\x98\x80\n\tend \\ \"";
  EXPECT_EQ(printable(text), text);
}

TEST(Printable, EscapesWhatATerminalActsOn) {
  EXPECT_EQ(printable("\x1b[2J\r\x07\x7f"), "\\u001B[2J\\u000D\\u0007\\u007F");
  EXPECT_EQ(printable("\xc2\x9b"  // C1: the control sequence introducer
                      "2J\xc2\x85"),
            "\\u009B2J\\u0085");
  EXPECT_EQ(printable("a\xe2\x80\xae"  // right-to-left override
                      "b\xe2\x81\xa6\xe2\x80\xa8"),
            "a\\u202Eb\\u2066\\u2028");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\u0000b");
}

TEST(Printable, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("\x9b"
                      "2J\xff\xc3"),
            "\\x9B2J\\xFF\\xC3");
}

TEST(Printable, GivesOneLineOnRequest) {
  EXPECT_EQ(printable_line("a\nb\tc\r\n"), "a\\nb\\tc\\u000D\\n");
}

TEST(Printable, EscapesEveryControlCharacter) {
  for (unsigned code = 0; code < 0xa0; ++code) {
    if (code >= 0x20 && code < 0x7f) continue;
    const std::string character = code < 0x80 ? std::string(1, static_cast<char>(code))
                                              : std::string{'\xc2', static_cast<char>(code)};
    for (const char each : printable_line(character))
      EXPECT_TRUE(each >= ' ' && each < 0x7f) << code;
  }
}

}  // namespace
}  // namespace evenkeel
