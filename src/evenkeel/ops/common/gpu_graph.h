// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

#include <cstddef>
#include <functional>
#include <memory>

/// CUDA graphs. A CPU build has gpu_graph_none.cpp, a CUDA build gpu_graph_cuda.cpp (EK_CUDA).
namespace evenkeel::ops {

/// The CUDA graphs of one GPU (PyTorch: torch.cuda.CUDAGraph). A graph holds the kernels that a
/// function launches, and one call launches all of them again, with the same addresses. The graphs
/// share one stream for captures and one memory pool.
///
/// A function that is captured must neither read values on the host nor wait for the GPU. Tensors
/// that it reads or writes, and that it does not create, must keep their memory. A launch
/// overwrites the results of the last launch of the same graph; another graph may overwrite
/// intermediate values.
///
/// All calls come from one thread. A CPU build cannot create an object.
class GpuGraphs {
 public:
  /// A function that launches kernels on the current stream.
  using Work = std::function<void()>;

  /// \param device  a GPU
  explicit GpuGraphs(c10::Device device);
  GpuGraphs(const GpuGraphs&) = delete;
  GpuGraphs& operator=(const GpuGraphs&) = delete;
  /// Waits for the GPU, and releases the memory of all graphs.
  ~GpuGraphs();

  /// Calls work() on the stream of the captures: libraries allocate workspaces and compile plans,
  /// which a capture must not do. The kernels run after those of the current stream, and before
  /// its next ones.
  void warm_up(const Work& work);

  /// Returns cached memory to the driver (PyTorch: torch.cuda.empty_cache()).
  /// \return true if the free memory is at least twice what that returned: a capture then leaves
  ///         enough for passes without a graph
  bool has_memory_for_capture();

  /// Calls work() and captures its kernels, which do not run.
  /// \return the number of the graph, for launch()
  /// \throws the exception of work(), or c10::Error if CUDA refuses the capture. Earlier graphs
  ///         remain valid
  std::size_t capture(const Work& work);

  /// Runs the kernels of a graph on the current stream.
  /// \param graph  a result of capture()
  void launch(std::size_t graph);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace evenkeel::ops
