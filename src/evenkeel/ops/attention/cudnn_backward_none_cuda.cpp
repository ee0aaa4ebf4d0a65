// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/attention/cudnn_backward.h"

/// A build without the headers of cudnn_frontend.
namespace evenkeel::ops {

bool takes_ordered_cudnn(const at::Tensor& /*q*/, const at::Tensor& /*k*/, double /*scale*/) {
  return false;
}

QueryKeyValueGradients ordered_cudnn_backward(const AttentionResults& in, double scale) {
  return flash_attention_backward(in, scale, /*is_ordered=*/true);
}

}  // namespace evenkeel::ops
