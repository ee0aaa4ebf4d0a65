#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants defects that were once mended in a copy of the sources, and checks that their tests find them.

The copy is configured and built once, and its tests must pass; each defect then changes a line or two, and the test
that is named with it must fail.

Usage: planted_defects.py SOURCE TORCH [--folder FOLDER] [--only NAME,NAME]
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

SRC = "src/evenkeel/"
LIMIT = 400  # seconds of a test
DID_NOT_RUN = re.compile(r"skipped=\d|No tests were found|Running 0 tests|Ran 0 tests")


@dataclass
class Defect:
    """One planted defect.

    changes: (file, wanted text that stands there once, the planted text)
    test: words of a command: cli FILE [TEST...], frame FILE [TEST...], ctest NAME, gtest PROGRAM FILTER,
          campaign PART
    message: what the failing test prints, as a regular expression
    """
    name: str
    changes: list
    test: list
    message: str


DEFECTS = [
    Defect("two writers in one run: the folder is asked by its path",
           [(SRC + "store/lock.cpp", "if (directory_.is_at_its_path()) return check_file();", "return check_file();")],
           ["gtest", "store", "Lock.NoticesThatItsFolderWasMovedAndNamesTheNewPath"], r"FAILED"),
    Defect("two writers in one run: a lock file that was replaced",
           [(SRC + "store/lock.cpp", "if (is_held()) return;", "return;")],
           ["gtest", "store", "Lock.NoticesThatItsFileWasReplaced"], r"FAILED"),
    Defect("deep keys of TOML",
           [(SRC + "config/toml_parser.cpp", "first_line_deeper_than(kMaxDepth, toml)",
             "first_line_deeper_than(std::int64_t{1} << 40, toml)")],
           ["cli", "hostile_input_test", "Depth.test_a_key_of_50000_parts"], r"Tuples differ: \(-11, "),
    Defect("deep JSON",
           [(SRC + "base/json_parser.cpp", "&& depth_of(text) <= kMaxDepth", "&& depth_of(text) >= 0")],
           ["cli", "hostile_input_test", "Depth.test_metadata_of_a_golden_file"], r"Tuples differ: \(-11, "),
    Defect("records that no flush made durable",
           [(SRC + "store/append_file.cpp", "int error = system().fsync(file) == 0 ? 0 : errno;", "int error = 0;")],
           ["campaign", "power_cuts"], r"FAILED \w+ \d+: cut after call \d+"),
    Defect("a link is followed when records are written",
           [(SRC + "store/append_file.cpp", "folder_ ? O_NOFOLLOW | O_NONBLOCK : 0", "folder_ ? O_NONBLOCK : 0")],
           ["cli", "run_folder_test", "Links.test_the_log_is_not_written_through_a_link"], r"precious"),
    Defect("a link is followed when a run is read",
           [(SRC + "base/file.cpp", "open_regular(folder, name.c_str(), O_NOFOLLOW, path)",
             "open_regular(folder, name.c_str(), 0, path)")],
           ["cli", "run_folder_test", "Links.test_records_and_configuration_are_not_read_through_a_link"],
           r"FAIL: test_records_and"),
    Defect("a damaged line is dropped",
           [(SRC + "store/records_file.cpp", "      sorted.damaged += line;\n      ++sorted.damaged_count;\n", "")],
           ["cli", "run_folder_test", "Records.test_a_flipped_bit_is_kept_aside"], r"not found in|Lists differ"),
    Defect("a changed record is not noticed",
           [(SRC + "store/records_file.cpp", "digest(content.data(), size) == saved", "\"\" != saved")],
           ["cli", "run_folder_test", "Records.test_a_change_of_a_value_is_said"], r"not found in"),
    Defect("compressed data of any ratio",
           [(SRC + "data/text_stream.cpp", "if (given_ > kMaxRatio * consumed) {", "if (given_ > ~kMaxRatio) {")],
           ["gtest", "data", "TextStreams.RefuseABomb"], r"FAILED"),
    Defect("products whose sums are divided between the threads",
           [(SRC + "ops/linear/deterministic_matmul_cpu.cpp",
             "  if (y.dim() == 3) return matmul_in_blocks(y, x, w, is_added);",
             "  if (const auto half = x.size(-1) / 2; y.dim() == 2 && half > 0 && cpu::thread_count() > 2) {\n"
             "    auto out = y;\n    const auto rest = x.size(1) - half;\n"
             "    is_added ? out.addmm_(x.narrow(1, 0, half), w.narrow(0, 0, half))\n"
             "             : at::mm_out(out, x.narrow(1, 0, half), w.narrow(0, 0, half));\n"
             "    out.addmm_(x.narrow(1, half, rest), w.narrow(0, half, rest));\n    return;\n  }\n"
             "  if (y.dim() == 3) return matmul_in_blocks(y, x, w, is_added);")],
           ["gtest", "ops", "DeterministicMatmul.HasTheSameBitsForAnyNumberOfThreadsAtEveryWidth"], r"FAILED"),
    Defect("numbers of any size in a report",
           [(SRC + "report/json_field.cpp", "kLargest = 1e150, kSmallest = 1e-150;",
             "kLargest = 1.7e308, kSmallest = 0;"),
            (SRC + "report/axis.cpp", "kLargestEnd = 1e300, kSmallestEnd = 1e-300;",
             "kLargestEnd = 1.7e308, kSmallestEnd = 0;")],
           ["gtest", "report", "HostileRun*"], r"\[  FAILED  \] HostileRun|std::bad_alloc|__n < this->size\(\)"),
    Defect("threads that cannot be created",
           [(SRC + "base/threads.cpp", "if (limit.count >= count) return;", "if (limit.count >= 0) return;")],
           ["cli", "hostile_input_test", "Threads"], r"libgomp: Thread creation failed"),
    Defect("control characters are printed",
           [(SRC + "base/printable.cpp", "return is_active ? formatted(", "return is_active && false ? formatted(")],
           ["cli", "hostile_input_test", "Messages"], r"FAIL: test_control_characters"),
    Defect("pipes and devices are read",
           [(SRC + "base/file.cpp", "if (!S_ISREG(status.st_mode)) refuse_kind",
             "if (false) refuse_kind")],
           ["cli", "hostile_input_test", "Pipes"], r"FAIL: test_a_pipe_or_device"),
    Defect("a study of any number of arms",
           [(SRC + "study/definition/axes_parser.cpp", "if (arms <= static_cast<double>(kMaxArms)) return;",
             "if (arms > 0) return;")],
           ["campaign", "crashes"], r"FAILED a study of 100,000,000 arms"),
    Defect("a wheel of any bytes",
           [("tools/ek_torch.sh", "printf '%s\\n' \"$known\" | grep -qx \"$digest\" ||", "true ||")],
           ["frame", "ek_torch_test", "-k", "test_other_bytes"], r"FAIL: test_other_bytes"),
    Defect("a wheel of any name",
           [("tools/ek_torch.sh", "[ -n \"$known\" ] ||\n", "true ||\n")],
           ["frame", "ek_torch_test", "-k", "test_an_unknown_wheel"], r"FAIL: test_an_unknown_wheel"),
    Defect("a LibTorch that changed after it was unpacked",
           [("tools/ek_torch.sh", "found=$(python3 -I \"$root/tools/check_torch.py\" \"$torch_folder\") ||",
             "true ||")],
           ["frame", "ek_torch_test", "-k", "test_a_changed_header"], r"FAIL: test_a_changed_header"),
    Defect("a program without immediate binding",
           [("cmake/Hardening.cmake", "-Wl,-z,relro,-z,now", "-Wl,-z,relro,-z,lazy")],
           ["ctest", "elf"], r"binds symbols lazily"),
    Defect("closed standard streams",
           [(SRC + "cli/main.cpp", "if (!is_closed) continue;", "if (!is_closed || stream >= 0) continue;")],
           ["cli", "run_folder_test", "ClosedStreams"], r"FAIL: test_no_file_takes"),
    Defect("a full disk ends the run",
           [(SRC + "train/run.cpp", "if (stop_wanted()) throw;", "throw;")],
           ["cli", "run_folder_test", "FullDisk.test_the_last_save_waits_for_space_and_nothing_is_lost"],
           r"No space left on device|waits for space|AssertionError"),
    Defect("temporary files of dead processes stay",
           [(SRC + "store/run_folder.cpp", "if (process == 0 || folder.has_folder(name)) continue;",
             "if (process >= 0 || folder.has_folder(name)) continue;")],
           ["cli", "run_folder_test", "Records.test_temporary_files_of_dead_processes_are_removed"],
           r"True is not false"),
    Defect("a forged state of a checkpoint is believed",
           [(SRC + "train/trainer_checkpoint.cpp", "if (value.is_number_integer()) {",
             "if (!value.is_number_integer()) return value.get<std::int64_t>();\n  {")],
           ["campaign", "crashes"], r"FAILED a digest-valid state\.json without counters"),
    Defect("signals before the handlers",
           [(SRC + "train/signals.cpp", "::syscall(SYS_rt_sigprocmask, SIG_BLOCK, &kHeld, nullptr, sizeof kHeld);", "")],
           ["cli", "hostile_input_test", "EarlySignals.test_a_signal_before_the_handlers_stops_in_order"],
           r"no signal was held back|\(-15|-2 != 0|-15 != 0"),
    Defect("a run starts among other files",
           [(SRC + "train/open_run.cpp", "if (!store::is_foreign_folder(folder)) return;",
             "if (!store::is_foreign_folder(folder) || !folder.empty()) return;")],
           ["cli", "run_folder_test", "TwoWriters.test_no_run_starts_among_other_files"], r"Tuples differ: \(0, "),
    Defect("missing steps are not named",
           [(SRC + "store/records_file.cpp", "if (!missing.empty()) return text(out, \" the records of \"",
             "if (missing.size() == 1) return text(out, \" the records of \"")],
           ["cli", "run_folder_test", "Records.test_missing_steps_are_named"], r"not found in"),
]


def run(command, **options):
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            check=False, **options)
    return result.returncode, result.stdout.decode(errors="replace")


def copy_sources(source, copy):
    code, names = run(["git", "-C", source, "ls-files"])
    if code != 0:
        sys.exit(f"{source}: must be a git repository")
    for name in names.splitlines():
        if (source / name).is_file():
            target, content = copy / name, (source / name).read_bytes()
            if target.exists() and target.read_bytes() == content:
                continue  # keeps its time, and what was built from it
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            shutil.copymode(source / name, target)


class Copy:
    """The copy of the sources, and its build."""

    def __init__(self, folder, torch):
        self.folder, self.build = folder, folder / "build/release"
        code, text = run(["cmake", "--preset", "release", f"-DEVENKEEL_TORCH={torch}", "-DEK_TESTS=ON",
                          f"-DPython3_EXECUTABLE={sys.executable}"], cwd=folder)
        if code != 0:
            sys.exit(text)

    def make(self, tests):
        """Builds the program and these tests. \\return what went wrong, or nothing"""
        targets = {"evenkeel", *(f"{words[1]}_test" for words in tests if words[0] == "gtest")}
        if any(words[0] == "ctest" for words in tests):
            targets.add("evenkeel_ops")
        code, text = run(["ninja", "-C", self.build, "-j", os.cpu_count(), *sorted(targets)])
        return text if code != 0 else ""

    def command(self, words):
        kind, name, *rest = words
        program = self.build / "evenkeel"
        tests = self.folder / "tests"
        return {"cli": [sys.executable, tests / f"cli/{name}.py", program, *rest],
                "frame": [sys.executable, tests / f"frame/{name}.py", *rest],
                "ctest": ["ctest", "--test-dir", self.build, "-R", f"^{name}$", "--output-on-failure"],
                "gtest": [self.build / f"{name}_test", f"--gtest_filter={rest[0] if rest else ''}"],
                "campaign": [sys.executable, tests / "campaign/campaign.py", "--part", name, program]}[kind]

    def test(self, words):
        environment = dict(os.environ, OMP_WAIT_POLICY="passive")
        try:
            return run(self.command(words), cwd=self.folder, env=environment, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return 1, f"TIMEOUT after {LIMIT} s"

    def plant(self, changes):
        """Changes files. \\return their former texts by path"""
        before = {}
        for name, wanted, planted in changes:
            path = self.folder / name
            text = path.read_text()
            if text.count(wanted) != 1:
                sys.exit(f"{name}: must have this text once; adapt planted_defects.py:\n{wanted}")
            before[path] = text
            path.write_text(text.replace(wanted, planted))
        return before


def check(copy, defect):
    """\\return "" if the test found the defect, else what happened"""
    before = copy.plant(defect.changes)
    try:
        complaint = copy.make([defect.test])
        if complaint:
            return f"does not build:\n{complaint[-3000:]}"
        code, text = run([copy.build / "evenkeel", "--version"])
        if code != 0:
            return f"the program does not start: {text[-3000:]}"
        code, text = copy.test(defect.test)
    finally:
        for path, content in before.items():
            path.write_text(content)
    found = code != 0 and re.search(defect.message, text)
    return "" if found else f"exit code {code}\n{text[-3000:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("torch", type=pathlib.Path, help="the folder of LibTorch")
    parser.add_argument("--folder", type=pathlib.Path, help="of the copy (a temporary one)")
    parser.add_argument("--only", default="", help="defects whose names contain one of these, with commas between")
    options = parser.parse_args()
    chosen = [each for each in DEFECTS if any(part in each.name for part in options.only.split(","))]
    if not chosen:
        sys.exit(f"--only {options.only}: no defect has such a name")
    with tempfile.TemporaryDirectory(prefix="evenkeel-defects-") as temporary:
        os.chmod(temporary, 0o755)  # a test runs the program as another user
        folder = (options.folder or pathlib.Path(temporary)).resolve()
        copy_sources(options.source.resolve(), folder)
        copy = Copy(folder, options.torch.resolve())
        complaint = copy.make([each.test for each in chosen])
        if complaint:
            sys.exit(complaint)
        wrong = 0
        for words in {tuple(each.test): each.test for each in chosen}.values():
            code, text = copy.test(words)
            if code != 0 or DID_NOT_RUN.search(text):
                wrong += 1
                print(f"fails or does not run without a defect: {' '.join(words)}\n{text[-3000:]}", flush=True)
        for defect in chosen:
            started = time.monotonic()
            complaint = check(copy, defect)
            seconds = time.monotonic() - started
            wrong += bool(complaint)
            print(f"{'MISSED' if complaint else 'found'}: {defect.name} ({' '.join(defect.test[:2])}, {seconds:.0f} s)"
                  + ("\n" + complaint if complaint else ""), flush=True)
    print(f"{len(chosen)} defects, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
