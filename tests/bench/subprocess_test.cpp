// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/subprocess.h"

#include <gtest/gtest.h>

#include "evenkeel/base/error.h"

namespace evenkeel::bench {
namespace {

class SubprocessTest : public ::testing::Test {
 protected:
  /// The message of what `work` throws.
  template <typename Work>
  static std::string message(const Work& work) {
    try {
      work();
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::io);
      return error.what();
    }
    return "no error";
  }

  std::filesystem::path log_ = std::filesystem::path(::testing::TempDir()) / "child.log";
};

TEST_F(SubprocessTest, AnswersLineByLine) {
  Subprocess process({"sh", "-c", "echo '{\"n\":0}'; while read line; do echo \"$line\"; done"},
                     log_);
  EXPECT_EQ(process.read_reply().at("n"), 0);
  for (int n = 1; n < 4; ++n) EXPECT_EQ(process.request({{"n", n}}).at("n"), n);
}

TEST_F(SubprocessTest, SaysItsLastWordsWhenItDies) {
  Subprocess process({"sh", "-c", "echo 'no torch here' >&2; exit 1"}, log_);
  EXPECT_EQ(message([&] { process.read_reply(); }),
            "sh: ended before its time; its last words: no torch here");
}

TEST_F(SubprocessTest, DiesBetweenTwoQuestions) {
  Subprocess process({"sh", "-c", "read line; echo \"$line\""}, log_);
  EXPECT_EQ(process.request({{"n", 1}}).at("n"), 1);
  EXPECT_EQ(message([&] {
              process.request({{"n", 2}});
              process.request({{"n", 3}});
            }),
            "sh: ended before its time");
}

TEST_F(SubprocessTest, AnswersSomethingElse) {
  Subprocess process({"sh", "-c", "echo hello"}, log_);
  EXPECT_EQ(message([&] { process.read_reply(); }), "sh: gave an answer that is no JSON object");
}

TEST_F(SubprocessTest, CannotBeStarted) {
  EXPECT_EQ(message([&] { Subprocess({"no-such-program"}, log_); }),
            "no-such-program: cannot be started: No such file or directory");
}

}  // namespace
}  // namespace evenkeel::bench
