// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Machines of many ranks: what `plan --ranks` assumes about processors and networks.
namespace evenkeel::plan {

/// A machine file. A rank is a process with one GPU, or with its share of the cores of a host.
struct Hardware {
  std::string name;                    // "h200", or the path of the file
  std::string title;                   // "NVIDIA H200 SXM"
  std::string precision = "bfloat16";  // of the model where train.precision is "auto"
  bool is_gpu = false;                 // `gpu`: a rank has a GPU
  std::int64_t ranks_per_host = 1;
  double peak_flops = 0;                        // FLOP/s of a rank
  double mfu = 0;                               // model FLOPs utilization of one rank alone, 0 to 1
  std::map<std::string, double> mfu_of_preset;  // presets with another one
  double memory_bytes = 0;                      // of a rank
  double memory_share = 0.94;                   // of memory_bytes, that a run may use
  double program_bytes = 1.5e9;                 // code, libraries, driver, of a rank
  double memory_bandwidth = 0;                  // bytes/s of a rank
  double within_host_bandwidth = 0;             // bytes/s that a rank sends to ranks of its host
  double between_hosts_bandwidth = 0;           // bytes/s that a rank sends to ranks of other hosts
  double latency = 15e-6;                       // seconds of one message
  double bucket_bytes = 256e6;                  // gradients that travel at once
  double overlap = 0.8;  // share of the last backward pass of a micro-batch that hides the exchange

  /// The MFU of one rank alone. \param preset  name of a preset; others have `mfu`
  double mfu_alone(const std::string& preset) const;
};

/// Parses a machine file.
/// \param source  its path, for messages
/// \throws Error (usage, exit code 64): "mine.toml:3: mfu must be ..."
Hardware parse_hardware(std::string_view toml, const std::string& source);

/// The names of the built-in files of machines/, sorted.
std::vector<std::string> hardware_names();

/// A built-in machine.
/// \throws Error (usage), with the nearest name and all names
Hardware built_in_hardware(const std::string& name);

}  // namespace evenkeel::plan
