#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tests and measures Evenkeel on a GPU. A machine without a GPU builds, the one with the GPU runs:
#
#   tools/gpu_check.sh build          makes build/cuda/carry.tar.xz, for a machine with TORCH_VERSION
#   tools/gpu_check.sh run OUT [ARGS] unpacks and runs it; OUT/gpu.json is the result, and
#                                     `evenkeel report OUT/bench.jsonl` the page of the benchmarks. ARGS are
#                                     those of tools/gpu_measure.py, such as --only tests --seconds 300
#
#   TORCH_VERSION       2.11.0: the LibTorch of the GPU's machine, where python3 imports torch
#   EVENKEEL_TORCH      a folder of that LibTorch with CUDA; without it the wheel is fetched (530 MB)
#   EVENKEEL_GOLDEN     a folder of golden files to carry along
#   GPU_ARCHITECTURES   90a-real: the cards
#   CUDNN_FRONTEND      EK_CUDNN_FRONTEND of cmake/Cuda.cmake: folders of headers with semicolons between them, or
#                       `none`: no gradients by cuDNN; without it the headers are fetched (400 MB)
#
# Exits with 75 where `run` finds no GPU.
set -eu
cd "$(dirname "$0")/.."

. tools/gpu_packages.sh

version=${TORCH_VERSION:-2.11.0}
build=build/cuda

# Prints the folder; notices go to standard error.
fetch_torch() {
  folder=.deps/torch-$version-cuda
  if [ ! -e "$folder/torch/lib/libtorch_cuda.so" ]; then
    echo "gpu_check: fetching torch $version with CUDA (530 MB)"
    rm -rf "$folder" && mkdir -p "$folder/wheel"
    python3 -m pip download -q --no-deps --only-binary=:all: --python-version 3.12 \
      --implementation cp --platform manylinux_2_28_x86_64 -d "$folder/wheel" "torch==$version"
    python3 -m zipfile -e "$folder"/wheel/torch-*.whl "$folder"
    rm -r "$folder/wheel"
  fi >&2
  echo "$PWD/$folder/torch"
}

# The headers of the versions that ./ek fetches, for deterministic gradients of attention by cuDNN.
fetch_headers() {
  folder=.deps/cudnn-headers
  if [ ! -e "$folder/include/cudnn_frontend.h" ]; then
    echo "gpu_check: fetching the headers of cuDNN (400 MB)"
    rm -rf "$folder" && mkdir -p "$folder/wheel"
    gpu_requirements tools/gpu_requirements.txt |
      grep -E '^nvidia-(cudnn-cu13|cuda-nvrtc|cudnn-frontend)==' >"$folder/requirements"
    python3 -m pip download -q --require-hashes --no-deps --only-binary=:all: -d "$folder/wheel" \
      -r "$folder/requirements"
    for wheel in "$folder"/wheel/*.whl; do python3 -m zipfile -e "$wheel" "$folder"; done
    rm -r "$folder/wheel"
  fi >&2
  cudnn_folders "$PWD/$folder"
}

case "${1:-}" in
build)
  torch=${EVENKEEL_TORCH:-$(set -e; fetch_torch)}  # bash does not inherit it
  frontend=${CUDNN_FRONTEND:-$(set -e; fetch_headers)}
  [ "$frontend" != none ] || frontend=
  rm -f "$build/setting"  # of ./ek, which configures this folder for itself
  cmake --preset cuda -DEVENKEEL_TORCH="$torch" -DEK_TESTS=ON \
    -DEK_CUDNN_FRONTEND="$frontend" -DCMAKE_CUDA_ARCHITECTURES="${GPU_ARCHITECTURES:-90a-real}" >/dev/null
  cmake --build --preset cuda -j "${JOBS:-$(nproc)}" --target evenkeel cuda_test
  carry=$build/carry
  rm -rf "$carry" && mkdir -p "$carry/lib"
  for program in evenkeel cuda_test; do strip -o "$carry/$program" "$build/$program"; done
  # Libraries of this system that a bare machine lacks; LibTorch and the C and C++ ones are there.
  LD_LIBRARY_PATH=$torch/lib ldd "$build/evenkeel" | awk '$3 ~ "^/(usr/)?lib" { print $3 }' |
    grep -v -E '/(libc|libm|libgcc_s|libstdc\+\+|librt|libdl|libpthread|ld-linux.*)\.so' |
    xargs -I {} cp -L {} "$carry/lib/"
  cp tools/gpu_measure.py bench/peers/torch_peer.py "$carry/"
  if [ -d "${EVENKEEL_GOLDEN:-}" ]; then cp -r "$EVENKEEL_GOLDEN" "$carry/golden"; fi
  tar -C "$build" -c carry | xz -T 0 -4 >"$build/carry.tar.xz"
  du -h "$build/carry.tar.xz"
  ;;
run)
  out=${2:?gpu_check: run needs a folder for the results}
  shift 2
  mkdir -p "$out"
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  tar -C "$scratch" -xJf "$build/carry.tar.xz"
  python3 "$scratch/carry/gpu_measure.py" "$scratch/carry" "$out" "$@"
  ;;
*)
  sed -n '3,17s/^# \{0,1\}//p' "$0" >&2
  exit 64
  ;;
esac
