#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles every CUDA kernel, and type-checks what needs CUDA's own headers, on a machine without a GPU. The
# other adapters are compiled by tools/check_cuda_emulated.sh.
#
#   tools/check_cuda.sh [TORCH [CUDA_INCLUDE]]
#     ARCHITECTURES the cards: "90a" by default; "80 90a 100" are all that a build has
#     TORCH         folder of a LibTorch (include/ in it); the wheel that ./ek fetched by default
#     CUDA_INCLUDE  headers of the CUDA toolkit; those of nvcc by default
#   CUDNN_FRONTEND  EK_CUDNN_FRONTEND of cmake/Cuda.cmake; without it the adapter of cudnn_frontend is left out
#
# A LibTorch without CUDA carries the c10/cuda headers but the one that CMake generates, which
# cmake/cuda_stub holds instead. Exits with 77 (skipped) where there is no nvcc.
set -eu
cd "$(dirname "$0")/.."

if ! command -v nvcc >/dev/null; then
  echo "skipped: no nvcc"
  exit 77
fi
torch=${1:-.deps/torch-2.13.0/torch}
top=$(nvcc --dryrun -c -x cu /dev/null 2>&1 | sed -n 's|^#\$ TOP=||p')
cuda=${2:-$top/targets/x86_64-linux/include}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The objects are not used: ptxas and the host compiler optimize little.
# xargs: as many at a time as there are cores; one that fails fails all.
architectures=${ARCHITECTURES:-90a}
for each in $architectures; do
  cards="${cards:-} -gencode arch=compute_$each,code=sm_$each"
done
export cards
printf '%s\n' src/evenkeel/kernels/cuda/*.cu >"$scratch/kernels"
xargs -a "$scratch/kernels" -I {} -P "$(nproc)" \
  sh -c 'nvcc -std=c++20 -O3 -Xptxas -O1 -Xcompiler -O0 $cards -Isrc -Werror all-warnings -c "$1" \
         -o "$2/$(basename "$1").o"' sh {} "$scratch"
printf '%s\n' src/evenkeel/ops/common/gpu*_cuda.cpp \
  src/evenkeel/ops/attention/causal_attention_library_cuda.cpp >"$scratch/adapters"
xargs -a "$scratch/adapters" -I {} -P "$(nproc)" \
  "${CXX:-g++}" -std=c++20 -fsyntax-only -Wall -Wextra -Wconversion -Wshadow -Werror -Isrc \
  -isystem cmake/cuda_stub -isystem "$torch/include" \
  -isystem "$torch/include/torch/csrc/api/include" -isystem "$cuda" {}
echo "$(wc -l <"$scratch/kernels") CUDA kernel files compile for $architectures, and $(wc -l <"$scratch/adapters") other sources"
