// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tasks/python_text.h"

#include <gtest/gtest.h>

namespace evenkeel::tasks {
namespace {

// The expected strings are those of Python 3.11.

TEST(PythonText, StripsWhiteSpaceOfUnicode) {
  EXPECT_EQ(strip(" \t\n\v\f\r\x1c\x1f a b \xc2\xa0\xe2\x80\xa8\xe3\x80\x80\xc2\x85"), "a b");
  EXPECT_EQ(strip("\xe2\x80\x8b"), "\xe2\x80\x8b");  // a zero-width space is no white space
  EXPECT_EQ(strip(" \xc2\xa0 "), "");
  EXPECT_EQ(strip(""), "");
}

TEST(PythonText, StripsTheEndAlone) {
  EXPECT_EQ(rstrip("\xc2\xa0 a \xe3\x80\x80\x1d\n"), "\xc2\xa0 a");
  EXPECT_EQ(rstrip("\t"), "");
}

TEST(PythonText, CapitalizesTheFirstCharacterAlone) {
  EXPECT_EQ(capitalize("he SAID No"), "He said no");
  EXPECT_EQ(capitalize(""), "");
  EXPECT_EQ(capitalize("[he] X"), "[he] x");  // not the first letter
  EXPECT_EQ(capitalize("\xc3\x9f"
                       "A"),
            "Ssa");  // sharp s
  EXPECT_EQ(capitalize("\xc7\x86"
                       "A"),
            "\xc7\x85"
            "a");                                   // dz with caron: title case
  EXPECT_EQ(capitalize("A\xce\xa3"), "A\xcf\x82");  // a final sigma
  EXPECT_EQ(capitalize("a\xce\xa3"
                       "B"),
            "A\xcf\x83"
            "b");
}

TEST(PythonText, LowersTheFirstCharacterAlone) {
  EXPECT_EQ(first_lower("The DOG"), "the DOG");
  EXPECT_EQ(first_lower("\xc3\x89mile"), "\xc3\xa9mile");
  EXPECT_EQ(first_lower("\xc4\xb0x"), "i\xcc\x87x");  // I with dot above
  EXPECT_EQ(first_lower("1A"), "1A");
  EXPECT_EQ(first_lower(""), "");
}

TEST(PythonText, DropsTheLastCharacter) {
  EXPECT_EQ(without_last("ab."), "ab");
  EXPECT_EQ(without_last("a\xe2\x80\xa6"), "a");
  EXPECT_EQ(without_last(""), "");
}

TEST(PythonText, ReadsIntegers) {
  EXPECT_EQ(integer_of(" 12\n"), 12);
  EXPECT_EQ(integer_of("-1"), -1);
  EXPECT_EQ(integer_of("+3"), 3);
  EXPECT_EQ(integer_of("1.0"), std::nullopt);
  EXPECT_EQ(integer_of(""), std::nullopt);
  EXPECT_EQ(integer_of("99999999999999999999"), std::nullopt);
}

}  // namespace
}  // namespace evenkeel::tasks
