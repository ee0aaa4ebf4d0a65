// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/single_head.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/close.h"

namespace evenkeel {
namespace {

using probe::Placement;
using testing::close;

/// Rows over their root mean square, and the derivative of each row:
///   (sqrt(d) / |x|) (I - x x^T / |x|^2)
struct Normed {
  at::Tensor rows;       // [s, d]
  at::Tensor jacobians;  // [s, d, d]
};

Normed normed(const at::Tensor& x) {
  const auto d = x.size(1);
  const auto length = x.norm(2, {1}, /*keepdim=*/true);  // [s, 1]
  const auto unit = x / length;
  const auto root = std::sqrt(static_cast<double>(d));
  const auto outer = unit.unsqueeze(2) * unit.unsqueeze(1);
  return {unit * root, root / length.unsqueeze(2) * (at::eye(d, at::kDouble) - outer)};
}

Normed bare(const at::Tensor& x) {
  return {x, at::eye(x.size(1), at::kDouble).expand({x.size(0), x.size(1), x.size(1)})};
}

/// dS_ik / dW_ab by hand, with n the rows after a norm and J its derivative, D_i = diag(a_i) - a_i
/// a_i^T the derivative of the softmax, and U = V W_O:
///   W_O  sum_j A_ij v_ja delta_kb
///   W_V  sum_j A_ij x_ja (J_j W_O)_bk
///   W_Q  sum_jm U_jk D_ijm (k_m J_i)_b x_ia / sqrt(dk)
///   W_K  sum_jm U_jk D_ijm (q_i J_m)_b x_ma / sqrt(dk)
probe::PerWeight<at::Tensor> by_hand(Placement placement, const probe::Head& head) {
  const auto& [output, value, query, key] = head.weights;
  const auto x = placement == Placement::qkv ? head.x : normed(head.x).rows;
  const auto of = [&](const at::Tensor& weight, bool with_norm) {
    return with_norm ? normed(at::matmul(x, weight)) : bare(at::matmul(x, weight));
  };
  const auto q = of(query, placement != Placement::pre);
  const auto k = of(key, placement != Placement::pre);
  const auto v = of(value, placement == Placement::qkv);
  const auto root = std::sqrt(static_cast<double>(query.size(1)));
  const auto a = at::softmax(at::matmul(q.rows, k.rows.t()) / root, -1);
  const auto u = at::matmul(v.rows, output);
  const auto softmax = at::diag_embed(a) - a.unsqueeze(2) * a.unsqueeze(1);  // [i, j, m]
  const auto moved = at::einsum("jk,ijm->ikm", {u, softmax}) / root;
  const auto eye = at::eye(output.size(1), at::kDouble);
  return {.output = at::einsum("ia,kb->ikab", {at::matmul(a, v.rows), eye}),
          .value = at::einsum("ij,ja,jbk->ikab", {a, x, at::matmul(v.jacobians, output)}),
          .query = at::einsum("ikm,mc,icb,ia->ikab", {moved, k.rows, q.jacobians, x}),
          .key = at::einsum("ikm,ic,mcb,ma->ikab", {moved, q.rows, k.jacobians, x})};
}

TEST(Jacobians, AreThoseDerivedByHand) {
  for (const auto placement : probe::kPlacements) {
    for (const auto& [s, d] : {std::pair{1, 3}, {5, 2}, {4, 6}}) {
      const auto head = probe::random_head(/*seed=*/3, s, d);
      const auto exact = probe::jacobians(placement, head);
      const auto wanted = by_hand(placement, head);
      for (const auto& [name, member] : probe::kHeadWeights<at::Tensor>) {
        EXPECT_TRUE(close(exact.*member, (wanted.*member).reshape({s * d, d, d}), 1e-12, 1e-13))
            << probe::name_of(placement) << " " << name << " " << s << " " << d;
      }
    }
  }
}

// Row i of S reads the one row of x there is: N(x) W_V W_O, whatever the queries and keys.
TEST(Attention, OfOneTokenIsItsValue) {
  const auto head = probe::random_head(1, 1, 4);
  const auto product = at::matmul(head.weights.value, head.weights.output);
  const auto wanted = at::matmul(normed(head.x).rows, product);
  for (const auto placement : {Placement::pre, Placement::pre_qk}) {
    EXPECT_TRUE(close(probe::attention(placement, head), wanted, 1e-12, 1e-13));
  }
}

TEST(Attention, OfManyHeadsIsThatOfEach) {
  auto one = probe::random_head(1, 3, 4);
  const auto other = probe::random_head(2, 3, 4);
  auto both = one;
  for (const auto& [name, member] : probe::kHeadWeights<at::Tensor>) {
    both.weights.*member = at::stack({one.weights.*member, other.weights.*member});
  }
  one.weights = other.weights;
  for (const auto placement : probe::kPlacements) {
    EXPECT_TRUE(close(probe::attention(placement, both)[1], probe::attention(placement, one), 1e-12,
                      1e-13));
  }
}

}  // namespace
}  // namespace evenkeel
