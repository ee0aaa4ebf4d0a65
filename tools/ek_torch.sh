# shellcheck shell=sh disable=SC2154  # $root, $deps, $python, $torch_version: ek
# SPDX-License-Identifier: Apache-2.0
#
# The stage `torch` of ./ek, which reads this file: LibTorch from a wheel whose SHA-256 is known, and
# whose files are still those of the wheel. SECURITY.md has the reasons.
#
#   .deps/torch-VERSION           the unpacked wheel
#   .deps/torch-VERSION.records   the digest of its lists of files, written after the wheel was checked
#   .deps/torch-VERSION.checked   its time: the last comparison of the files with the lists

# -I: no module of the current folder or of PYTHONPATH runs. Only wheels: nothing of a package runs.
pip() { "$python" -I -m pip --disable-pip-version-check --no-input "$@"; }

# install_locked FILE ARGUMENTS...: the packages of a requirements file, whose SHA-256 pip checks.
install_locked() {
  locked=$1
  shift
  pip install --require-hashes --no-deps --only-binary=:all: "$@" -r "$root/tools/$locked"
}

make_python() {
  rm -rf "$deps/python"
  python3 -I -m venv "$deps/python"
}

# Python only fetches. The marker is there because a half-made environment has a python, too.
ensure_python() {
  [ -x "$python" ] && has_stamp "$deps/python/complete" yes && return
  stage python 74 "making a Python environment in .deps/" make_python
  write_stamp "$deps/python/complete" yes
}

# has_torch FOLDER: whether what the build uses is there.
has_torch() {
  [ -f "$1/include/ATen/ATen.h" ] && [ -f "$1/lib/libtorch_cpu.so" ] && [ -f "$1/lib/libc10.so" ]
}

# The wheel alone: elsewhere its dependencies bring gigabytes of NVIDIA libraries.
download_torch() (
  rm -rf "$deps/tmp" "$deps/wheel"
  mkdir "$deps/tmp"
  TMPDIR=$deps/tmp
  export TMPDIR
  pip download --no-deps --only-binary=:all: --dest "$deps/wheel" "torch==$torch_version" || exit
  rm -rf "$deps/tmp"
)

# check_wheel FILE: pip's configuration chooses the index; tools/torch_wheels.txt has the bytes.
check_wheel() {
  wheel_name=$(basename "$1")
  digest=$(sha256sum <"$1")
  digest=${digest%% *}
  [ "$digest" != "${EVENKEEL_ACCEPT_WHEEL:-}" ] || return 0
  accept="EVENKEEL_ACCEPT_WHEEL=$digest accepts it, if you trust its source"
  known=$(awk -v name="$wheel_name" '$2 == name { print $1 }' "$root/tools/torch_wheels.txt")
  [ -n "$known" ] ||
    die 64 "$wheel_name: wanted a wheel of tools/torch_wheels.txt, but found no such name in it; $accept"
  printf '%s\n' "$known" | grep -qx "$digest" ||
    die 65 "$wheel_name: wanted a SHA-256 of tools/torch_wheels.txt, but found $digest; use another index; $accept"
}

# records FOLDER: the digest of the lists of files of all wheels in FOLDER.
records() { cat "$1"/*.dist-info/RECORD | sha256sum; }

# unpack_torch WHEEL: libtorch_cpu of a CUDA build links two of NVIDIA's libraries.
unpack_torch() (
  rm -rf "$torch_folder.part" "$torch_folder" "$torch_folder.records"
  pip --isolated install --no-index --no-deps --no-compile --target "$torch_folder.part" "$1" || exit
  toolkit=$(sed -n 's/^Requires-Dist: cuda-toolkit\[.*\]==\([0-9.]*\).*/\1/p' \
    "$torch_folder.part"/torch-*.dist-info/METADATA)
  if [ -n "$toolkit" ]; then
    grep -q "^cuda-toolkit==$toolkit[. ]" "$root/tools/cuda_requirements.txt" || {
      echo "this wheel links cuda-toolkit $toolkit, which tools/cuda_requirements.txt does not have;" \
        "unpack LibTorch yourself and set EVENKEEL_TORCH to its folder"
      exit 1
    }
    install_locked cuda_requirements.txt --no-compile --target "$torch_folder.part" || exit
  fi
  has_torch "$torch_folder.part/torch" || exit
  rm -rf "$deps/wheel"
  mv "$torch_folder.part" "$torch_folder"
  write_stamp "$torch_folder.records" "$(records "$torch_folder")"
)

# A file that changed, came or went after the last check has a time of change after it, or its folder has.
ensure_intact() {
  [ ! -f "$torch_folder.checked" ] || [ -n "$(cd "$torch_folder" && find torch/include torch/lib nvidia include \
    ./*.dist-info/RECORD -cnewer "$torch_folder.checked" -print -quit 2>/dev/null)" ] || return 0
  : >"$torch_folder.checked.part"
  found="its list of files differs from the wheel"
  has_stamp "$torch_folder.records" "$(records "$torch_folder")" &&
    found=$(python3 -I "$root/tools/check_torch.py" "$torch_folder") ||
    die 65 ".deps/${torch_folder##*/}: wanted the files of the wheel, but $found; delete the folder and run again"
  mv "$torch_folder.checked.part" "$torch_folder.checked"
}

ensure_torch() {
  if [ -n "${EVENKEEL_TORCH:-}" ]; then
    has_torch "$EVENKEEL_TORCH" ||
      die 64 "EVENKEEL_TORCH must be the folder of a LibTorch (with include/ and lib/), but is \"$EVENKEEL_TORCH\""
    torch=$(readlink -f "$EVENKEEL_TORCH")
    [ "$preset" != cuda ] || has_cuda_torch "$torch" ||
      die 64 "EVENKEEL_TORCH must be a LibTorch with CUDA (lib/libtorch_cuda.so), but $torch has none"
    return
  fi
  torch_folder=$deps/torch-$torch_version
  [ "$preset" != cuda ] || torch_folder=$torch_folder-cuda
  torch=$torch_folder/torch
  # Without a digest of its lists, the folder is not from a wheel that was checked.
  if [ "$preset" = cuda ]; then
    if ! has_cuda_torch "$torch" || [ ! -f "$torch_folder.records" ]; then fetch_cuda_torch; fi
  elif ! has_torch "$torch" || [ ! -f "$torch_folder.records" ]; then
    ensure_python
    stage torch 74 "fetching LibTorch $torch_version (once, 200 to 530 MB)" download_torch
    check_wheel "$deps"/wheel/torch-*.whl
    stage unpack 74 "unpacking LibTorch" unpack_torch "$deps"/wheel/torch-*.whl
  fi
  ensure_intact
}
