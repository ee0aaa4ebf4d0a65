// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/corpus_checks.h"

#include <gtest/gtest.h>

#include "data/temporary_folder.h"
#include "evenkeel/base/error.h"

namespace evenkeel::data {
namespace {

using Warnings = std::vector<std::string>;

class CorporaWarnings : public TemporaryFolder {
 protected:
  static Warnings warnings_of(const config::Data& data, std::int64_t context = 4) {
    return corpora_warnings(load_corpora(data, context), data, context);
  }
  std::string a() const { return file("a.txt", "one text\ntwo texts\nthree texts\n"); }
};

TEST_F(CorporaWarnings, AreNoneForTextsOfTheirOwn) {
  const auto b = file("b.txt", "another text");
  EXPECT_EQ(warnings_of({.train = {a()}, .validation = {b}}), Warnings{});
  EXPECT_EQ(warnings_of({.train = {a(), b}, .validation_fraction = 0.5}), Warnings{});
  EXPECT_EQ(warnings_of({}), Warnings{});
}

TEST_F(CorporaWarnings, NameAValidationFileOfTheTraining) {
  const auto warning = [](const std::string& files, const std::string& share = "1 of 1 file") {
    return Warnings{"data.validation: " + files + " read for training, too (" + share +
                    "), so that the validation loss is no measure of new text; name other files, "
                    "or \"auto\""};
  };
  EXPECT_EQ(warnings_of({.train = {a()}, .validation = {a()}}), warning(a() + " is"));
  const auto copy = file("copy.txt", read_file(a()));
  const auto b = file("b.txt", "another text");
  EXPECT_EQ(warnings_of({.train = {b, a()}, .validation = {copy}}), warning(copy + " is"));
  EXPECT_EQ(warnings_of({.train = {b, a()}, .validation = {copy, b}}),
            warning(copy + " and 1 more are", "2 of 2 files"));
}

// A tenth of the files matters: one of ten, not one of eleven. Empty files do not count.
TEST_F(CorporaWarnings, AreMildForFewValidationFilesOfTheTraining) {
  const auto license = file("code/LICENSE.md", "Everybody may copy this text.");
  file("more/LICENSE.md", read_file(license));
  file("more/__init__.py", "");
  for (int i = 1; i < 10; ++i) file(text("more/", i, ".py"), text("x = ", i));
  const auto start =
      "data.validation: " + path("more/LICENSE.md") + " is read for training, too (1 of ";
  const config::Data data = {.train = {path("code")}, .validation = {path("more")}};
  EXPECT_EQ(warnings_of(data).at(0),
            start +
                "10 files), so that the validation loss is no measure of new text; name other "
                "files, or \"auto\"");
  file("more/10.py", "x = 10");
  EXPECT_EQ(warnings_of(data),
            Warnings{start + "11 files); leave equal files out of one of the texts"});
}

TEST_F(CorporaWarnings, NameATrainingFileThatIsReadTwice) {
  const auto b = file("b.txt", "another text");
  const auto again = path("../" + std::filesystem::path(a()).parent_path().filename().string() +
                          "/a.txt");  // another name of the file
  const Warnings wanted = {"data.train: " + again + " is read twice; name each file once"};
  EXPECT_EQ(warnings_of({.train = {a(), again}, .validation = {b}}), wanted);
  EXPECT_EQ(warnings_of({.train = {a(), again}, .weights = {1, 2}, .validation = {b}}), Warnings{})
      << "weights repeat a text on purpose";
  const auto copy = file("copy.txt", read_file(a()));
  EXPECT_EQ(warnings_of({.train = {a(), copy}, .validation = {b}}), Warnings{})
      << "two files may have one content";
}

TEST_F(CorporaWarnings, NameAValidationPartOfAtMostOneWindow) {
  const Warnings wanted = {
      "data.validation: the part of " + a() +
      " has 3 tokens, at most one window of model.context = 4, so that its loss depends on chance; "
      "raise data.validation_fraction or name files"};
  EXPECT_EQ(warnings_of({.train = {a()}, .validation_fraction = 0.000001}), wanted);
  EXPECT_EQ(warnings_of({.train = {a()}, .validation_fraction = 0.2}), Warnings{});
}

// Each rank reads the texts, one prints.
TEST_F(CorporaWarnings, AreInTheResultAndNotPrinted) {
  const config::Data data = {.train = {a()}, .validation = {a()}};
  ::testing::internal::CaptureStderr();
  const auto corpora = load_corpora(data, 4);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(corpora.warnings.size(), 1U);
  EXPECT_EQ(corpora.warnings, corpora_warnings(corpora, data, 4));
}

TEST_F(CorporaWarnings, ArePrintedOnce) {
  const config::Data data = {.train = {a()}, .validation = {a()}};
  ::testing::internal::CaptureStderr();
  print_warnings_once(load_corpora(data, 4).warnings);
  print_warnings_once(load_corpora(data, 4).warnings);
  const auto printed = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(printed, "warning: " + corpora_warnings(load_corpora(data, 4), data, 4).at(0) + "\n");
}

}  // namespace
}  // namespace evenkeel::data
