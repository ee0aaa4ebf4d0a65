// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>

#include "evenkeel/base/version.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/memory/caching_allocator.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kFooter = R"(Start with:
  evenkeel train                       a small HybridNorm* model on a built-in corpus, in a minute
  evenkeel train --scheme pre_norm     the same under another normalization
  evenkeel schemes                     what there is to choose from
Exit codes: docs/exit_codes.md. Every verb: evenkeel VERB --help)";

void complain(const char* what) {
  std::fprintf(stderr, "evenkeel: %s\n", what);
}

int run(int count, char** words) {
  CLI::App program("Trains decoder transformers and measures what normalization does to them.",
                   "evenkeel");
  program.set_version_flag("--version",
                           std::string("evenkeel ") + kVersion + " (" + commit() + ")");
  program.footer(kFooter);
  program.require_subcommand(1);
  const Verb verbs[] = {add_train(program),   add_generate(program), add_eval(program),
                        add_schemes(program), add_plan(program),     add_config(program),
                        add_report(program),  add_runs(program),     add_verify(program)};
  try {
    program.parse(count, words);
  } catch (const CLI::Success& help) {
    return program.exit(help);
  } catch (const CLI::ParseError& error) {
    complain((std::string(error.what()) + "; see `evenkeel --help`").c_str());
    return static_cast<int>(Exit::usage);
  }
  for (const auto& verb : verbs) {
    if (verb.app->parsed()) return static_cast<int>(verb.body());
  }
  return static_cast<int>(Exit::usage);
}

}  // namespace

}  // namespace evenkeel::cli

int main(int count, char** words) {
  using evenkeel::Exit;
  evenkeel::memory::cache_cpu_tensors();
  try {
    return evenkeel::cli::run(count, words);
  } catch (const evenkeel::Error& error) {
    evenkeel::cli::complain(error.what());
    return static_cast<int>(error.exit());
  } catch (const std::bad_alloc&) {
    evenkeel::cli::complain("out of memory; `evenkeel plan` shows what a configuration needs");
    return static_cast<int>(Exit::busy);
  } catch (const std::exception& error) {
    evenkeel::cli::complain(error.what());
    evenkeel::cli::complain("this is our own fault; please report it with the line above");
    return static_cast<int>(Exit::internal);
  }
}
