// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/html.h"

#include <gtest/gtest.h>

#include <cmath>

#include "report/xml_check.h"

namespace evenkeel::report {
namespace {

constexpr auto kReplacement = "\xEF\xBF\xBD";

TEST(Escaped, LeavesNoMarkup) {
  EXPECT_EQ(escaped("<b a=\"1\" c='2'>&amp;</b>"),
            "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;&lt;/b&gt;");
}

TEST(Escaped, KeepsWellFormedUtf8) {
  const std::string good = "é – 漢 🙂\t\n";
  EXPECT_EQ(escaped(good), good);
}

// The Unicode Standard, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF.
TEST(Escaped, ReplacesEachByteThatIsNotUtf8) {
  EXPECT_EQ(escaped("a\xFFz"), std::string("a") + kReplacement + "z");
  EXPECT_EQ(escaped("\xC3"), kReplacement);
  EXPECT_EQ(escaped("\xC3<"), std::string(kReplacement) + "&lt;");
  for (const std::string bad : {"\xC0\xAF", "\xE0\x80\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80"}) {
    std::string all;
    for (std::size_t count = 0; count < bad.size(); ++count) all += kReplacement;
    EXPECT_EQ(escaped(bad), all);
  }
}

TEST(Escaped, ReplacesControlCharactersAndEndsLinesWithLineFeeds) {
  EXPECT_EQ(escaped(std::string_view("a\0b", 3)), std::string("a") + kReplacement + "b");
  EXPECT_EQ(escaped("\x1B[0m\x7F\xC2\x85"),
            std::string(kReplacement) + "[0m" + kReplacement + kReplacement);
  EXPECT_EQ(escaped("a\r\nb\rc"), std::string("a\nb") + kReplacement + "c");
}

TEST(Fixed, HasTheDecimalsAndADashForNoNumber) {
  EXPECT_EQ(fixed(1.02304, 4), "1.0230");
  EXPECT_EQ(fixed(std::nan(""), 4), "–");
  EXPECT_EQ(fixed(INFINITY, 4), "–");
}

TEST(Page, IsWellFormed) {
  EXPECT_EQ(xml_error(page("a < b", element("p", "x", "y"))), "");
  EXPECT_EQ(element("p", "x", "y"), "<p class=\"y\">x</p>");
}

TEST(PageCheck, FindsFaults) {
  const std::string type = "<!DOCTYPE html>";
  EXPECT_EQ(xml_error(type + "<p><b>x</p></b>"), "unexpected </p>");
  EXPECT_EQ(xml_error(type + "<p>"), "not closed: p");
  EXPECT_EQ(xml_error(type + "<p a=b/>"), "attributes of <p a=b/>");
  EXPECT_EQ(xml_error(type + "<p>a & b</p>"), "bare & in: a & b");
}

}  // namespace
}  // namespace evenkeel::report
