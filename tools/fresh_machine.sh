#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Follows the README's quick start on a bare Debian 12: a fresh root folder with nothing installed but apt
# and pip's configuration of this machine, and a clean checkout of the last commit.
#
# Usage: tools/fresh_machine.sh [--order forward|backward|both] [--keep]
#   forward    the commands in the README's order: ./ek train, ./ek test
#   backward   the last one first
#   both       each order on a root of its own (default)
#   --keep     leave the roots for a look
#
# Wants root and mmdebstrap; elsewhere it says what is missing and exits with 77. Prints the time that each
# command took and ends with "N passed, N failed"; all output is in build/log/fresh_machine-ORDER.log.
set -euo pipefail

root=$(dirname "$(dirname "$(readlink -f "$0")")")
orders="forward backward" keep=
while [ $# -gt 0 ]; do
  case $1 in
    --order)
      case ${2:-} in
        forward | backward) orders=$2 ;;
        both) ;;
        *) echo "--order takes forward, backward or both, but is \"${2:-}\"" >&2; exit 64 ;;
      esac
      shift
      ;;
    --keep) keep=yes ;;
    *) sed -n 's/^# \{0,1\}//; 6,14p' "$0" >&2; exit 64 ;;
  esac
  shift
done

skip() { echo "fresh_machine: $1; skipped" >&2; exit 77; }
[ "$(id -u)" = 0 ] || skip "making a Debian root needs root"
command -v mmdebstrap >/dev/null || skip "mmdebstrap is not installed (apt-get install mmdebstrap)"
unshare --mount true 2>/dev/null || skip "this kernel gives no mount namespace"

base=$(mktemp -d "${TMPDIR:-/tmp}/evenkeel-fresh.XXXXXX")
clean_up() { [ -n "$keep" ] || rm -rf --one-file-system "$base"; }
trap clean_up EXIT
mkdir -p "$root/build/log"

# The commands of the README's section "Quick start", one a line.
commands() {
  awk '/^## / { on = $0 == "## Quick start" } on && /^```/ { code = !code } on && code && /^\.\/ek / { sub(/ +#.*/, ""); print }' \
    "$root/README.md"
}

# The files and folders of this machine that its apt and pip are configured with.
configuration() {
  local file
  printf '%s\n' /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/apt.conf.d /etc/apt/preferences.d \
    /etc/apt/auth.conf.d /etc/apt/trusted.gpg.d /etc/apt/keyrings /usr/share/keyrings /etc/ssl/certs \
    /usr/share/ca-certificates /usr/local/share/ca-certificates /etc/pip.conf "$HOME/.config/pip" "$HOME/.pip" \
    /etc/resolv.conf /etc/hosts
  # Folders that pip takes packages from; an index "simple" refers to files next to it.
  for file in /etc/pip.conf "$HOME/.config/pip/pip.conf" "$HOME/.pip/pip.conf"; do
    [ ! -f "$file" ] || grep -oE '(file://)?/[^ ,]+' "$file" | sed 's|^file://||; s|\(/[^/]*\)/simple/*$|\1|'
  done
  printf '%s\n' "${PIP_FIND_LINKS:-}" | tr ' ' '\n' | grep '^/' || :
}

# Folders of packages are only shown to the fresh root, not copied: they may be large.
provide() {
  local fresh=$1 path
  configuration | sort -u | while IFS= read -r path; do
    [ -e "$path" ] || continue
    mkdir -p "$fresh$(dirname "$path")"
    if [ -d "$path" ] && [[ $path != /etc/* && $path != /usr/* && $path != "$HOME"/.* ]]; then
      mkdir -p "$fresh$path"
      echo "$path" >>"$fresh/binds"
    else
      rm -rf "${fresh:?}$path"
      cp -aL "$path" "$fresh$path"
    fi
  done
  # Settings of this machine's package manager that need programs a bare machine has not.
  rm -f "$fresh"/etc/apt/apt.conf.d/{20packagekit,50appstream,70debconf,docker-*}
}

make_base() {
  echo "making a bare Debian 12"
  mmdebstrap --quiet --variant=minbase bookworm "$base/base" >"$root/build/log/fresh_machine-base.log" 2>&1 || {
    tail -n 15 "$root/build/log/fresh_machine-base.log"
    exit 74
  }
  : >"$base/base/binds"
  provide "$base/base"
  git -c safe.directory="$root" clone --quiet --depth 1 "file://$root" "$base/base/srv/evenkeel"
}

# Runs a command in the fresh root, in the checkout, with mounts that end with it.
inside() {
  local fresh=$1 command=$2
  # shellcheck disable=SC2016  # expanded by the inner shell
  unshare --mount --pid --fork --kill-child sh -c '
    set -e
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    while IFS= read -r path; do
      mount --bind "$path" "$1$path"
    done <"$1/binds"
    exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
      PIP_FIND_LINKS="${PIP_FIND_LINKS:-}" PIP_CERT="${PIP_CERT:-}" PIP_INDEX_URL="${PIP_INDEX_URL:-}" \
      PIP_DEFAULT_TIMEOUT="${PIP_DEFAULT_TIMEOUT:-60}" \
      http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" no_proxy="${no_proxy:-}" \
      chroot "$1" sh -c "cd /srv/evenkeel && $2"' sh "$fresh" "$command" </dev/null
}

passed=0 failed=0
follow() {
  local order=$1 log=$root/build/log/fresh_machine-$1.log fresh=$base/$1 command started code
  cp -a "$base/base" "$fresh"
  : >"$log"
  while IFS= read -r command; do
    started=$SECONDS code=0
    echo "$order: $command" | tee -a "$log"
    inside "$fresh" "$command" >>"$log" 2>&1 || code=$?
    if [ "$code" = 0 ]; then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
      tail -n 15 "$log"
    fi
    echo "$order: $command: exit code $code, $((SECONDS - started)) s" | tee -a "$log"
  done < <(if [ "$order" = backward ]; then commands | tac; else commands; fi)
  [ -n "$keep" ] || rm -rf --one-file-system "$fresh"
}

[ -n "$(commands)" ] || { echo "README.md has no commands under \"Quick start\"" >&2; exit 1; }
make_base
for order in $orders; do follow "$order"; done
[ -z "$keep" ] || echo "the roots are in $base"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
