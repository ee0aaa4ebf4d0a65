// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "evenkeel/nn/model.h"
#include "evenkeel/nn/observer.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/ops/common/gpu_graph.h"

namespace evenkeel::train {

/// Whether the passes of a model may be captured in a CUDA graph, which repeats kernels and calls
/// no function of the host:
///
/// | passes without a graph              | reason                                           |
/// | ----------------------------------- | ------------------------------------------------ |
/// | on the CPU                          | -                                                |
/// | of a mixture of experts             | routing is recorded on the host                  |
/// | with a callback of the observer     | the host takes values of each pass (`qk_clip`)   |
/// | of a scheme that names the step     | a graph contains the values of expressions       |
/// | with `kernels.fused = false`        | reference implementations may read values        |
///
/// \param device    of the parameters
/// \param observer  the callbacks that a pass needs
bool can_be_captured(const nn::Model& model, at::Device device, const nn::Observer& observer);

/// The tokens of one forward and backward pass.
struct MicroBatch {
  at::Tensor ids, targets;  // [rows, T], int64, on the CPU
  double scored = 1;        // scored tokens of the whole batch
  bool is_first = false;    // the first after Parameters::zero_gradients()
};

/// The sums of a pass over its scored tokens, scalars on their device, without a gradient.
struct PassSums {
  at::Tensor cross_entropy;  // of -ln p
  at::Tensor squared_lse;    // of lse^2; undefined without a z-loss
};

/// The loss of a forward pass.
struct PassLoss {
  at::Tensor total;  // differentiable: the sum of -ln p + c lse^2
  PassSums sums;
};

/// The forward pass of a training step: Model::loss_sum() in training mode with the z-loss.
/// \param z_loss  train.z_loss; 0: no z-loss
PassLoss training_loss(const nn::Model& model, const at::Tensor& ids, const at::Tensor& targets,
                       nn::Pass pass, double z_loss);

/// Forward and backward passes on a GPU as CUDA graphs: the host launches all kernels of a
/// micro-batch in one call. Losses and gradients have the bits of passes without a graph.
///
/// Micro-batches of one shape have two graphs: the first of a step overwrites the gradient, later
/// ones add to it. Each runs without a graph twice, and is then captured. If CUDA refuses a
/// capture, or memory does not suffice for one, all later passes run without graphs.
class MicroBatchGraphs {
 public:
  /// \param model, parameters  must outlive the object
  /// \param is_on  false: takes() is always false
  /// \param z_loss  train.z_loss
  MicroBatchGraphs(const nn::Model& model, nn::Parameters& parameters, bool is_on,
                   double z_loss = 0);

  /// Whether run() may compute the next micro-batch: can_be_captured(), no error so far, and no
  /// profiler, which would not see the operators of a graph.
  /// \param observer  the callbacks that the pass needs
  bool takes(const nn::Observer& observer) const;

  /// The forward and backward pass: adds the gradient of loss / scored to the gradient buffers.
  /// \return the parts of loss, which is the sum over the scored tokens
  PassSums run(const MicroBatch& batch);

  /// The graphs so far, and the micro-batches that they computed.
  std::int64_t captures() const { return captures_; }
  std::int64_t launches() const { return launches_; }
  /// Why the passes run without graphs after a failed capture; empty unless one has failed since
  /// the last call.
  std::string take_failure();

 private:
  struct Entry {  // micro-batches of one shape, first ones or later ones
    int warm_ups = 0;
    at::Tensor ids, targets;  // [rows, T], int64: the graph reads them
    at::Tensor rotary;        // the graph reads it
    PassSums sums;            // the graph writes them
    std::optional<std::size_t> graph;
  };
  using Key = std::tuple<std::int64_t, std::int64_t, bool>;  // rows, T, is_first

  PassSums pass(const at::Tensor& ids, const at::Tensor& targets);
  void set_scored(double scored);
  Entry& entry_of(const MicroBatch& batch);
  bool capture(Entry& entry, bool is_first);
  void stop();

  const nn::Model* model_;
  nn::Parameters* parameters_;
  bool is_on_;
  double z_loss_;
  std::int64_t evaluations_ = 0;  // Model::evaluations() of the graphs
  // Declared first, destroyed last: the tensors below are in the memory of the graphs.
  std::unique_ptr<ops::GpuGraphs> graphs_;
  std::map<Key, Entry> entries_;
  at::Tensor upstream_;  // a scalar: the gradient of the mean loss by the sum of losses
  double scored_ = 0;    // MicroBatch::scored of upstream_
  std::int64_t captures_ = 0, launches_ = 0;
  std::string failure_;
};

}  // namespace evenkeel::train
