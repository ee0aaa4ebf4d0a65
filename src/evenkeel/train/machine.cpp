// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/machine.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>

#include <algorithm>
#include <string>

#include "evenkeel/base/cpu_features.h"
#include "evenkeel/base/error.h"
#include "evenkeel/base/threads.h"
#include "evenkeel/base/version.h"
#include "evenkeel/ops/common/operands.h"

namespace evenkeel::train {

Machine configure_machine(const config::Train& train, std::int64_t local_ranks) {
  const auto cpu = CpuFeatures::detect();
  Machine machine;
  const auto share = std::max<std::int64_t>(1, cpu.cores / std::max<std::int64_t>(1, local_ranks));
  machine.threads = static_cast<int>(train.threads > 0 ? train.threads : share);
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
  check_threads(machine.threads);
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

}  // namespace evenkeel::train
