# SPDX-License-Identifier: Apache-2.0
"""libFuzzer with AddressSanitizer and UBSan on each parser, with mutators that know its grammar.

A target fails on a signal, on what would be exit code 70, after 10 s, and above 4 GB. The corpus is
tests/campaign/corpus; presets/, schemes/ and studies/ are inputs, too. The target `parquet` needs the plug-in of
./ek parquet, whose Arrow is not instrumented.
"""
import functools
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import harness

TARGETS = re.compile(r'^ +\{"(\w+)", Grammar::', re.MULTILINE)
EXTRA = {"config": "presets", "scheme": "schemes", "study": "studies", "yaml": "tests/golden/olmo"}
MOST_BYTES = 65536
PLUGIN = "libevenkeel_parquet.so"
STACK = 1024  # KiB: inputs of this size show a recursion without a limit
EXECUTIONS = 10**9  # of all targets together, at the level "release"
UNITS = re.compile(r"stat::number_of_executed_units: (\d+)")
FAILURE = re.compile(r"^(?:==\d+==)? ?(?:ERROR|exit code 70|SUMMARY).*|^.*runtime error:.*", re.MULTILINE)


def build():
    """Builds the program with all targets in the time that other parts leave; its path."""
    folder = harness.ROOT / "build/fuzz"
    log = harness.ROOT / "build/log/fuzz.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    if not shutil.which("clang++-19"):
        raise harness.Skip("clang++-19 is missing; install clang-19 and libclang-rt-19-dev")
    commands = [["cmake", "--preset", "fuzz"], ["nice", "-n", "19", "ninja", "-C", "build/fuzz", "campaign_fuzz"]]
    with log.open("wb") as out:
        for command in commands:
            if subprocess.run(command, cwd=harness.ROOT, stdout=out, stderr=out, check=False).returncode != 0:
                if "libclang_rt.fuzzer" in log.read_text(errors="replace"):
                    raise harness.Skip("libFuzzer is missing; install libclang-rt-19-dev")
                raise RuntimeError("the fuzz targets do not build; build/log/fuzz.log has the reason")
    return folder / "campaign_fuzz"


@functools.cache
def building():
    """build(), begun at the first call: other parts mostly wait for files and processes. A future."""
    return ThreadPoolExecutor(1).submit(build)


def targets():
    return TARGETS.findall((harness.HERE / "fuzz/targets.cpp").read_text())


def limit_of(context):
    """The options that end a target."""
    if context.level == "release":
        seconds = [] if context.deadline == float("inf") else [f"-max_total_time={int(context.seconds_left())}"]
        return [f"-runs={EXECUTIONS // len(targets())}", *seconds]
    return [f"-max_total_time={context.count(5, 600, 0)}"]


def command_of(context, fuzzer, target, folder):
    """The command line of a target, with its corpora."""
    here = harness.HERE / "corpus"
    (folder / "new").mkdir()
    corpora = [folder / "new", here / target]
    if target in EXTRA:
        corpora.append(harness.ROOT / EXTRA[target])
    return ["/bin/sh", "-c", f'ulimit -s {STACK}; exec "$@"', "sh", fuzzer, f"--target={target}", f"--folder={folder}/files", f"--checkpoint={here}/checkpoint",
            f"-seed={context.seed}", f"-timeout={harness.MOST_SECONDS}", f"-rss_limit_mb={harness.MOST_MEGABYTES}",
            f"-max_len={MOST_BYTES}", "-len_control=0", f"-artifact_prefix={folder}/", "-print_final_stats=1", *limit_of(context),
            *filter(os.path.isdir, corpora)]


def kept(folder, target):
    """Saves the failing input in build/fuzz/found; its path."""
    found = harness.ROOT / "build/fuzz/found"
    found.mkdir(parents=True, exist_ok=True)
    paths = [shutil.copy(path, found / f"{target}-{path.name}") for path in folder.iterdir() if path.is_file()]
    return ", ".join(str(path.relative_to(harness.ROOT)) for path in paths) or "no input"


def environment(context):
    """Allocations of Arrow are those of AddressSanitizer."""
    return context.environment({"ASAN_OPTIONS": "detect_leaks=0:handle_abort=1", "UBSAN_OPTIONS": "print_stacktrace=1",
                                "EVENKEEL_PARQUET_PLUGIN": context.build / PLUGIN,
                                "ARROW_DEFAULT_MEMORY_POOL": "system"})


def fuzzed(context, fuzzer, target):
    """A trial: one target."""
    def trial(folder, _):
        if target == "parquet" and not (context.build / PLUGIN).exists():
            missing = "without parquet: ./ek parquet builds its reader"
            return harness.Cases(1, [missing]) if context.level == "release" else harness.Cases(0, note=missing)
        done = subprocess.run(command_of(context, fuzzer, target, folder), cwd=folder, env=environment(context),
                              capture_output=True, stdin=subprocess.DEVNULL, check=False)
        error = done.stderr.decode(errors="replace")
        units = UNITS.search(error)
        complaints = []
        if done.returncode != 0:
            reasons = " | ".join(dict.fromkeys(FAILURE.findall(error)))[:300]
            complaints = [f"{reasons or error[-200:]}; input: {kept(folder, target)}"]
        elif units is None or units[1] == "0":
            complaints = [f"no input was tried: {error[-200:]}"]
        return harness.Cases(int(units[1]) if units else 1, complaints)
    return trial


def trials(context):
    fuzzer = building().result()
    return [(target, fuzzed(context, fuzzer, target)) for target in targets()]
