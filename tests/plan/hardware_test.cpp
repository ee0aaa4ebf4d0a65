// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/plan/hardware.h"

#include <gtest/gtest.h>

#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/base/replace_all.h"

namespace evenkeel::plan {
namespace {

constexpr const char* kMachine = R"(title = "Two cores"
precision = "float32"
ranks_per_host = 2
peak_flops = 5e10
mfu = 0.7
memory_bytes = 8_000_000_000
memory_bandwidth = 1e10
within_host_bandwidth = 2e9
between_hosts_bandwidth = 1e8
)";

std::string refusal(const std::string& toml) {
  try {
    parse_hardware(toml, "my.toml");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Hardware, IsReadFromAFile) {
  const auto machine = parse_hardware(
      text(kMachine, "overlap = 0\nbucket_bytes = 4e6\n[mfu_of_preset]\n7b = 0.5\n"), "my.toml");
  EXPECT_EQ(machine.name, "my.toml");
  EXPECT_EQ(machine.title, "Two cores");
  EXPECT_EQ(machine.precision, "float32");
  EXPECT_EQ(machine.ranks_per_host, 2);
  EXPECT_EQ(machine.memory_bytes, 8e9);
  EXPECT_EQ(machine.overlap, 0);
  EXPECT_EQ(machine.bucket_bytes, 4e6);
  EXPECT_EQ(machine.latency, 15e-6);
  EXPECT_EQ(machine.mfu_alone("7b"), 0.5);
  EXPECT_EQ(machine.mfu_alone("nano"), 0.7);
}

TEST(Hardware, AFileIsChecked) {
  EXPECT_EQ(refusal("title = \"x\"\n"),
            "my.toml: a machine must have the key precision, but the file has none; "
            "docs/plan_ranks.md lists the keys");
  EXPECT_EQ(refusal(replace_all(kMachine, "mfu = 0.7", "mfu = 70")),
            "my.toml:5: mfu must be a number in (0, 1], but is 70");
  EXPECT_EQ(refusal(replace_all(kMachine, "float32", "int8")).substr(0, 26),
            "my.toml:2: precision: unkn");
  EXPECT_EQ(refusal(text(kMachine, "ram = 5\n")).substr(0, 28), "my.toml:10: ram: unknown key");
  EXPECT_EQ(refusal(text(kMachine, "[mfu_of_preset]\n8b = 0.5\n")).substr(0, 28),
            "my.toml:11: mfu_of_preset.8b");
}

TEST(Hardware, HasBuiltInMachines) {
  EXPECT_EQ(hardware_names(), (std::vector<std::string>{"h100", "h200"}));
  for (const auto& name : hardware_names()) EXPECT_EQ(built_in_hardware(name).name, name);
  EXPECT_EQ(built_in_hardware("h200").mfu_alone("moe_1b_7b"), 0.4);
  try {
    built_in_hardware("h20");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "--machine: no machine is named \"h20\"; did you mean \"h200\"? known: h100, "
                 "h200; or name a TOML file");
  }
}

}  // namespace
}  // namespace evenkeel::plan
