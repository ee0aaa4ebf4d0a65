// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "evenkeel/base/print.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/store/run_folder.h"
#include "evenkeel/train/signals.h"
#include "evenkeel/watch/watch_server.h"

namespace evenkeel::cli {

namespace {

constexpr int kWatchPort = 6007;
constexpr const char* kWatchExamples = R"(Examples:
  evenkeel watch                          all runs in ./runs, also those that begin later
  evenkeel watch runs/pre_norm-tiny-1     one run
  evenkeel watch runs/a runs/b --port 0   several runs, on a free port)";

/// Warns of folders whose runs no page shows, and of a place that cannot be searched.
void warn_of_hidden_runs(const std::vector<std::filesystem::path>& places) {
  std::vector<std::filesystem::path> unreadable;
  for (const auto& place : places) {
    try {
      const auto folders = store::unreadable_folders(place);
      unreadable.insert(unreadable.end(), folders.begin(), folders.end());
    } catch (const Error& error) {  // may pass: a page searches the place again
      print_message(text("warning: ", error.what()));
    }
  }
  warn_of_unreadable(unreadable);
}

/// Serves the pages until SIGINT, SIGTERM or SIGHUP.
/// \throws Error (data) for a place that is no folder; (busy, io) for the port
Exit run_watch(const std::vector<std::filesystem::path>& places, int port) {
  constexpr std::chrono::milliseconds kSlice{100};
  train::catch_signals();
  const watch::WatchServer server(watch::WatchedRuns(places), port);
  print("watching on http://127.0.0.1:%d/\n", server.port());
  flush_output();
  warn_of_hidden_runs(places);
  while (!train::stop_wanted()) std::this_thread::sleep_for(kSlice);
  return Exit::success;
}

}  // namespace

/// `watch` serves the pages of `report` on the loopback interface; open pages follow the runs. It
/// ends at SIGINT, SIGTERM or SIGHUP.
/// Exit codes: 65 a place is no folder; 74 the port cannot be used; 75 the port is in use.
Verb add_watch(const Command& program) {
  struct Options {
    std::vector<std::filesystem::path> places = {"runs"};
    int port = kWatchPort;
  };
  constexpr int kLargestPort = 65535;
  const auto options = std::make_shared<Options>();
  const auto command = program.add_subcommand("watch", verb_summary("watch"));
  command.add_option("runs", options->places, "run folders or folders of runs; default: runs")
      .type_name("FOLDER")
      .not_empty();
  command.add_option("--port", options->port, "port of 127.0.0.1; 0: a free one; default: 6007")
      .type_name("PORT")
      .between(0, kLargestPort);
  command.footer(kWatchExamples);
  return {.command = command,
          .body = [options] { return run_watch(options->places, options->port); },
          .catches_signals = true};
}

}  // namespace evenkeel::cli
