#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes docs/figures/report.png, the picture of a report in README.md: the top of report.html of a default
# run, drawn by headless Chromium.
#
# Usage: tools/report_picture.sh [RUN]
#   RUN        a finished run folder; without it the script trains a default run (about a minute)
#   EVENKEEL   environment variable: the program to train with (default: ./ek)
#
# Needs chromium (Debian package `chromium`); exits with 77 where no Chromium is installed, and with 1 if the
# picture has more than 200 kB.
set -euo pipefail

root=$(dirname "$(dirname "$(readlink -f "$0")")")
picture=$root/docs/figures/report.png
width=1000 height=1290  # CSS pixels: headline, numbers, loss, gap and gradient norm
most_bytes=200000

[ $# -le 1 ] || { sed -n 's/^# \{0,1\}//; 4,12p' "$0" >&2; exit 64; }

chromium=
for name in chromium chromium-browser google-chrome; do
  chromium=$(command -v "$name") && break
done
[ -n "$chromium" ] || {
  echo "report_picture: no Chromium is installed (apt-get install chromium); skipped" >&2
  exit 77
}

work=$(mktemp -d "${TMPDIR:-/tmp}/evenkeel-picture.XXXXXX")
trap 'rm -rf "$work"' EXIT

run=${1:-}
if [ -z "$run" ]; then
  run=$work/hybrid_norm_star-tiny-1
  "${EVENKEEL:-$root/ek}" train --run "$run" --quiet
fi
[ -f "$run/report.html" ] || { echo "report_picture: $run has no report.html; name a finished run" >&2; exit 1; }

# --no-sandbox: Chromium's sandbox does not start as root; the page is our own and loads nothing.
"$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/profile" \
  --window-size="$width,$height" --screenshot="$work/report.png" "file://$(readlink -f "$run")/report.html" \
  >"$work/log" 2>&1 || { tail -n 15 "$work/log" >&2; exit 1; }

bytes=$(stat -c %s "$work/report.png")
[ "$bytes" -le "$most_bytes" ] || {
  echo "report_picture: the picture has $bytes bytes, at most $most_bytes are wanted; lower \$height" >&2
  exit 1
}
mkdir -p "$(dirname "$picture")"
cp "$work/report.png" "$picture"
echo "$picture: $bytes bytes"
