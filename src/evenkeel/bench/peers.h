// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/bench/timing.h"
#include "evenkeel/config/config.h"
#include "evenkeel/train/machine.h"

/// The same training in Evenkeel and in PyTorch: one process each, in turn.
namespace evenkeel::bench {

/// One of the processes that are compared.
struct Peer {
  std::string name;            // "evenkeel", "eager", "compile"
  std::vector<double> losses;  // nats a token, of the steps that all take before any is timed
  Timing timing;
  Ratio ours_over_it;     // 1 for ourselves
  double peak_bytes = 0;  // of its process
  double faults = 0;      // minor page faults a timed step
};

/// The result of `bench peers`.
struct PeersResult {
  train::Machine machine;
  std::string torch;  // the peers' version
  std::string scheme;
  std::int64_t tokens = 0;         // a step
  double parameters = 0;           // of the model
  double gemm_rate = 0;            // FLOP/s of the best of the model's products, in the same run
  double flops = 0;                // of a step
  double max_loss_difference = 0;  // of losses: the largest |theirs / ours - 1|
  std::vector<Peer> peers;         // ourselves first
};

/// How PyTorch is started, and how often each step is timed.
struct PeersOptions {
  std::string python = "python3";  // one that can import torch
  std::vector<std::string> modes = {"eager", "compile"};
  int rounds = 9;
};

/// Trains the model of `sources` with a constant learning rate in all processes, from equal weights
/// on equal batches. Compares the losses of the first steps, then times whole steps.
/// \throws Error (usage) for a scheme that the PyTorch script does not know; (io) if there is no
///         such Python or no torch in it; (refuted) if the losses differ: then nothing is timed
PeersResult compare_with_pytorch(const config::Sources& sources, const PeersOptions& options);

}  // namespace evenkeel::bench
