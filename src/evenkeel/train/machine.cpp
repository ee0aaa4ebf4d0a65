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
#include "evenkeel/ops/common/compute_device.h"
#include "evenkeel/ops/common/gpu.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/linear/float_product.h"
#include "evenkeel/ops/linear/widened_product.h"
#include "evenkeel/plan/device_memory.h"

namespace evenkeel::train {

Machine machine_of(const config::Train& train, std::int64_t ranks_on_cores) {
  const auto cpu = CpuFeatures::detect();
  Machine machine;
  machine.device = ops::compute_device();
  const bool is_gpu = machine.device.is_cuda();
  const auto gpu = is_gpu ? ops::gpu_info(machine.device.index()) : ops::GpuInfo();
  const auto share =
      std::max<std::int64_t>(1, cpu.cores / std::max<std::int64_t>(1, ranks_on_cores));
  machine.threads = static_cast<int>(train.threads > 0 ? train.threads : share);
  machine.isa = is_gpu ? gpu.architecture : cpu.isa();
  std::string precision = train.precision;
  std::string why;
  if (precision == "auto" && is_gpu) {
    precision = "bfloat16";
    why = " (chosen: a GPU)";
  } else if (precision == "auto") {
    const bool is_fast = cpu.amx_bf16 || cpu.fast_bf16_dot;
    precision = is_fast ? "bfloat16" : "float32";
    why = cpu.amx_bf16        ? " (chosen: the processor has AMX)"
          : cpu.fast_bf16_dot ? " (chosen: the processor has AVX-512 BF16)"
                              : " (chosen: bfloat16 would not be faster here)";
  } else if (precision == "bfloat16" && !is_gpu && ops::widens_bf16_products()) {
    machine.widened_products = true;
    why = " (this processor has no bfloat16 units; float32 would be faster)";
  }
  machine.precision = precision == "bfloat16"  ? nn::Precision::bfloat16
                      : precision == "float64" ? nn::Precision::float64
                                               : nn::Precision::float32;
  machine.description = text(is_gpu ? gpu.name : cpu.name, ", ", machine.isa, ", ", machine.threads,
                             machine.threads == 1 ? " thread, " : " threads, ", precision, why);
  machine.free_memory = plan::device_memory().free;
  return machine;
}

Machine configure_machine(const config::Train& train, std::int64_t ranks_on_cores) {
  const auto device = ops::compute_device();
  if (device.is_cuda()) ops::set_compute_device(device, train.deterministic);
  auto machine = machine_of(train, ranks_on_cores);
  check_threads(machine.threads);
  at::set_num_threads(machine.threads);
  return machine;
}

void share_memory(Machine& machine, const comm::Group& group) {
  machine.ranks = group.ranks();
  machine.free_memory = plan::device_memory().free / std::max(1, group.placement().ranks_on_device);
}

namespace {

/// The GPU of a machine; null without one.
nlohmann::ordered_json gpu_of(const Machine& machine) {
  if (!machine.device.is_cuda()) return nullptr;
  const auto gpu = ops::gpu_info(machine.device.index());
  return {{"name", gpu.name},
          {"architecture", gpu.architecture},
          {"memory_bytes", gpu.total_bytes},
          {"driver", gpu.driver},
          {"cuda", gpu.runtime}};
}

}  // namespace

const char* float32_products(at::Device device) {
  return device.is_cpu() && ops::has_float_product() ? "evenkeel" : "libtorch";
}

nlohmann::ordered_json provenance_of(const Machine& machine) {
  const auto cpu = CpuFeatures::detect();
  return {{"evenkeel", kVersion},
          {"commit", commit()},
          {"libtorch", TORCH_VERSION},
          {"processor", cpu.name},
          {"isa", machine.isa},
          {"device", machine.device.str()},
          {"gpu", gpu_of(machine)},
          {"libtorch_isa", at::get_cpu_capability()},
          {"float32_products", float32_products(machine.device)},
          {"threads", machine.threads},
          {"precision", ops::dtype_name(nn::compute_dtype(machine.precision))}};
}

}  // namespace evenkeel::train
