#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fails where a source is not as clang-format-19 would write it; 77 where that is missing.
# To mend: clang-format-19 -i FILE...
set -eu
cd "$(dirname "$0")/.."
if ! command -v clang-format-19 >/dev/null; then
  echo "clang-format-19 is missing; the layout was not checked"
  exit 77
fi
find src tests -type f \( -name '*.c' -o -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
  xargs -0 clang-format-19 --dry-run -Werror
echo "every source is laid out by clang-format"
