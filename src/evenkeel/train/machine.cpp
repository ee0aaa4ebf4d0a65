// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/machine.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>

#include "evenkeel/base/cpu_features.h"
#include "evenkeel/base/error.h"
#include "evenkeel/base/version.h"
#include "evenkeel/ops/common/operands.h"

namespace evenkeel::train {

namespace {

std::int64_t auto_micro_batch_size(const config::Config& config, std::int64_t vocabulary) {
  constexpr std::int64_t kTokens = 8192;
  constexpr std::int64_t kLogits = (std::int64_t{1} << 30) / 4;  // float32 values in 1 GiB
  const auto context = config.model.context;
  const auto tokens = std::min(kTokens, kLogits / std::max<std::int64_t>(1, vocabulary));
  return std::clamp<std::int64_t>(tokens / context, 1, config.train.batch);
}

}  // namespace

Machine configure_machine(const config::Train& train) {
  const auto cpu = CpuFeatures::detect();
  Machine machine;
  machine.threads = train.threads > 0 ? static_cast<int>(train.threads) : cpu.cores;
  machine.isa = cpu.isa();
  std::string precision = train.precision;
  std::string why;
  if (precision == "auto") {
    precision = cpu.amx_bf16 ? "bfloat16" : "float32";
    why = cpu.amx_bf16 ? " (chosen: the processor has AMX)" : " (chosen: the processor has no AMX)";
  } else if (precision == "bfloat16" && !cpu.amx_bf16 && !cpu.avx512_bf16) {
    why = " (emulated: this processor has no bfloat16 units, float32 would be faster)";
  }
  machine.precision = precision == "bfloat16"  ? nn::Precision::bfloat16
                      : precision == "float64" ? nn::Precision::float64
                                               : nn::Precision::float32;
  machine.description = text(cpu.name, ", ", machine.isa, ", ", machine.threads,
                             machine.threads == 1 ? " thread, " : " threads, ", precision, why);
  at::set_num_threads(machine.threads);
  return machine;
}

nlohmann::ordered_json provenance_of(const Machine& machine) {
  const auto cpu = CpuFeatures::detect();
  return {{"evenkeel", kVersion},
          {"commit", commit()},
          {"libtorch", TORCH_VERSION},
          {"processor", cpu.name},
          {"isa", machine.isa},
          {"libtorch_isa", at::get_cpu_capability()},
          {"threads", machine.threads},
          {"precision", ops::dtype_name(nn::compute_dtype(machine.precision))}};
}

namespace {

/// The value of a line of /proc/meminfo in bytes; 0 if there is no such line.
double memory_line(std::string_view name) {
  constexpr double kKibibyte = 1024;
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name)) return std::stod(line.substr(name.size())) * kKibibyte;
  }
  return 0;
}

}  // namespace

double available_bytes() {
  return memory_line("MemAvailable:");
}

double total_bytes() {
  return memory_line("MemTotal:") + memory_line("SwapTotal:");
}

nn::Recompute recompute_of(const config::Config& config) {
  const auto& mode = config.model.recompute;
  return mode == "block"   ? nn::Recompute::block
         : mode == "norms" ? nn::Recompute::norms
                           : nn::Recompute::none;
}

nn::Footprint footprint_of(const config::Config& config, const norm::Scheme& scheme,
                           std::int64_t padded_vocabulary, nn::Precision precision) {
  const auto sequences = micro_batch_size(config, scheme.shape.vocabulary);
  const auto bytes = static_cast<std::int64_t>(c10::elementSize(nn::compute_dtype(precision)));
  const auto& attention = config.kernels.attention;
  return nn::footprint(scheme, padded_vocabulary, config.model.tied,
                       {.micro_batch_size = sequences,
                        .accumulation_steps = (config.train.batch + sequences - 1) / sequences,
                        .compute_bytes = bytes,
                        .fused = config.kernels.fused,
                        .explicit_attention = attention == "explicit" ||
                                              (attention == "auto" && !config.kernels.fused) ||
                                              (attention == "flash" && config.data.mask_documents),
                        .flash_attention = attention == "flash",
                        .recompute = recompute_of(config)});
}

std::int64_t micro_batch_size(const config::Config& config, std::int64_t vocabulary) {
  const auto configured = config.train.micro_batch;
  return configured > 0 ? configured : auto_micro_batch_size(config, vocabulary);
}

std::int64_t evaluation_batch_size(const config::Config& config, std::int64_t vocabulary) {
  return std::min(micro_batch_size(config, vocabulary), auto_micro_batch_size(config, vocabulary));
}

}  // namespace evenkeel::train
