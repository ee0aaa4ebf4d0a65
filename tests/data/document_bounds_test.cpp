// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/document_bounds.h"

#include "data/gzipped.h"
#include "data/refusal.h"
#include "data/temporary_folder.h"

namespace evenkeel::data {
namespace {

using Bounds = std::vector<std::pair<std::int64_t, std::int64_t>>;

class DocumentBounds : public TemporaryFolder {
 protected:
  Bounds bounds(const std::string& content) const {
    Bounds found;
    read_document_bounds(file("a.csv.gz", content), 10, [&](std::int64_t start, std::int64_t end) {
      found.emplace_back(start, end);
    });
    return found;
  }
  std::string refused(const std::string& content) const {
    return refusal([&] { bounds(content); }).substr(path("").size());
  }
};

TEST_F(DocumentBounds, AreReadFromGzipAndFromPlainText) {
  EXPECT_EQ(bounds(gzipped("0,3\n3,10\n")), (Bounds{{0, 3}, {3, 10}}));
  EXPECT_EQ(bounds("0,3,id,source\r\n5,10\r\n"), (Bounds{{0, 3}, {5, 10}}));
}

TEST_F(DocumentBounds, AreTheSameAfterTheyWereWritten) {
  const auto packed = document_bounds_packed({3, 4, 10});
  EXPECT_EQ(bounds(packed), (Bounds{{0, 3}, {3, 4}, {4, 10}}));
  EXPECT_EQ(packed.substr(4, 4), std::string(4, '\0'));  // the time of RFC 1952
}

TEST_F(DocumentBounds, MustNotOverlapOrLieOutside) {
  EXPECT_EQ(
      refused("0,3\n2,4\n"),
      "a.csv.gz:2: a document must lie within the tokens 3 to 10, but goes from 2 to 4; write "
      "the file again");
  EXPECT_EQ(refused("0,11\n"),
            "a.csv.gz:1: a document must lie within the tokens 0 to 10, but goes from 0 to 11; "
            "write the file again");
  EXPECT_EQ(
      refused("3,3\n"),
      "a.csv.gz:1: a document must lie within the tokens 0 to 10, but goes from 3 to 3; write "
      "the file again");
}

TEST_F(DocumentBounds, MustBeNumbers) {
  for (const auto* const line : {"start,end", "3", "3,", "3,x", "3,4x", "99999999999999999999,1"}) {
    EXPECT_EQ(refused(line), std::string("a.csv.gz:1: must be the numbers start,end of a document, "
                                         "but is \"") +
                                 line + "\"; write the file again");
  }
}

}  // namespace
}  // namespace evenkeel::data
