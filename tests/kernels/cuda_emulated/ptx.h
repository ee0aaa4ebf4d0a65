// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/cuda_emulated/block.h"

/// Instructions of inline PTX: rewrite.py makes of each asm statement a call of the function that
/// has the name of the instruction, with its operands, first the outputs. Layouts of fragments are
/// those of the PTX ISA (section "Matrix multiply-accumulate").
namespace evenkeel::emulated {

/// The address of shared memory as the instructions take it, and back.
std::uint32_t shared_address(const void* pointer);
void* shared_pointer(std::uint32_t address);

#define EK_PLACE const char *file = __builtin_FILE(), unsigned line = __builtin_LINE()

/// Copies `bytes` of 16 bytes, zeros for the rest, when cp.async.wait_all or wait_group waits for
/// it: until then shared memory is as it was.
void ptx_cp_async_cg_shared_global(std::uint32_t to, const void* from, int bytes, EK_PLACE);
void ptx_cp_async_commit_group();
void ptx_cp_async_wait_all(EK_PLACE);

/// Each register of `out` holds two of the 8 x 8 values of one of 4 matrices. Lane i has the
/// address of row i % 8 of matrix i / 8.
void ptx_ldmatrix_sync_aligned_m8n8_x4_shared_b16(std::uint32_t& out0, std::uint32_t& out1,
                                                  std::uint32_t& out2, std::uint32_t& out3,
                                                  std::uint32_t row, EK_PLACE);
void ptx_ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16(std::uint32_t& out0, std::uint32_t& out1,
                                                        std::uint32_t& out2, std::uint32_t& out3,
                                                        std::uint32_t row, EK_PLACE);

/// sum [16, 8] += a [16, 16] b [16, 8].
void ptx_mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32(float& sum0, float& sum1, float& sum2,
                                                             float& sum3, std::uint32_t a0,
                                                             std::uint32_t a1, std::uint32_t a2,
                                                             std::uint32_t a3, std::uint32_t b0,
                                                             std::uint32_t b1, EK_PLACE);

/// y = 2^x; denormal numbers are 0.
void ptx_ex2_approx_ftz_f32(float& y, float x);

#undef EK_PLACE

}  // namespace evenkeel::emulated

inline std::size_t __cvta_generic_to_shared(const void* pointer) {
  return evenkeel::emulated::shared_address(pointer);
}
