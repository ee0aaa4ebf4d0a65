// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/bench/timing.h"
#include "evenkeel/config/config.h"
#include "evenkeel/train/machine.h"

/// The same training in Evenkeel and in PyTorch, in separate processes that take turns.
namespace evenkeel::bench {

/// One of the compared processes.
struct Peer {
  std::string name;            // "evenkeel", "eager", "compile"
  std::vector<double> losses;  // nats per token, of the untimed first steps
  Timing timing;
  Ratio ours_over_peer;   // step time of Evenkeel / step time of this process; 1 for Evenkeel
  double peak_bytes = 0;  // peak memory of the process
  double faults = 0;      // minor page faults per timed step
};

/// The result of `bench peers`.
struct PeersResult {
  train::Machine machine;
  std::string torch;  // version of PyTorch
  std::string scheme;
  std::int64_t tokens = 0;         // per step
  double parameters = 0;           // number of parameters of the model
  double gemm_rate = 0;            // FLOP/s of the model's fastest GEMM, in the same run
  double flops = 0;                // per step
  double max_loss_difference = 0;  // maximum of |theirs / ours - 1| over all losses
  std::vector<Peer> peers;         // Evenkeel first
};

/// The command that starts PyTorch, and the number of timed rounds.
struct PeersOptions {
  std::string python = "python3";  // an interpreter with torch installed
  std::vector<std::string> modes = {"eager", "compile"};
  int rounds = 9;
};

/// Trains the model of `sources` with a constant learning rate in all processes, from equal weights
/// on equal batches. Compares the losses of the first steps, then times whole steps.
/// \throws Error (usage, exit code 64) for a scheme that the PyTorch script does not support; (io,
///         74) if Python or torch is missing; (check_failed, 1) if the losses differ, before any
///         timing
PeersResult compare_with_pytorch(const config::Sources& sources, const PeersOptions& options);

}  // namespace evenkeel::bench
