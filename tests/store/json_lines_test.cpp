// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/json_lines.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <cmath>
#include <csignal>

#include "evenkeel/store/system_calls.h"
#include "store/support.h"

namespace evenkeel::store {
namespace {

TEST(JsonLinesFile, AppendsNumbersThatReadBackBitwise) {
  const auto file = fresh_folder() / "metrics.jsonl";
  JsonLinesFile records(file);
  records.append({{"step", 1}, {"loss", 0.1}, {"lr", 3e-5}});
  records.append({{"step", 2}, {"loss", 1.0 / 3}, {"note", "a\nb"}});
  EXPECT_EQ(read_file(file),
            "{\"step\":1,\"loss\":0.1,\"lr\":3e-05}\n"
            "{\"step\":2,\"loss\":0.3333333333333333,\"note\":\"a\\nb\"}\n");
  const auto read = read_json_lines(file).records;
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[1].at("loss").get<double>(), 1.0 / 3);
}

TEST(JsonLinesFile, WritesNullForNonfiniteNumbers) {
  const auto file = fresh_folder() / "metrics.jsonl";
  JsonLinesFile(file).append({{"loss", std::nan("")}, {"norm", HUGE_VAL}, {"text", "\xff"}});
  EXPECT_EQ(read_file(file), "{\"loss\":null,\"norm\":null,\"text\":\"\xef\xbf\xbd\"}\n");
}

TEST(JsonLinesFile, NamesTheFileThatCannotBeWritten) {
  const auto file = fresh_folder() / "none" / "metrics.jsonl";
  EXPECT_EQ(error_of([&] { JsonLinesFile(file).append({{"step", 1}}); }),
            "74 " + file.string() + ": cannot open: No such file or directory");
}

TEST(JsonLinesFile, LeavesNoTornLineWhenTheDiskIsFull) {
  const auto file = fresh_folder() / "metrics.jsonl";
  JsonLinesFile records(file);
  records.append({{"step", 1}});
  const auto whole = read_file(file);
  struct rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto small = before;
  small.rlim_cur = whole.size() + 5;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto said = error_of([&] { records.append({{"step", 2}}); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(said,
            "74 " + file.string() + ": cannot append: File too large; `ulimit -f` shows the limit");
  EXPECT_EQ(read_file(file), whole);
}

TEST(ThrowSystemError, NamesTheFileSystemWhereTheProcessHasNoLimit) {
  struct rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  if (before.rlim_cur != RLIM_INFINITY) GTEST_SKIP() << "this process has a limit";
  EXPECT_EQ(error_of([] { throw_system_error("metrics.jsonl", "append", EFBIG); }),
            "74 metrics.jsonl: cannot append: File too large; the file system takes no larger "
            "file");
}

TEST(ReadJsonLines, KeepsDamagedLinesApart) {
  const auto file = fresh_folder() / "metrics.jsonl";
  EXPECT_TRUE(read_json_lines(file).records.empty());
  put(file,
      std::string("{\"step\":1}\n{\"st{\"step\":2}\n[]\n{\"step\":3}\0\n{\"step\":4}\n{\"step\":5}",
                  59));
  const auto [records, damaged] = read_json_lines(file);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[1].at("step"), 4);
  EXPECT_EQ(damaged, (std::vector<std::string>{"{\"st{\"step\":2}", "[]",
                                               std::string("{\"step\":3}\0", 11)}));
}

TEST(ReadJsonLines, SkipsDeeplyNestedLines) {
  const auto file = fresh_folder() / "metrics.jsonl";
  const auto nested = [](std::size_t depth) {
    return "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}\n";
  };
  put(file, nested(63) + nested(64) + nested(1 << 20) + "{\"a\":\"\\\"[[\"}\n");
  EXPECT_EQ(read_json_lines(file).records.size(), 2U);
  EXPECT_EQ(read_json_lines(file).damaged.size(), 2U);
}

TEST(ReadRecords, WantsAStepInEachRecord) {
  const auto folder = fresh_folder();
  put(folder / "metrics.jsonl",
      "{\"step\":2}\n{\"Step\":3}\n{\"step\":\"4\"}\n{\"step\":null}\n{\"step\":-1}\n"
      "{\"step\":1e300}\n{\"step\":3.5}\n");
  const auto [records, damaged] = read_records(Directory(folder), "metrics.jsonl");
  EXPECT_EQ(records.size(), 2U);
  EXPECT_EQ(damaged.size(), 5U);
  EXPECT_TRUE(read_records(Directory(folder), "none.jsonl").records.empty());
}

}  // namespace
}  // namespace evenkeel::store
