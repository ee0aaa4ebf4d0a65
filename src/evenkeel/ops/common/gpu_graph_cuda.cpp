// SPDX-License-Identifier: Apache-2.0
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/Event.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include "evenkeel/ops/common/gpu_graph.h"

namespace evenkeel::ops {

namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;
using at::cuda::CUDAGraph;
using c10::cuda::CUDAStream;

/// Makes later work of one stream run after the work of another so far.
void wait(const CUDAStream& waiting, const CUDAStream& awaited) {
  c10::Event event(c10::DeviceType::CUDA);
  event.record(awaited.unwrap());
  event.block(waiting.unwrap());
}

/// Calls a step of a cleanup. An error is expected where a capture failed before that step.
template <typename Step>
void attempt(const Step& step) noexcept {
  try {
    step();
  } catch (const std::exception&) {  // NOLINT: nothing is left to undo
  }
}

/// Ends a capture that failed. capture_end() of an invalid capture throws, in LibTorch up to 2.12
/// before it ends allocations to the pool, so that allocators would still believe in the capture:
/// they would never release cached memory.
/// \param users  graphs that keep the pool
void abandon(std::unique_ptr<CUDAGraph> graph, c10::DeviceIndex device, c10::MempoolId_t pool,
             std::size_t users) {
  attempt([&] { graph->capture_end(); });
  attempt([&] { allocator::endAllocateToPool(device, pool); });  // throws if it is ended already
  attempt([&] { at::getHostAllocator(at::kCUDA)->end_allocate_to_pool(pool); });
  attempt([&] { graph->reset(); });  // releases the pool after a capture that ended well only
  attempt([&] {
    while (allocator::getPoolUseCount(device, pool) > static_cast<int>(users))
      allocator::releasePool(device, pool);
  });
  // Never destroyed: an allocator may have a callback to it.
  static_cast<void>(graph.release());  // NOLINT
}

std::int64_t reserved_bytes(c10::DeviceIndex device) {
  return allocator::getDeviceStats(device).reserved_bytes[0].current;
}

}  // namespace

struct GpuGraphs::State {
  c10::DeviceIndex device;
  CUDAStream stream;
  c10::MempoolId_t pool;
  std::vector<std::unique_ptr<CUDAGraph>> graphs;
};

GpuGraphs::GpuGraphs(c10::Device device)
    : state_(std::make_unique<State>(
          State{.device = device.index(),
                .stream = c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index()),
                .pool = at::cuda::graph_pool_handle(),
                .graphs = {}})) {}

GpuGraphs::~GpuGraphs() {
  attempt([] { c10::cuda::device_synchronize(); });
}

void GpuGraphs::warm_up(const Work& work) {
  const auto current = c10::cuda::getCurrentCUDAStream(state_->device);
  wait(state_->stream, current);
  {
    const c10::cuda::CUDAStreamGuard on_stream(state_->stream);
    work();
  }
  wait(current, state_->stream);
}

bool GpuGraphs::has_memory_for_capture() {
  const c10::cuda::CUDAGuard on_device(state_->device);
  const auto before = reserved_bytes(state_->device);
  allocator::emptyCache();
  const auto returned = before - reserved_bytes(state_->device);
  std::size_t free = 0, total = 0;
  C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return static_cast<std::int64_t>(free) >= 2 * returned;
}

std::size_t GpuGraphs::capture(const Work& work) {
  auto graph = std::make_unique<CUDAGraph>();
  c10::cuda::device_synchronize();
  const c10::cuda::CUDAStreamGuard on_stream(state_->stream);
  try {
    // Thread-local: calls of other threads, as of one that writes a checkpoint, do not end it.
    graph->capture_begin(state_->pool, cudaStreamCaptureModeThreadLocal);
    work();
    graph->capture_end();
  } catch (...) {
    abandon(std::move(graph), state_->device, state_->pool, state_->graphs.size());
    throw;
  }
  state_->graphs.push_back(std::move(graph));
  return state_->graphs.size() - 1;
}

void GpuGraphs::launch(std::size_t graph) {
  state_->graphs.at(graph)->replay();
}

}  // namespace evenkeel::ops
