# shellcheck shell=sh disable=SC2154  # $root, $deps: ek
# SPDX-License-Identifier: Apache-2.0
#
# The stage `parquet` of ./ek, which reads this file: the package pyarrow, whose SHA-256 is in
# tools/parquet_requirements.txt, for the headers and libraries of Arrow. The program does not link
# them: it loads libevenkeel_parquet.so, which does, when an input is a parquet file.
#
#   .deps/pyarrow           the unpacked package
#   .deps/pyarrow.complete  the requirements that it was unpacked for

pyarrow=$deps/pyarrow/pyarrow

has_pyarrow() { has_stamp "$deps/pyarrow.complete" "$(cat "$root/tools/parquet_requirements.txt")"; }

fetch_pyarrow() {
  rm -rf "$deps/pyarrow.part" "$deps/pyarrow" "$deps/pyarrow.complete"
  install_locked parquet_requirements.txt --no-compile --target "$deps/pyarrow.part" || return
  [ -f "$deps/pyarrow.part/pyarrow/include/arrow/api.h" ] || return
  mv "$deps/pyarrow.part" "$deps/pyarrow" || return
  write_stamp "$deps/pyarrow.complete" "$(cat "$root/tools/parquet_requirements.txt")"
}

ensure_pyarrow() {
  has_pyarrow && return
  ensure_python
  stage parquet 74 "fetching Arrow for parquet files (once, 55 MB)" fetch_pyarrow
}

# reader_for ARGUMENTS...: "parquet" if one of them names a parquet file.
reader_for() {
  case " $* " in
    *.parquet*) echo parquet ;;
  esac
}
