// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/peers.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/bench/gemm_rate.h"
#include "evenkeel/bench/peer_setup.h"
#include "evenkeel/bench/subprocess.h"
#include "evenkeel/bench/usage.h"
#include "evenkeel/data/load_corpora.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/plan/memory.h"
#include "evenkeel/plan/plan.h"
#include "evenkeel/store/safetensors.h"
#include "evenkeel/train/tensor_file.h"
#include "evenkeel/train/trainer.h"

namespace evenkeel::bench {

const std::vector<std::pair<std::string_view, std::string_view>>& embedded_peers();

namespace {

constexpr int kComparedSteps = 3;  // steps with compared losses
constexpr int kBatches = 8;        // the peers repeat these batches; Evenkeel reads on

/// A new folder in the system's temporary folder; its destructor removes it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    auto name = (std::filesystem::temp_directory_path() / "evenkeel-peers-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw Error(Exit::io, text(name, ": cannot be made; TMPDIR names another place"));
    }
    folder_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path at(const std::string& name) const { return folder_ / name; }

 private:
  std::filesystem::path folder_;
};

/// Writes initial weights, batches and the description of the model for the peers.
void write_start(const std::filesystem::path& file, const nlohmann::ordered_json& setup,
                 const nn::Parameters& parameters, const data::TrainingBatches& windows,
                 const config::Config& config) {
  const auto batch = windows.batch(0, kBatches * config.train.batch);
  const std::vector<std::int64_t> shape = {kBatches, config.train.batch, config.model.context};
  std::vector<store::TensorView> tensors = {
      {"inputs", store::Dtype::i64, shape, batch.inputs.data()},
      {"targets", store::Dtype::i64, shape, batch.targets.data()}};
  for (const auto& each : parameters.all()) {
    tensors.push_back(train::view_of(each.name, each.master));
  }
  store::write_safetensors(file, std::move(tensors), {{"setup", setup.dump()}});
}

std::filesystem::path write_script(const TemporaryFolder& scratch) {
  const auto file = scratch.at("torch_peer.py");
  std::ofstream out(file);
  out << embedded_peers().front().second;
  out.close();
  if (!out) throw Error(Exit::io, text(file.string(), ": cannot be written"));
  return file;
}

/// The permitted relative difference of losses. It covers different rounding after a few updates;
/// another model, text or learning rate differs more.
double tolerance(nn::Precision precision) {
  return precision == nn::Precision::bfloat16 ? 1e-2 : 1e-4;
}

void compare_losses(PeersResult& result) {
  const auto& ours = result.peers.front().losses;
  const double limit = tolerance(result.machine.precision);
  for (const auto& peer : result.peers) {
    for (std::size_t i = 0; i < ours.size(); ++i) {
      const double difference = std::abs(peer.losses[i] / ours[i] - 1);
      result.max_loss_difference = std::max(result.max_loss_difference, difference);
      if (difference <= limit) continue;
      throw Error(
          Exit::check_failed,
          text("bench peers: nothing is timed, since this is not the same training: at step ",
               i + 1, " the loss is ", shortest(ours[i]), " here and ", shortest(peer.losses[i]),
               " in ", peer.name, ", ", with_digits(difference, 2), " apart; wanted at most ",
               shortest(limit)));
    }
  }
}

/// A number in the reply of a peer.
double number_in(const nlohmann::json& reply, const char* key) {
  if (reply.contains(key) && reply[key].is_number()) return reply[key].get<double>();
  throw Error(Exit::io, text("bench peers: a peer answered ", reply.dump(),
                             ", without the number \"", key, "\""));
}

/// A compared process: runs steps and reports its usage.
struct Contender {
  std::string name;
  std::unique_ptr<Subprocess> process;  // nullptr: this process
  train::Trainer* trainer = nullptr;

  double step() const {
    if (process == nullptr) return trainer->step().result.loss;
    return number_in(process->request({{"do", "step"}}), "loss");
  }
  Usage usage_now() const {
    if (process == nullptr) return usage();
    const auto reply = process->request({{"do", "usage"}});
    return {number_in(reply, "peak_bytes"), number_in(reply, "faults")};
  }
};

/// Removes features that the peers lack: schedule, probes, micro-batches.
config::Config comparable_config(config::Sources sources) {
  for (const auto* const set : {"schedule.kind=constant", "schedule.warmup=0", "probe.every=0",
                                "probe.steps=[]", "health.on_spike=warn"}) {
    sources.sets.emplace_back(set);
  }
  auto config = config::resolve(sources);
  config.train.micro_batch = config.train.batch;
  return config;
}

/// All compared processes, Evenkeel first, and the version of PyTorch.
struct Contenders {
  std::vector<Contender> all;
  std::string torch;
};

/// Starts one PyTorch process per mode, and waits until each is ready.
Contenders peers_start(train::Trainer& trainer, const PeersOptions& options,
                       const TemporaryFolder& scratch) {
  Contenders result;
  auto& contenders = result.all;
  contenders.push_back({"evenkeel", nullptr, &trainer});
  const auto script = write_script(scratch);
  for (const auto& mode : options.modes) {
    const std::vector<std::string> command = {options.python, script.string(),
                                              scratch.at("start.safetensors").string(), mode};
    contenders.push_back(
        {mode, std::make_unique<Subprocess>(command, scratch.at(mode + ".log")), nullptr});
    result.torch = contenders.back().process->read_reply().value("torch", "");
  }
  return result;
}

/// Runs the first steps of each process and records their losses.
std::vector<Peer> first_steps(const std::vector<Contender>& contenders) {
  std::vector<Peer> peers;
  for (const auto& contender : contenders) {
    Peer peer{.name = contender.name};
    for (int i = 0; i < kComparedSteps; ++i) peer.losses.push_back(contender.step());
    peers.push_back(std::move(peer));
  }
  return peers;
}

void peers_time_steps(const std::vector<Contender>& contenders, int rounds,
                      std::vector<Peer>& peers) {
  constexpr int kWarmups = 1;
  std::vector<Arm> arms;
  std::vector<double> faults;
  for (const auto& contender : contenders) {
    arms.push_back({contender.name, [&contender] { contender.step(); }});
    faults.push_back(contender.usage_now().faults);
  }
  const auto timings = interleaved_timings(arms, rounds, kWarmups);
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const auto usage_now = contenders[i].usage_now();
    peers[i].timing = timings[i];
    peers[i].ours_over_peer = ratio(timings.front(), timings[i]);
    peers[i].peak_bytes = usage_now.peak_bytes;
    peers[i].faults = (usage_now.faults - faults[i]) / (kWarmups + rounds);
  }
}

}  // namespace

PeersResult compare_with_pytorch(const config::Sources& sources, const PeersOptions& options) {
  auto config = comparable_config(sources);
  PeersResult result;
  result.machine = train::configure_machine(config.train);
  const auto plan = plan::plan_of(config, result.machine, data::vocabulary_of(config));
  config = plan::with_recompute(std::move(config), plan);
  const auto& scheme = plan.scheme;
  const auto& shape = scheme.shape;
  const auto setup = peer_setup(config, scheme, result.machine);
  result.scheme = scheme.info.name;
  result.tokens = config.train.batch * config.model.context;

  const TemporaryFolder scratch;
  const auto corpora =
      data::load_corpora(config.data, config.model.context, config.model.vocabulary);
  train::Trainer trainer(config, shape, result.machine.precision, corpora);
  write_start(scratch.at("start.safetensors"), setup, trainer.parameters(), trainer.windows(),
              config);
  result.flops = plan.flops_per_token * static_cast<double>(result.tokens);
  for (const auto& each : trainer.parameters().all()) {
    result.parameters += static_cast<double>(each.master.numel());
  }

  const auto [contenders, torch] = peers_start(trainer, options, scratch);
  result.torch = torch;
  result.peers = first_steps(contenders);
  compare_losses(result);

  const auto gemms = gemm_arms(shape, plan.micro_batch_size * config.model.context,
                               nn::compute_dtype(result.machine.precision));
  result.gemm_rate = best_gemm_rate(gemms);
  peers_time_steps(contenders, options.rounds, result.peers);
  result.gemm_rate = std::max(result.gemm_rate, best_gemm_rate(gemms));
  return result;
}

}  // namespace evenkeel::bench
