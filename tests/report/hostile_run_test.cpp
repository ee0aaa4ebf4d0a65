// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/report/report.h"
#include "evenkeel/report/run.h"
#include "report/xml_check.h"

/// A report of files that no run of ours has written.
namespace evenkeel::report {
namespace {

namespace fs = std::filesystem;

class HostileRun : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(run_);
    write_file(run_ / "metrics.jsonl", "{\"step\":1,\"loss\":1}\n");
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string page(const std::vector<fs::path>& runs) const {
    write_report(runs, root_ / "report.html");
    auto content = read_file(root_ / "report.html");
    EXPECT_EQ(xml_error(content), "");
    return content;
  }

  const fs::path root_ = fs::path(::testing::TempDir()) / "evenkeel_hostile_run_test";
  const fs::path run_ = root_ / "run";
  const fs::path other_ = root_ / "other";
};

TEST_F(HostileRun, DrawsNumbersOfEverySize) {
  const std::vector<const char*> numbers = {"5e-324", "-5e-324", "1e308",
                                            "-1e308", "1e-160",  "9223372036854775807"};
  for (const std::string x : numbers) {
    for (const std::string y : numbers) {
      std::string metrics, probes;
      for (const auto& [step, value] :
           {std::pair<std::string, std::string>{"1", x}, {"2", y}, {y, x}}) {
        metrics += "{\"step\":" + step;
        for (const auto* const key : {"loss", "lr", "grad_norm", "val_loss", "val_gap", "val_floor",
                                      "step_s", "tokens_per_s", "tokens", "memory_bytes"}) {
          metrics += text(",\"", key, "\":", value);
        }
        metrics += ",\"expert_blocks\":[1],\"tokens_per_expert\":[[1," + value + "]]}\n";
        probes += "{\"step\":" + step +
                  ",\"first\":" + (step == "1" ? "0" : "9223372036854775807") + ",\"values\":[" +
                  x + "," + y + "],\"measure\":\"grad_norm\",\"part\":\"\",\"on\":\"training\"}\n";
      }
      write_file(run_ / "metrics.jsonl", metrics);
      write_file(run_ / "probes.jsonl", probes);
      write_file(run_ / "health.jsonl", "{\"step\":" + x + ",\"event\":\"e\",\"detail\":\"d\"}\n");
      write_file(run_ / "status.json", "{\"state\":\"s\",\"step\":" + x + ",\"steps\":" + y + "}");
      EXPECT_LT(page({run_}).size(), 200000u);
      fs::copy(run_, other_, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
      EXPECT_LT(page({run_, other_}).size(), 200000u);
    }
  }
}

TEST_F(HostileRun, NamesFilesThatAreNestedTooDeep) {
  std::string key = "a";
  for (int part = 1; part < 50000; ++part) key += ".a";
  write_file(run_ / "run.toml", key + " = 1");
  write_file(run_ / "status.json", std::string(300000, '['));
  std::string nested;
  for (int level = 0; level < 200000; ++level) nested += "{\"a\":";
  write_file(run_ / "provenance.json", nested + "1" + std::string(200000, '}'));
  page({run_});
  const auto missing = read_run(run_).missing;
  EXPECT_EQ(missing.at("run.toml"),
            "run.toml cannot be read: line 1: tables, lists and dotted keys must be nested at most "
            "64 deep, but are deeper");
  for (const auto* const name : {"status.json", "provenance.json"}) {
    EXPECT_EQ(missing.at(name), text(name, " cannot be read: wanted a JSON object"));
  }
}

TEST_F(HostileRun, NamesFilesThatArePipes) {
  for (const std::string name : {"status.json", "probes.jsonl", "sample.txt"}) {
    ASSERT_EQ(::mkfifo((run_ / name).c_str(), 0600), 0);
    page({run_});
    EXPECT_EQ(read_run(run_).missing.at(name),
              text(name, " cannot be read: ", (run_ / name).string(),
                   ": must be a regular file, but is a pipe"));
  }
}

}  // namespace
}  // namespace evenkeel::report
