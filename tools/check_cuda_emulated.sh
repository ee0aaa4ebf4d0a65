#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the CUDA kernels and their adapters on the processor (tests/kernels/cuda_emulated), after `./ek test`.
set -uo pipefail
cd "$(dirname "$0")/.."

log=build/log/cuda_emulated.log
if ! ninja -C build/release -j "$(nproc)" cuda_emulated >"$log" 2>&1; then
  tail -n 15 "$log"
  exit 1
fi
OMP_WAIT_POLICY=passive ctest --test-dir build/release -C cuda_emulated -R '^kernels_cuda_' -j 4 --output-on-failure \
  --no-tests=error
