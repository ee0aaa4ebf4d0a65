// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda_emulated/ptx.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/cuda_emulated/checker.h"
#include "kernels/cuda_emulated/threads.h"

namespace evenkeel::emulated {

namespace {

/// An access to memory by an instruction, checked as those of the compiler are.
void check(const void* address, std::size_t bytes, bool is_write, const Call& call) {
#ifndef __SANITIZE_ADDRESS__
  if (!checker().is_right(address, bytes, is_write, nullptr)) fail_in(call, checker().complaint());
#endif
  if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0) {
    fail_in(call, std::string(call.name) + " accesses an address that is no multiple of " +
                      std::to_string(bytes));
  }
}

template <typename T>
T value_of(const LaneValues& values, unsigned lane, std::size_t index = 0) {
  T value;
  std::memcpy(&value, values[lane].data() + index * sizeof(T), sizeof(T));
  return value;
}

/// Value 0 or 1 of a register of two.
double half_of(std::uint32_t two, unsigned which) {
  return std::bit_cast<float>(which == 0 ? two << 16 : two & 0xFFFF0000U);
}

template <bool is_transposed>
void load_matrices(std::uint32_t* const (&out)[4], std::uint32_t row, const Call& call) {
  const char* const own = static_cast<const char*>(shared_pointer(row));
  check(own, 16, /*is_write=*/false, call);
  const LaneValues& rows = gather(&own, sizeof(own), call);
  for (unsigned m = 0; m < 4; ++m) {
    std::uint16_t pair[2];
    for (unsigned n = 0; n < 2; ++n) {
      const unsigned along = lane() % 4 * 2 + n, across = lane() / 4;
      const auto* const from =
          value_of<const char*>(rows, 8 * m + (is_transposed ? along : across));
      std::memcpy(&pair[n], from + 2 * (is_transposed ? across : along), 2);
    }
    std::memcpy(out[m], pair, 4);
  }
}

/// Towards 0, as tensor cores round.
float truncated(double value) {
  const auto nearest = static_cast<float>(value);
  return std::abs(static_cast<double>(nearest)) > std::abs(value) ? std::nextafter(nearest, 0.0F)
                                                                  : nearest;
}

}  // namespace

std::uint32_t shared_address(const void* pointer) {
  return block().memory().offset_of(pointer);
}

void* shared_pointer(std::uint32_t address) {
  return block().memory().at(address);
}

void ptx_cp_async_cg_shared_global(std::uint32_t to, const void* from, int bytes, const char* file,
                                   unsigned line) {
  const Call call{"cp.async", {file, line}};
  if (bytes != 0) check(from, 16, /*is_write=*/false, call);
  PendingCopy copy{.to = shared_pointer(to)};
  std::memcpy(copy.bytes.data(), from, static_cast<std::size_t>(bytes));
  block().current().pending.push_back(copy);
}

void ptx_cp_async_commit_group() {}

void ptx_cp_async_wait_all(const char* file, unsigned line) {
  auto& pending = block().current().pending;
  for (const auto& each : pending) {
    check(each.to, 16, /*is_write=*/true, {"cp.async", {file, line}});
    std::memcpy(each.to, each.bytes.data(), 16);
  }
  pending.clear();
}

void ptx_ldmatrix_sync_aligned_m8n8_x4_shared_b16(std::uint32_t& out0, std::uint32_t& out1,
                                                  std::uint32_t& out2, std::uint32_t& out3,
                                                  std::uint32_t row, const char* file,
                                                  unsigned line) {
  load_matrices<false>({&out0, &out1, &out2, &out3}, row, {"ldmatrix", {file, line}});
}

void ptx_ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16(std::uint32_t& out0, std::uint32_t& out1,
                                                        std::uint32_t& out2, std::uint32_t& out3,
                                                        std::uint32_t row, const char* file,
                                                        unsigned line) {
  load_matrices<true>({&out0, &out1, &out2, &out3}, row, {"ldmatrix", {file, line}});
}

void ptx_ex2_approx_ftz_f32(float& y, float x) {
  const float power = std::exp2(x);  // of a denormal x it is 1
  y = power < std::numeric_limits<float>::min() ? 0 : power;
}

void ptx_mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32(float& sum0, float& sum1, float& sum2,
                                                             float& sum3, std::uint32_t a0,
                                                             std::uint32_t a1, std::uint32_t a2,
                                                             std::uint32_t a3, std::uint32_t b0,
                                                             std::uint32_t b1, const char* file,
                                                             unsigned line) {
  const std::uint32_t own[] = {a0, a1, a2, a3, b0, b1};
  const LaneValues& all = gather(own, sizeof(own), {"mma", {file, line}});
  float* const sums[] = {&sum0, &sum1, &sum2, &sum3};
  for (unsigned i = 0; i < 4; ++i) {
    // This lane has the columns 2 (lane % 4) + 0 and 1 of the rows lane / 4 and that + 8.
    const unsigned row = lane() / 4, is_lower = i / 2, column = lane() % 4 * 2 + i % 2;
    double sum = *sums[i];
    for (unsigned k = 0; k < 16; ++k) {
      const unsigned part = k / 8, of_part = k % 8;
      const auto a = value_of<std::uint32_t>(all, 4 * row + of_part / 2, is_lower + 2 * part);
      const auto b = value_of<std::uint32_t>(all, 4 * column + of_part / 2, 4 + part);
      sum += half_of(a, k % 2) * half_of(b, k % 2);
    }
    *sums[i] = truncated(sum);
  }
}

}  // namespace evenkeel::emulated
