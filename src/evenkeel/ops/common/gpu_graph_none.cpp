// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/error.h"
#include "evenkeel/ops/common/gpu_graph.h"

namespace evenkeel::ops {

struct GpuGraphs::State {};

GpuGraphs::GpuGraphs(c10::Device /*device*/) {
  EK_ASSERT(!"a CPU build has no CUDA graphs");
}

GpuGraphs::~GpuGraphs() = default;

void GpuGraphs::warm_up(const Work& /*work*/) {}

bool GpuGraphs::has_memory_for_capture() {
  return false;
}

std::size_t GpuGraphs::capture(const Work& /*work*/) {
  return 0;
}

void GpuGraphs::launch(std::size_t /*graph*/) {}

}  // namespace evenkeel::ops
