// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/train.h"

#include <ATen/Parallel.h>

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "evenkeel/base/printable.h"
#include "evenkeel/comm/agreement.h"
#include "evenkeel/ops/common/short_waits.h"
#include "evenkeel/store/directory.h"
#include "evenkeel/store/run_folder.h"
#include "evenkeel/train/console.h"
#include "evenkeel/train/follower.h"
#include "evenkeel/train/rank_checks.h"
#include "evenkeel/train/run.h"
#include "evenkeel/train/signals.h"
#include "evenkeel/train/trainer.h"

namespace evenkeel::train {

namespace {

/// Its destructor removes the folder that open_run() created, if no run started there, so that a
/// configuration error leaves no empty folder. It holds the lock until then.
class UnusedFolderRemover {
 public:
  explicit UnusedFolderRemover(const OpenRun& run) : lock_(run.lock), is_new_(run.is_new) {}
  UnusedFolderRemover(const UnusedFolderRemover&) = delete;
  UnusedFolderRemover& operator=(const UnusedFolderRemover&) = delete;
  ~UnusedFolderRemover() {
    try {
      remove_unused();
    } catch (const Error&) {  // an empty folder stays
      return;
    }
  }

 private:
  void remove_unused() const {
    const auto& folder = lock_->directory();
    if (folder.has("run.toml")) return;
    lock_->remove_file();
    std::error_code none;
    if (is_new_ && folder.is_at_its_path()) remove(folder.path(), none);  // fails if not empty
  }

  std::shared_ptr<store::Lock> lock_;
  bool is_new_;
};

/// Checks that the ranks can train this run, and sends its start to the other ranks.
void start_on_ranks(OpenRun& open, const std::vector<std::string>& overrides, comm::Group& group) {
  const bool is_free = config::is_named("train.gradient_shards", overrides);
  if (!open.is_resumed || is_free) resolve_shards(open.config, group.ranks());
  check_ranks(open.config, group.ranks(), /*needs_override=*/open.is_resumed && !is_free);
  check_scheme_on_ranks(open.config, group);
  group.set_run_folder(open.folder);
  broadcast_start(group, start_of(open));
  comm::check_shared_folder(group, open.folder);
}

/// Finds the checkpoint of train.from, if a run starts from it.
/// \throws Error (no_checkpoint) if there is none
void find_first_weights(OpenRun& open, Console& console) {
  const std::filesystem::path from = open.config.train.from;
  const bool has_checkpoints = open.newest.found || !open.newest.skipped.empty();
  if (has_checkpoints || from.empty()) return;
  auto search = store::find_checkpoint(from);
  for (const auto& line : search.skipped) console.warn(text("train.from: ", line));
  if (!search.found) {
    throw Error(Exit::no_checkpoint,
                text("train.from: ", from.string(), " has no usable checkpoint to start from",
                     store::import_hint(from)));
  }
  open.from = std::move(search.found);
}

/// A new run has nothing to override. That is no error: the command that starts a run also resumes
/// it after a restart.
void note_unused_overrides(const std::vector<std::string>& overrides, Console& console) {
  for (const auto& name : overrides) {
    console.info(text("note: --override ", name,
                      " has no effect on a new run; it permits changes on resume"));
  }
}

/// A rank other than 0.
Result follow(comm::Group& group) {
  const auto start = broadcast_start(group, {});
  group.set_run_folder(start.folder);
  comm::check_shared_folder(group, start.folder);
  Follower follower(start, group);
  follower.follow();
  return {Exit::success, start.folder};
}

/// "--ranks 2 " if the program itself has started the ranks, for a command that resumes the run.
std::string ranks_option(const comm::Group& group) {
  const bool is_own = group.placement().launcher == "--ranks";
  return is_own ? text("--ranks ", group.ranks(), " ") : "";
}

}  // namespace

Result train(const Request& request, comm::Group& group) {
  catch_signals(/*announces=*/group.is_first());
  if (!group.is_first()) return follow(group);
  Console console(request.quiet);
  auto open = open_run(request);
  const UnusedFolderRemover leftover(open);
  if (request.opened) request.opened(open.folder);
  if (!open.is_resumed) note_unused_overrides(request.overrides, console);
  find_first_weights(open, console);
  start_on_ranks(open, request.overrides, group);
  Run run(request, std::move(open), console, group);
  // Other ranks of this machine are no reason to wait shortly: each has processors of its own.
  const ops::BusyMachineWatch watch(group.ranks() == 1 ? at::get_num_threads() : 1);
  run.start();
  if (run.finished()) {
    console.info(text("finished already at step ", run.progress().step,
                      "; extend it with --set train.steps=", 2 * run.progress().step));
    run.finish("finished");
    return {Exit::success, run.folder()};
  }
  while (!run.finished() && !run.stop_wanted()) run.step();
  run.save_last();
  if (!run.finished()) {
    run.finish("stopped");
    console.info(text("saved at step ", run.progress().step, "; go on with: evenkeel train ",
                      ranks_option(group), "--run ", shell_word(run.folder().string())));
    return {Exit::success, run.folder()};
  }
  run.finish("finished");
  return {Exit::success, run.folder(), /*is_complete=*/true};
}

std::string closing_text(const Result& result, bool quiet) {
  const std::string rule(72, '-');
  auto report = text("report: ", (result.folder / "report.html").string(), "\n");
  if (quiet || !result.is_complete) return report;
  return text(rule, "\n", store::Directory(result.folder).read("sample.txt"), "\n", rule, "\n",
              report);
}

}  // namespace evenkeel::train
