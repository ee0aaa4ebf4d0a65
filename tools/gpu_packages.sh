# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# NVIDIA's packages of tools/gpu_requirements.txt, for ./ek (tools/ek_cuda.sh) and tools/gpu_check.sh.

# gpu_requirements FILE: every requirement in one line, without comments.
gpu_requirements() {
  sed -e '/^#/d' -e ':join' -e '/\\$/ { N; s/ *\\\n */ /; b join' -e '}' "$1"
}

# cudnn_folders FOLDER: EK_CUDNN_FRONTEND (cmake/Cuda.cmake) of packages that are unpacked there.
cudnn_folders() {
  echo "$1/include;$1/nvidia/cudnn/include;$1/nvidia/cu13/include"
}
