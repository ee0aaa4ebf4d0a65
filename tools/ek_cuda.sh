# shellcheck shell=sh disable=SC2034,SC2154  # variables of ek: $root, $deps, $torch_version, $torch_folder, $preset, $build
# SPDX-License-Identifier: Apache-2.0
#
# EVENKEEL_DEVICE=cuda of ./ek, which reads this file: the CMake preset `cuda` in build/cuda, with nvcc and a LibTorch
# with CUDA. The CPU build in build/release and its LibTorch stay as they are. docs/gpu.md has more.
#
#   .deps/torch-VERSION-cuda   LibTorch, and NVIDIA's libraries where its RPATH finds them
#   .deps/wheels-cuda          the wheels while they are fetched; a fetch that was cut off goes on from there
#
# Only headers and libraries of the wheel are used, so that one for CPython 3.12 serves every Python.

. "$root/tools/gpu_packages.sh"

cuda_wheels=$deps/wheels-cuda
cuda_python="--python-version 3.12 --implementation cp --platform manylinux_2_28_x86_64"

# choose_device VERB: what EVENKEEL_DEVICE selects.
choose_device() {
  case ${EVENKEEL_DEVICE:-cpu} in
    cpu) return ;;
    cuda) ;;
    *) die 64 "EVENKEEL_DEVICE must be cpu or cuda, but is \"$EVENKEEL_DEVICE\"" ;;
  esac
  case $1 in
    test) die 64 "EVENKEEL_DEVICE=cuda: ./ek test supports only the CPU build; run tools/gpu_check.sh to test a GPU" ;;
    python | wheel) die 64 "EVENKEEL_DEVICE=cuda: ./ek $1 supports only the CPU build; unset EVENKEEL_DEVICE" ;;
  esac
  preset=cuda
  build=$root/build/cuda
}

# Where NVIDIA installs nvcc it is in no PATH.
ensure_nvcc() {
  nvcc=${CUDACXX:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
  nvcc_version=$("$nvcc" --version 2>/dev/null | sed -n 's/.*release \([0-9]*\.[0-9]*\).*/\1/p')
  [ -n "$nvcc_version" ] ||
    die 64 "EVENKEEL_DEVICE=cuda needs nvcc, but found none; install NVIDIA's package cuda-toolkit-13-0, or set CUDACXX"
  printf '%s\n' "$nvcc_version" | awk -F. '{ exit !($1 > 12 || $1 == 12 && $2 >= 8) }' ||
    die 64 "EVENKEEL_DEVICE=cuda needs nvcc 12.8 or newer, but $nvcc is $nvcc_version; install NVIDIA's package cuda-toolkit-13-0"
}

# The folders of EK_CUDNN_FRONTEND (cmake/Cuda.cmake) in the one that holds LibTorch; nothing if one lacks its header.
cudnn_frontend() {
  packages_folder=$(dirname "$torch")
  for each in include/cudnn_frontend.h nvidia/cudnn/include/cudnn.h nvidia/cu13/include/nvrtc.h; do
    [ -f "$packages_folder/$each" ] || return 0
  done
  cudnn_folders "$packages_folder"
}

has_cuda_torch() { has_torch "$1" && [ -f "$1/lib/libtorch_cuda.so" ] && [ -f "$1/lib/libc10_cuda.so" ]; }

# Says what comes, and on a terminal asks.
confirm_download() {
  log "LibTorch $torch_version with CUDA and NVIDIA's libraries: a download of 2.5 GB, once; it needs 7 GB of disk, later 4 GB"
  if ! [ -t 0 ] || ! [ -t 2 ]; then return; fi
  printf 'evenkeel: fetch it? [y/N] ' >&2
  read -r answer || answer=
  case $answer in
    [yY] | [yY][eE][sS]) ;;
    *) die 64 "nothing was fetched; EVENKEEL_TORCH=FOLDER takes an installed LibTorch with CUDA" ;;
  esac
}

# A requirement of the wheel: its digests are those of tools/torch_wheels.txt.
cuda_torch_requirement() {
  awk -v version="$torch_version" -v accepted="${EVENKEEL_ACCEPT_WHEEL:-}" '
    $2 ~ /-cp312-cp312-/ && $2 !~ /\+cpu/ { digests = digests " --hash=sha256:" $1 }
    END { print "torch==" version digests (accepted ? " --hash=sha256:" accepted : "") }' "$root/tools/torch_wheels.txt"
}

# Every requirement in one line, without comments.
cuda_requirements() {
  cuda_torch_requirement
  gpu_requirements "$root/tools/gpu_requirements.txt"
}

# One pip for one wheel. pip checks the SHA-256, also of a wheel that is already there.
fetch_wheel() {
  printf '%s\n' "$1" >"$cuda_wheels/requirement"
  options=
  case $1 in torch==*) options=$cuda_python ;; esac
  # shellcheck disable=SC2086  # options
  pip download --no-cache-dir --require-hashes --no-deps --only-binary=:all: $options --dest "$cuda_wheels" \
    -r "$cuda_wheels/requirement"
}

fetch_cuda_wheels() {
  cuda_requirements >"$cuda_wheels/requirements" || exit
  count=0 all=$(wc -l <"$cuda_wheels/requirements")
  while IFS= read -r requirement; do
    count=$((count + 1))
    [ ! -t 2 ] || printf '\r\033[K%s of %s: %s' "$count" "$all" "${requirement%% *}" >&2
    fetch_wheel "$requirement" </dev/null >>"$root/build/log/torch.log" 2>&1 || {
      [ ! -t 2 ] || echo >&2
      fail_stage torch 74
    }
  done <"$cuda_wheels/requirements"
  [ ! -t 2 ] || printf '\r\033[K' >&2
}

# pip unpacks into TMPDIR first.
unpack_cuda_torch() (
  rm -rf "$torch_folder.part" "$torch_folder" "$torch_folder.records"
  cuda_torch_requirement >"$cuda_wheels/torch_requirement" || exit
  set -- --no-index --find-links "$cuda_wheels" --require-hashes --no-deps --only-binary=:all: --no-compile \
    --target "$torch_folder.part"
  # shellcheck disable=SC2086  # options
  pip --isolated install "$@" $cuda_python -r "$cuda_wheels/torch_requirement" || exit
  pip --isolated install "$@" -r "$root/tools/gpu_requirements.txt" || exit
  has_cuda_torch "$torch_folder.part/torch" || exit
  rm -rf "$cuda_wheels"
  mv "$torch_folder.part" "$torch_folder"
  write_stamp "$torch_folder.records" "$(records "$torch_folder")"
)

fetch_cuda_torch() (
  confirm_download
  ensure_python
  rm -rf "$deps/tmp"
  mkdir -p "$deps/tmp" "$cuda_wheels"
  TMPDIR=$deps/tmp
  export TMPDIR
  log "fetching LibTorch $torch_version with CUDA (build/log/torch.log)"
  : >"$root/build/log/torch.log"
  fetch_cuda_wheels
  stage unpack 74 "unpacking LibTorch" unpack_cuda_torch
  rm -rf "$deps/tmp"
)
