// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string_view>

#include "config/config_fixture.h"
#include "evenkeel/base/philox.h"

namespace evenkeel::config {
namespace {

class Fuzz : public TemporaryFolderTest {};

constexpr std::string_view kBytes = "=[]{}\"'.,#_-+()eEx0123456789 \n\t\\\x01\x7f\xc3\xff";

/// The text with one to eight bytes replaced, dropped, or a piece of it doubled.
std::string mutated(std::string toml, const Philox& random, std::uint64_t number) {
  std::uint64_t draw = 0;
  const auto below = [&](std::size_t bound) {
    return static_cast<std::size_t>(random.below(bound, draw++, number));
  };
  for (auto left = 1 + below(8); left > 0 && !toml.empty(); --left) {
    const auto at = below(toml.size());
    switch (below(4)) {
      case 0:
        toml[at] = kBytes[below(kBytes.size())];
        break;
      case 1:
        toml.insert(at, 1, kBytes[below(kBytes.size())]);
        break;
      case 2:
        toml.erase(at, 1 + below(12));
        break;
      default:
        toml.insert(at, toml.substr(below(toml.size()), 1 + below(40)));
    }
  }
  return toml;
}

TEST_F(Fuzz, MutatedFilesAreReadOrRefusedInOneLine) {
  const auto good = to_toml(config_of_sets({"scheme.norm={ epsilon = 1e-7 }"}));
  const Philox random(1, "mutations");
  int read = 0;
  int refused = 0;
  for (std::uint64_t number = 0; number < 2000; ++number) {
    const auto toml = mutated(good, random, number);
    try {
      config_of_file(toml);
      ++read;
    } catch (const Error& error) {
      ++refused;
      EXPECT_EQ(error.exit(), Exit::usage) << error.what();
      EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos) << error.what();
    }
  }
  EXPECT_GT(read, 20);  // both happen, so the mutations are neither harmless nor all fatal
  EXPECT_GT(refused, 1000);
}

TEST_F(Fuzz, MutatedSettingsAreTakenOrRefused) {
  const Philox random(2, "mutations");
  for (std::uint64_t number = 0; number < 2000; ++number) {
    try {
      config_of_sets({mutated("optimizer.betas=[0.9, 0.95]", random, number)});
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::usage) << error.what();
    }
  }
}

}  // namespace
}  // namespace evenkeel::config
