// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry points. campaign_fuzz --target=NAME --folder=DIR --checkpoint=DIR [options]
// CORPUS... A target fails where the program would end with a signal or with exit code 70.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <string>

#include "evenkeel/base/error.h"
#include "mutate.h"
#include "targets.h"

namespace evenkeel::campaign {

namespace {

const FuzzTarget* target = nullptr;
std::filesystem::path folder;

/// The value of "--NAME=VALUE" among the arguments; ends the process if there is none.
std::string option(int count, char** words, const std::string& name) {
  const auto start = "--" + name + "=";
  const auto* const end = words + count;
  const auto* const found = std::find_if(
      words, words + count, [&](const char* word) { return std::string(word).starts_with(start); });
  if (found != end) return std::string(*found).substr(start.size());
  std::fprintf(stderr, "campaign_fuzz: %s is missing\n", start.c_str());
  std::exit(static_cast<int>(Exit::usage));
}

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "exit code 70: %s\n", what);
  std::abort();
}

/// Runs the target, and aborts where the program would report a bug of its own.
void judge(const std::string& input) {
  try {
    target->run(input, folder);
  } catch (const Error& error) {
    if (error.exit() == Exit::internal) fail(error.what());
  } catch (const std::filesystem::filesystem_error&) {  // exit code 74
  } catch (const std::bad_alloc&) {                     // exit code 75
  } catch (const std::exception& error) {
    fail(error.what());
  }
}

void choose_target(int count, char** words) {
  const auto name = option(count, words, "target");
  for (const auto& each : fuzz_targets()) {
    if (each.name == name) target = &each;
  }
  if (target == nullptr) {
    std::fprintf(stderr, "campaign_fuzz: no target is named %s\n", name.c_str());
    std::exit(static_cast<int>(Exit::usage));
  }
  folder = option(count, words, "folder");
  checkpoint_files = option(count, words, "checkpoint");
  std::filesystem::create_directories(folder);
}

}  // namespace

}  // namespace evenkeel::campaign

extern "C" int LLVMFuzzerInitialize(int* count, char*** words) {
  evenkeel::campaign::choose_target(*count, *words);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  evenkeel::campaign::judge(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const auto out =
      evenkeel::campaign::mutated(evenkeel::campaign::target->grammar, input, seed, most);
  std::copy(out.begin(), out.end(), data);
  return out.size();
}
