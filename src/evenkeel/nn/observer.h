// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace evenkeel::nn {

/// What attention multiplies: everything that its scores are made of.
struct AttentionInputs {
  at::Tensor q;      // [B, h, T, dk], after norm and rotation; a learned score scale is in it
  at::Tensor k;      // [B, kv, S, dk]
  double scale = 1;  // of q . k
  std::optional<double> softcap;
};

enum class Half { attention, feed_forward };

/// Looks on while a forward pass runs. It is handed the tensors themselves and must not change
/// them; without an observer a pass does nothing for it.
class Observer {
 public:
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual ~Observer() = default;

  /// The stream that leaves block `l`; of l = 0 what enters the first. [B, T, width]
  virtual void sees_stream(std::int64_t l, const at::Tensor& stream) = 0;
  /// A branch of block `l` before it is scaled and added, beside the stream it will be added to.
  virtual void sees_branch(std::int64_t l, Half half, const at::Tensor& stream,
                           const at::Tensor& branch) = 0;
  virtual void sees_attention(std::int64_t l, const AttentionInputs& inputs) = 0;
};

}  // namespace evenkeel::nn
