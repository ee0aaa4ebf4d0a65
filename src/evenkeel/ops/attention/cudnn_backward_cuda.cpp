// SPDX-License-Identifier: Apache-2.0
#include <ATen/cudnn/Handle.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <dlfcn.h>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "evenkeel/ops/attention/cudnn_backward.h"

// cudnn_frontend calls cuDNN and CUDA by dlsym(), so that nothing of them is linked. It may only
// use what LibTorch has loaded: no second CUDA runtime that the loader's path has. LibTorch
// contains another version of cudnn_frontend, so that no symbol of this one may be visible.
#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#define dlopen(name, mode) (dlopen)(name, (mode) | RTLD_NOLOAD)
#pragma GCC visibility push(hidden)
#include <cudnn_frontend.h>
#pragma GCC visibility pop
#undef dlopen

void* cudnn_frontend::cudnn_dlhandle = nullptr;

namespace evenkeel::ops {

namespace {

namespace frontend = cudnn_frontend;
using at::Tensor;
using frontend::graph::Graph;
using frontend::graph::Tensor_attributes;

constexpr std::int64_t kMaxWorkspace = std::int64_t{9} << 28;  // bytes: 2.25 GiB
constexpr std::size_t kMinCudnn = 90000;                       // 9.0.0

/// What a plan is compiled for.
struct BackwardShape {
  std::int64_t device, batch, heads, kv_heads, length, width;
  double scale;
  auto operator<=>(const BackwardShape&) const = default;
};

struct BackwardPlan {
  std::shared_ptr<Graph> graph;
  std::int64_t workspace;  // bytes
};

/// The names of the operands in a plan.
enum OperandId : std::int64_t { id_q = 1, id_k, id_v, id_y, id_dy, id_lse, id_dq, id_dk, id_dv };

BackwardShape backward_shape(const Tensor& q, const Tensor& k, double scale) {
  return {.device = q.get_device(),
          .batch = q.size(0),
          .heads = q.size(2),
          .kv_heads = k.size(2),
          .length = q.size(1),
          .width = q.size(3),
          .scale = scale};
}

/// Contiguous [B, T, heads, D], which cuDNN calls [B, heads, T, D].
Tensor_attributes head_attributes(OperandId id, const BackwardShape& shape, std::int64_t heads) {
  const auto row = heads * shape.width;
  return Tensor_attributes()
      .set_uid(id)
      .set_dim({shape.batch, heads, shape.length, shape.width})
      .set_stride({shape.length * row, shape.width, row, 1})
      .set_data_type(frontend::DataType_t::BFLOAT16);
}

Tensor_attributes lse_attributes(const BackwardShape& shape) {
  return Tensor_attributes()
      .set_uid(id_lse)
      .set_dim({shape.batch, shape.heads, shape.length, 1})
      .set_stride({shape.heads * shape.length, shape.length, 1, 1})
      .set_data_type(frontend::DataType_t::FLOAT);
}

void add_backward_pass(Graph& graph, const BackwardShape& shape) {
  const auto input = [&](OperandId id, std::int64_t heads) {
    return graph.tensor(head_attributes(id, shape, heads));
  };
  auto options = frontend::graph::SDPA_backward_attributes();
  options.set_name("causal_attention_backward")
      .set_attn_scale(static_cast<float>(shape.scale))
      .set_diagonal_alignment(frontend::DiagonalAlignment_t::TOP_LEFT)
      .set_diagonal_band_right_bound(0)
      .set_deterministic_algorithm(true);
  const auto gradients =
      graph.sdpa_backward(input(id_q, shape.heads), input(id_k, shape.kv_heads),
                          input(id_v, shape.kv_heads), input(id_y, shape.heads),
                          input(id_dy, shape.heads), graph.tensor(lse_attributes(shape)), options);
  const auto output = [&](std::size_t index, OperandId id, std::int64_t heads) {
    const auto attributes = head_attributes(id, shape, heads);
    gradients[index]
        ->set_output(true)
        .set_uid(id)
        .set_dim(attributes.get_dim())
        .set_stride(attributes.get_stride())
        .set_data_type(attributes.get_data_type());
  };
  output(0, id_dq, shape.heads);
  output(1, id_dk, shape.kv_heads);
  output(2, id_dv, shape.kv_heads);
}

/// The plan for the whole batch of a shape; none if cuDNN refuses.
std::optional<BackwardPlan> compiled_plan(const BackwardShape& shape) {
  auto graph = std::make_shared<Graph>();
  graph->set_io_data_type(frontend::DataType_t::BFLOAT16)
      .set_intermediate_data_type(frontend::DataType_t::FLOAT)
      .set_compute_data_type(frontend::DataType_t::FLOAT);
  add_backward_pass(*graph, shape);
  const auto built = graph->build(at::native::getCudnnHandle(),
                                  {frontend::HeurMode_t::A, frontend::HeurMode_t::FALLBACK});
  std::int64_t workspace = 0;
  if (built.is_bad() || graph->get_workspace_size(workspace).is_bad()) return std::nullopt;
  return BackwardPlan{.graph = std::move(graph), .workspace = workspace};
}

/// Finds the cuDNN that LibTorch has loaded.
bool has_ordered_cudnn() {
  static const bool has_one = [] {
    frontend::cudnn_dlhandle = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_NOLOAD);
    if (frontend::cudnn_dlhandle == nullptr) return false;
    if (dlsym(frontend::cudnn_dlhandle, "cudnnGetVersion") == nullptr) return false;
    return frontend::detail::get_backend_version() >= kMinCudnn;
  }();
  return has_one;
}

bool is_hopper_or_blackwell(std::int64_t device) {
  int major = 0;
  const auto index = static_cast<int>(device);
  const auto found = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index);
  return found == cudaSuccess && (major == 9 || major == 10);
}

/// All plans of the process. One thread at a time compiles and launches: cuDNN does not promise
/// that every plan may run on two threads.
class BackwardPlans {
 public:
  /// Never destroyed: CUDA may end before the destructors of static objects.
  static BackwardPlans& instance() {
    static auto& plans = *new BackwardPlans;
    return plans;
  }

  bool takes(const BackwardShape& shape) {
    const std::scoped_lock lock(mutex_);
    return slice(shape) != 0;
  }

  /// \return false if cuDNN refused, and takes() is false from now on
  bool run(const BackwardShape& shape, const AttentionResults& in,
           const QueryKeyValueGradients& out);

 private:
  /// The size of a slice of the batch; 0 if cuDNN does not take the shape.
  std::int64_t slice(const BackwardShape& shape);
  std::int64_t found_slice(BackwardShape shape);
  const std::optional<BackwardPlan>& plan(const BackwardShape& shape);
  bool run_slice(const BackwardShape& shape, std::int64_t first, const AttentionResults& in,
                 const QueryKeyValueGradients& out);

  std::mutex mutex_;
  std::map<BackwardShape, std::int64_t> slices_;
  std::map<BackwardShape, std::optional<BackwardPlan>> plans_;
};

const std::optional<BackwardPlan>& BackwardPlans::plan(const BackwardShape& shape) {
  const auto known = plans_.find(shape);
  if (known != plans_.end()) return known->second;
  std::optional<BackwardPlan> plan;
  try {
    plan = compiled_plan(shape);
  } catch (const std::exception&) {  // of LibTorch or cudnn_frontend: FlashAttention remains
  }
  return plans_.emplace(shape, std::move(plan)).first->second;
}

/// Halves the batch until the workspace fits. Workspaces grow with the batch, so that sizes that
/// cannot fit are not compiled.
std::int64_t BackwardPlans::found_slice(BackwardShape shape) {
  const auto whole = shape.batch;
  while (const auto& compiled = plan(shape)) {
    const auto workspace = compiled->workspace, batch = shape.batch;
    if (workspace < kMaxWorkspace) {
      auto rest = shape;
      rest.batch = whole % batch;
      return rest.batch == 0 || plan(rest) ? batch : 0;
    }
    plans_.erase(shape);
    if (batch == 1) break;
    do {
      shape.batch = (shape.batch + 1) / 2;
    } while (shape.batch > 1 && workspace / batch * shape.batch >= kMaxWorkspace);
  }
  return 0;
}

std::int64_t BackwardPlans::slice(const BackwardShape& shape) {
  const auto known = slices_.find(shape);
  if (known != slices_.end()) return known->second;
  const bool is_possible = is_hopper_or_blackwell(shape.device) && has_ordered_cudnn();
  return slices_[shape] = is_possible ? found_slice(shape) : 0;
}

/// Whether the current stream records a CUDA graph. Other gradients in it would have other bits.
bool is_capturing() {
  return c10::cuda::currentStreamCaptureStatusMayInitCtx() != c10::cuda::CaptureStatus::None;
}

bool BackwardPlans::run_slice(const BackwardShape& shape, std::int64_t first,
                              const AttentionResults& in, const QueryKeyValueGradients& out) {
  const auto& compiled = plan(shape);
  if (!compiled) return false;
  const auto from = [&](const Tensor& x) { return x.narrow(0, first, shape.batch).data_ptr(); };
  const auto& [dq, dk, dv] = out;
  std::unordered_map<std::int64_t, void*> operands = {
      {id_q, from(in.q)}, {id_k, from(in.k)},   {id_v, from(in.v)},
      {id_y, from(in.y)}, {id_dy, from(in.dy)}, {id_lse, from(in.lse)},
      {id_dq, from(dq)},  {id_dk, from(dk)},    {id_dv, from(dv)}};
  const auto workspace =
      at::empty({std::max<std::int64_t>(compiled->workspace, 1)}, in.q.options().dtype(at::kByte));
  try {
    auto* const handle = at::native::getCudnnHandle();
    return compiled->graph->execute(handle, operands, workspace.data_ptr()).is_good();
  } catch (const std::exception&) {  // as in plan()
    return false;
  }
}

bool BackwardPlans::run(const BackwardShape& shape, const AttentionResults& in,
                        const QueryKeyValueGradients& out) {
  const std::scoped_lock lock(mutex_);
  const auto step = slice(shape);
  if (step == 0) return false;
  for (std::int64_t first = 0; first < shape.batch; first += step) {
    auto part = shape;
    part.batch = std::min(step, shape.batch - first);
    if (!run_slice(part, first, in, out)) {
      TORCH_CHECK(!is_capturing(), "cuDNN's gradients of attention cannot be captured");
      slices_[shape] = 0;
      return false;
    }
  }
  return true;
}

Tensor empty_gradient(const Tensor& x) {
  return at::empty(x.sizes(), x.options());
}

}  // namespace

bool takes_ordered_cudnn(const Tensor& q, const Tensor& k, double scale) {
  return BackwardPlans::instance().takes(backward_shape(q, k, scale));
}

QueryKeyValueGradients ordered_cudnn_backward(const AttentionResults& in, double scale) {
  const AttentionResults dense = {.dy = library_operand(in.dy),
                                  .q = library_operand(in.q),
                                  .k = library_operand(in.k),
                                  .v = library_operand(in.v),
                                  .y = library_operand(in.y),
                                  .lse = in.lse.contiguous()};
  QueryKeyValueGradients out = {empty_gradient(in.q), empty_gradient(in.k), empty_gradient(in.v)};
  const auto shape = backward_shape(in.q, in.k, scale);
  if (BackwardPlans::instance().run(shape, dense, out)) return out;
  return flash_attention_backward(in, scale, /*is_ordered=*/true);
}

}  // namespace evenkeel::ops
