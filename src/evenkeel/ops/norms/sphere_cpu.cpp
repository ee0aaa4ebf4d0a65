// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/kernels/cpu/portable/sphere.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cpu::const_data;
using cpu::KernelType;
using cpu::mutable_data;
using kernels::cpu::GeodesicParameters;

Tensor sphere_step_forward_cpu(const Tensor& start, const Tensor& towards, const Tensor& step) {
  const auto starts = start.contiguous(), ends = towards.contiguous();
  const auto width = width_of(start);
  const auto steps = step.expand({width}).contiguous();
  auto y = empty_contiguous_like(start);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, start.scalar_type(), "sphere_step_forward", [&] {
    const auto* const a = const_data<scalar_t>(starts, start.numel());
    const auto* const b = const_data<scalar_t>(ends, start.numel());
    const auto* const step_data = const_data<double>(steps, width);
    auto* const to = mutable_data<scalar_t>(y);
    cpu::for_each_row(row_count(start), [&](std::int64_t row) {
      const auto place = row * width;
      kernels::cpu::sphere_step_row(a + place, b + place, step_data, to + place, width);
    });
  });
  return y;
}

std::tuple<Tensor, Tensor, Tensor> sphere_step_backward_cpu(const Tensor& dy, const Tensor& start,
                                                            const Tensor& towards,
                                                            const Tensor& step) {
  const auto upstream = dy.contiguous(), starts = start.contiguous(), ends = towards.contiguous();
  const auto width = width_of(start);
  const auto steps = step.expand({width}).contiguous();
  auto dstart = empty_contiguous_like(start), dtowards = empty_contiguous_like(start);
  const auto sums = zero_block_sums(start);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, start.scalar_type(), "sphere_step_backward", [&] {
    const auto* const dy_rows = const_data<scalar_t>(upstream, start.numel());
    const auto* const a = const_data<scalar_t>(starts, start.numel());
    const auto* const b = const_data<scalar_t>(ends, start.numel());
    const auto* const step_data = const_data<double>(steps, width);
    auto* const da = mutable_data<scalar_t>(dstart);
    auto* const db = mutable_data<scalar_t>(dtowards);
    auto* const dstep = mutable_data<double>(sums);
    cpu::for_each_row_of_blocks(row_count(start), [&](std::int64_t row, std::int64_t block) {
      const auto place = row * width;
      kernels::cpu::sphere_step_row_backward<KernelType<scalar_t>>({.dy = dy_rows + place,
                                                                    .start = a + place,
                                                                    .towards = b + place,
                                                                    .step = step_data,
                                                                    .dstart = da + place,
                                                                    .dtowards = db + place,
                                                                    .dstep = dstep + block * width},
                                                                   width);
    });
  });
  return {dstart, dtowards, cpu::vector_gradient_from_blocks(sums, step)};
}

GeodesicParameters geodesic_parameters(const Tensor& scale, const Tensor& bias, double decay) {
  return {*const_data<double>(scale, 1), *const_data<double>(bias, 1), decay};
}

Tensor geodesic_step_forward_cpu(const Tensor& x, const Tensor& g, const Tensor& scale,
                                 const Tensor& bias, double decay) {
  const auto starts = x.contiguous(), pulls = g.contiguous();
  const auto width = width_of(x);
  const auto parameters = geodesic_parameters(scale, bias, decay);
  auto y = empty_contiguous_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "geodesic_step_forward", [&] {
    const auto* const from = const_data<scalar_t>(starts, x.numel());
    const auto* const pull = const_data<scalar_t>(pulls, x.numel());
    auto* const to = mutable_data<scalar_t>(y);
    cpu::for_each_row(row_count(x), [&](std::int64_t row) {
      const auto place = row * width;
      kernels::cpu::geodesic_step_row(from + place, pull + place, parameters, to + place, width);
    });
  });
  return y;
}

std::tuple<Tensor, Tensor, Tensor, Tensor> geodesic_step_backward_cpu(
    const Tensor& dy, const Tensor& x, const Tensor& g, const Tensor& scale, const Tensor& bias,
    double decay) {
  const auto upstream = dy.contiguous(), starts = x.contiguous(), pulls = g.contiguous();
  const auto width = width_of(x), rows = row_count(x);
  const auto parameters = geodesic_parameters(scale, bias, decay);
  auto dx = empty_contiguous_like(x), dg = empty_contiguous_like(x);
  const auto sums = at::zeros({kernels::blocks_of(rows, kernels::kBlockRows), 2}, at::kDouble);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "geodesic_step_backward", [&] {
    const auto* const dy_rows = const_data<scalar_t>(upstream, x.numel());
    const auto* const from = const_data<scalar_t>(starts, x.numel());
    const auto* const pull = const_data<scalar_t>(pulls, x.numel());
    auto* const to_x = mutable_data<scalar_t>(dx);
    auto* const to_g = mutable_data<scalar_t>(dg);
    auto* const both = mutable_data<double>(sums);
    cpu::for_each_row_of_blocks(rows, [&](std::int64_t row, std::int64_t block) {
      const auto place = row * width;
      kernels::cpu::geodesic_step_row_backward<KernelType<scalar_t>>(
          {.dy = dy_rows + place,
           .x = from + place,
           .g = pull + place,
           .dx = to_x + place,
           .dg = to_g + place,
           .dscale = both + 2 * block,
           .dbias = both + 2 * block + 1},
          parameters, width);
    });
  });
  const auto total = cpu::tree_sum(sums);
  return {dx, dg, total.narrow(0, 0, 1).clone(), total.narrow(0, 1, 1).clone()};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("sphere_step_forward", sphere_step_forward_cpu);
  m.impl("sphere_step_backward", sphere_step_backward_cpu);
  m.impl("geodesic_step_forward", geodesic_step_forward_cpu);
  m.impl("geodesic_step_backward", geodesic_step_backward_cpu);
}

}  // namespace evenkeel::ops
