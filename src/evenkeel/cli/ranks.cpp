// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/ranks.h"

#include <ATen/Version.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "evenkeel/base/cpu_features.h"
#include "evenkeel/base/digest.h"
#include "evenkeel/base/file.h"
#include "evenkeel/base/print.h"
#include "evenkeel/base/version.h"
#include "evenkeel/cli/failure.h"
#include "evenkeel/comm/join.h"
#include "evenkeel/comm/launch.h"
#include "evenkeel/comm/nccl_library.h"
#include "evenkeel/config/keys.h"
#include "evenkeel/ops/common/compute_device.h"
#include "evenkeel/ops/common/gpu.h"
#include "evenkeel/store/run_folder.h"
#include "evenkeel/train/machine.h"
#include "evenkeel/train/signals.h"

namespace evenkeel::cli {

namespace {

constexpr int kMostLocalRanks = 4096;
constexpr int kMostRestarts = 1'000'000;

/// Whether --device has the number of a GPU.
bool names_gpu(const CommonOptions& common) {
  return common.device.starts_with("cuda:");
}

/// The configuration of the command, on top of run.toml if the run exists.
config::Config config_of_rank(const CommonOptions& common) {
  const bool resumes = common.run && std::filesystem::exists(*common.run / "run.toml");
  auto sources = resumes ? common.sources_with_run() : common.sources();
  if (resumes) sources.preset.reset();  // open_run() compares it with that of run.toml
  return config::resolve(sources);
}

/// What this rank trains on: use_device() chose it.
comm::RankDevice device_of_rank(const CommonOptions& common) {
  const auto device = ops::compute_device();
  if (device.is_cpu()) return {};
  return {.device = device,
          .gpu = ops::gpu_info(device.index()).uuid,
          .gpus = ops::gpu_count(),
          .is_named = names_gpu(common)};
}

/// Ranks on different GPUs, or versions of NCCL, may differ in bits or not understand each other.
void add_device_facts(comm::Facts& facts) {
  const auto device = ops::compute_device();
  if (device.is_cpu()) return facts.emplace_back("--device", "cpu"), void();
  const auto gpu = ops::gpu_info(device.index());
  facts.emplace_back("--device", text(gpu.name, " (", gpu.architecture, ")"));
  facts.emplace_back("nccl", comm::nccl_version());
}

/// What must be equal on all ranks. Network interfaces are those of a machine.
comm::Facts facts_of_rank(const CommonOptions& common, const config::Config& config) {
  comm::Facts facts = {{"evenkeel", text(kVersion, " (", commit(), ")")},
                       {"libtorch", TORCH_VERSION},
                       {"isa", CpuFeatures::detect().isa()},
                       {"libtorch_isa", at::get_cpu_capability()},
                       {"float32_products", train::float32_products(ops::compute_device())},
                       {"--run", common.run ? common.run->string() : "(none)"}};
  add_device_facts(facts);
  for (const auto& section : config::sections()) {
    for (const auto& key : section.keys) {
      const auto name = config::full_name(section, key);
      if (name == "distributed.interface") continue;
      facts.emplace_back(name, key.write(config));
    }
  }
  const auto scheme = config::scheme_text(config.scheme);
  facts.emplace_back("scheme", text(config.scheme.name, " (digest of its table: ",
                                    digest(scheme.data(), scheme.size()).substr(0, 8), ")"));
  return facts;
}

/// The arguments of this process.
std::vector<std::string> own_command() {
  std::vector<std::string> command(1);
  for (const char each : read_file("/proc/self/cmdline")) {
    if (each == '\0') {
      command.emplace_back();
    } else {
      command.back() += each;
    }
  }
  command.pop_back();  // the last argument ends with a NUL, too
  return command;
}

/// Restarted ranks go on with one run: its folder is named before the first start.
void add_run_folder(std::vector<std::string>& command, const CommonOptions& common,
                    const config::Config& config) {
  if (common.run) return;
  command.emplace_back("--run");
  command.push_back(
      store::new_run_folder("runs", config.scheme.name + "-" + config.preset).string());
}

/// Reports an error of this rank to the other ranks, prints it if no other rank was faster, and
/// ends the process: other threads may wait for a lost rank.
[[noreturn]] void end_rank(comm::Group& group, Exit exit, const std::string& message) {
  if (group.fail(exit, message)) {
    print_message(text("evenkeel: ", message));
    if (exit == Exit::internal) print_message(text("evenkeel: ", kBugLine));
  }
  flush_output();
  ::_exit(static_cast<int>(exit));
}

}  // namespace

void add_ranks(const Command& command, RankOptions& options) {
  command
      .add_option("--ranks", options.ranks,
                  "processes of this machine that train together; default: 1")
      .type_name("N")
      .between(1, kMostLocalRanks);
}

void add_restarts(const Command& command, RankOptions& options) {
  command
      .add_option("--restarts", options.restarts,
                  "with --ranks: restarts after a lost rank; default: 0")
      .type_name("K")
      .between(0, kMostRestarts);
}

void check_devices(const CommonOptions& common, const RankOptions& options) {
  if (options.ranks <= 1) return;
  const auto device = ops::parse_device(common.device);
  if (device.is_cpu() || names_gpu(common) || options.ranks <= ops::gpu_count()) return;
  throw Error(Exit::usage, comm::too_few_gpus_text(options.ranks, ops::gpu_count()));
}

std::optional<Exit> launch_ranks(const CommonOptions& common, const RankOptions& options) {
  const auto place = comm::place_of(comm::process_environment());
  if (place.launcher == comm::Launcher::own) return std::nullopt;
  if (options.restarts > 0 && options.ranks == 0) {
    throw Error(Exit::usage,
                "--restarts needs --ranks; torchrun has --max-restarts, Slurm --requeue");
  }
  if (options.ranks == 0) return std::nullopt;
  const bool is_started =
      place.launcher == comm::Launcher::torchrun || place.launcher == comm::Launcher::mpirun;
  if (is_started) {
    throw Error(Exit::usage, text("--ranks ", options.ranks, ": ", launcher_name(place.launcher),
                                  " already started this process as rank ", place.rank, " of ",
                                  place.ranks, "; leave --ranks out"));
  }
  if (options.ranks == 1 && options.restarts == 0) return std::nullopt;
  const auto config = config_of_rank(common);
  auto command = own_command();
  if (options.restarts > 0) add_run_folder(command, common, config);
  const auto timeout = static_cast<double>(config.distributed.heartbeat_timeout);
  return static_cast<Exit>(comm::launch({.ranks = options.ranks,
                                         .restarts = options.restarts,
                                         .command = command,
                                         .heartbeat_timeout = timeout}));
}

comm::Group join_ranks(const CommonOptions& common) {
  const auto place = comm::place_of(comm::process_environment());
  if (place.tasks_of_job > 1) {
    print_message(
        text("warning: this job of Slurm has ", place.tasks_of_job,
             " tasks, but srun did not start this process, which trains as one rank; for ",
             place.tasks_of_job, " ranks: srun evenkeel ..."));
  }
  if (place.ranks == 1) return {};
  using std::chrono::seconds;
  const auto config = config_of_rank(common);
  const auto& keys = config.distributed;
  train::release_signals();  // one of them ends a rank that waits for other ranks
  auto group = comm::join(place,
                          {.connect_timeout = seconds(keys.connect_timeout),
                           .heartbeat_timeout = seconds(keys.heartbeat_timeout),
                           .collective_timeout = seconds(keys.collective_timeout),
                           .interface = keys.interface,
                           .backend = keys.backend,
                           .device = device_of_rank(common)},
                          facts_of_rank(common, config));
  train::hold_signals();
  return group;
}

Exit run_rank(comm::Group& group, const std::function<Exit()>& body) {
  try {
    const auto exit = body();
    group.leave();
    return exit;
  } catch (...) {
    if (group.ranks() == 1) throw;
    const auto failure = current_failure();
    end_rank(group, failure.exit, failure.message);
  }
}

}  // namespace evenkeel::cli
