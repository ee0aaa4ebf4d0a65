#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./ek, with stand-ins for apt-get, pip, cmake, ninja and ctest that write down how they are called."""
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOG = 'echo "$(basename "$0") $*" >>"$CALLS"\n'

# A wheel as pip unpacks it, or with CUDA=1 one that needs a CUDA toolkit.
PIP = """
case "$*" in *"--target"*) ;; *) exit 0 ;; esac
while [ "$1" != --target ]; do shift; done
[ -z "${FAIL_PIP:-}" ] || { seq 20; exit 1; }
case "$3" in torch==*) ;; *) exit 0 ;; esac
mkdir -p "$2/torch/include/ATen" "$2/torch/lib" "$2/torch-2.dist-info"
touch "$2/torch/include/ATen/ATen.h" "$2/torch/lib/libtorch_cpu.so" "$2/torch/lib/libc10.so"
echo "Requires-Dist: sympy" >"$2/torch-2.dist-info/METADATA"
[ -z "${CUDA:-}" ] ||
  echo 'Requires-Dist: cuda-toolkit[cublas,cudart]==13.0.3; x' >>"$2/torch-2.dist-info/METADATA"
"""

STAND_INS = {
    "dpkg-query": """shift 2; for each; do [ "$each" = "${ABSENT:-}" ] || echo "$each installed"; done\n""",
    "id": "echo ${USER_ID:-0}\n",
    "sudo": "exit 1\n",
    "apt-get": LOG,
    "python3": LOG + 'mkdir -p "$3/bin"; cp "$(dirname "$0")/venv-python" "$3/bin/python"\n',
    "venv-python": """if [ "$1" = -c ]; then d=${0%/bin/python}/site; mkdir -p "$d"; echo "$d"; exit; fi
""" + LOG + PIP,
    "cmake": LOG + 'mkdir -p "$2/build/release"; touch "$2/build/release/build.ninja"\n',
    "ninja": LOG + """[ -z "${FAIL_NINJA:-}" ] || { echo "[1/1] Building CXX object"; seq 20; exit 1; }
[ -z "${BREAK_NINJA:-}" ] || { echo "ninja: error: build.ninja:1: what is this?"; exit 1; }
[ -x "$2/evenkeel" ] && { echo "[1/1] looking up the commit"; exit; }
echo "[1/1] Linking CXX executable"
printf '#!/bin/sh\\npwd; for each; do echo "<$each>"; done\\n' >"$2/evenkeel"; chmod +x "$2/evenkeel"\n""",
    "ctest": LOG + 'echo "nightly=${EVENKEEL_NIGHTLY:-0}"; exit ${FAIL_CTEST:-0}\n',
}


class Ek(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name).resolve()
        self.root = self.home / "a tree"
        for name in ["ek", "CMakeLists.txt", "src/evenkeel/cli/verbs.txt", "tools/packages.txt",
                     "tools/test_requirements.txt"]:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        self.tools = self.home / "bin"
        self.tools.mkdir()
        for name, body in STAND_INS.items():
            path = self.tools / name
            path.write_text("#!/bin/sh\n" + body)
            path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def start(self, *arguments, **variables):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("EVENKEEL_")}
        environment |= {"PATH": f"{self.tools}:{os.environ['PATH']}", "CALLS": str(self.home / "calls")}
        return subprocess.Popen([self.root / "ek", *arguments], env=environment | variables, text=True,
                                cwd=self.home, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def ek(self, *arguments, **variables):
        """Exit code, lines of stdout, lines of stderr."""
        process = self.start(*arguments, **variables)
        out, error = process.communicate()
        return process.returncode, out.splitlines(), error.splitlines()

    def own_torch(self):
        """A LibTorch outside the tree."""
        own = self.home / "own"
        for name in ["include/ATen/ATen.h", "lib/libtorch_cpu.so", "lib/libc10.so"]:
            (own / name).parent.mkdir(parents=True, exist_ok=True)
            (own / name).touch()
        return own

    def calls(self):
        """The stand-ins called since the last time."""
        path = self.home / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        path.write_text("")
        return lines

    def called(self):
        return [line.split()[0] for line in self.calls()]


class BeforeAnythingIsBuilt(Ek):
    def test_the_help_fits_a_screen(self):
        for arguments in [[], ["-h"], ["--help"]]:
            code, out, error = self.ek(*arguments)
            self.assertEqual((code, error, self.calls()), (0, [], []))
            self.assertLessEqual(len(out), 24)
            self.assertLessEqual(max(map(len, out)), 80)
            self.assertIn("Usage: ./ek VERB [OPTIONS]", out)

    def test_the_version_is_that_of_the_project(self):
        version = (ROOT / "CMakeLists.txt").read_text().split("VERSION ")[2].split()[0]
        self.assertEqual(self.ek("--version"), (0, [f"evenkeel {version}"], []))

    def test_an_unknown_verb_installs_nothing(self):
        for verb in ["trian", "t.*", "./ek", "--json"]:
            self.assertEqual(self.ek(verb), (64, [], [
                f'evenkeel: no verb is named "{verb}"; ./ek --help lists them']))
        self.assertEqual(self.calls(), [])


class Stages(Ek):
    def test_the_first_call_makes_everything_and_becomes_the_program(self):
        code, out, error = self.ek("train", "--set", "a=b c")
        self.assertEqual((code, out), (0, [str(self.home), "<train>", "<--set>", "<a=b c>"]))
        self.assertEqual(error, ["evenkeel: making a Python environment in .deps/",
                                 "evenkeel: fetching LibTorch 2.13.0 (once, 200 to 530 MB)",
                                 "evenkeel: configuring build/release",
                                 "evenkeel: building (build/log/build.log)"])
        self.assertEqual(self.called(), ["python3", "python", "cmake", "ninja"])

    def test_a_later_call_says_nothing_and_only_asks_ninja(self):
        self.ek("train")
        self.calls()
        self.assertEqual(self.ek("runs"), (0, [str(self.home), "<runs>"], []))
        self.assertEqual(self.called(), ["ninja"])

    def test_the_wheel_comes_alone(self):
        self.ek("train")
        pip = [line for line in self.calls() if "torch==" in line]
        self.assertEqual(len(pip), 1)
        self.assertIn("--no-deps", pip[0])

    def test_a_cuda_wheel_brings_the_two_libraries_that_it_links(self):
        self.ek("train", CUDA="1")
        pip = [line.split()[-1] for line in self.calls() if "install" in line]
        self.assertEqual(pip, ["torch==2.13.0", "cuda-toolkit[cudart,cupti]==13.0.3"])

    def test_a_torch_that_lost_a_file_is_fetched_again(self):
        self.ek("train")
        (self.root / ".deps/torch-2.13.0/torch/lib/libc10.so").unlink()
        self.calls()
        self.assertEqual(self.ek("train")[0], 0)
        self.assertEqual(self.called(), ["python", "ninja"])

    def test_a_stage_that_was_cut_off_starts_over(self):
        (self.root / ".deps/torch-2.13.0.part/torch/include").mkdir(parents=True)
        (self.root / ".deps/python/bin").mkdir(parents=True)
        shutil.copy(self.tools / "venv-python", self.root / ".deps/python/bin/python")
        self.assertEqual(self.ek("train")[0], 0)
        self.assertEqual(self.called(), ["python3", "python", "cmake", "ninja"])

    def test_a_moved_tree_is_configured_again(self):
        own = str(self.own_torch())
        self.ek("train", EVENKEEL_TORCH=own)
        self.root = self.root.rename(self.home / "moved")
        self.calls()
        self.assertEqual(self.ek("train", EVENKEEL_TORCH=own)[0], 0)
        self.assertEqual(self.called(), ["cmake", "ninja"])

    def test_a_torch_of_ones_own_needs_no_fetching(self):
        own = self.own_torch()
        self.assertEqual(self.ek("train", EVENKEEL_TORCH="own")[0], 0)
        cmake, ninja = self.calls()
        self.assertIn(f"-DEVENKEEL_TORCH={own} ", cmake)
        self.assertIn("ninja", ninja)

    def test_two_at_once_do_the_work_once(self):
        both = [self.start("train"), self.start("train")]
        self.assertEqual([each.communicate() and each.returncode for each in both], [0, 0])
        self.assertEqual(sorted(self.called()), ["cmake", "ninja", "ninja", "python", "python3"])


class Refusals(Ek):
    def test_missing_packages_without_the_right_to_install_them(self):
        self.assertEqual(self.ek("train", ABSENT="ninja-build", USER_ID="1000"), (64, [], [
            "evenkeel: some packages are missing; run: "
            "sudo apt-get install --no-install-recommends ninja-build"]))
        self.assertEqual(self.calls(), [])

    def test_missing_packages_are_installed_by_root(self):
        self.assertEqual(self.ek("train", ABSENT="ninja-build")[0], 0)
        apt = [line for line in self.calls() if line.startswith("apt-get")]
        self.assertEqual([line.split()[-1] for line in apt], ["update", "ninja-build"])

    def test_a_folder_that_is_no_libtorch(self):
        self.assertEqual(self.ek("train", EVENKEEL_TORCH="nowhere"), (64, [], [
            "evenkeel: EVENKEEL_TORCH must be the folder of a LibTorch (with include/ and lib/), "
            'but is "nowhere"']))

    def test_a_failed_stage_shows_the_end_of_its_log(self):
        code, out, error = self.ek("train", FAIL_PIP="1")
        self.assertEqual((code, out), (74, []))
        self.assertEqual(error[-16:], [*map(str, range(6, 21)),
                                       "evenkeel: torch failed; all of it is in build/log/torch.log"])
        self.assertEqual(self.ek("train")[0], 0)

    def test_a_broken_build_folder_is_configured_afresh(self):
        self.assertEqual(self.ek("train", BREAK_NINJA="1")[0], 70)
        self.calls()
        self.assertEqual(self.ek("train")[0], 0)
        self.assertEqual(self.called(), ["cmake", "ninja"])
        self.assertEqual(self.ek("train", FAIL_NINJA="1")[0], 70)
        self.ek("train")
        self.assertNotIn("cmake", self.called())

    def test_a_failed_build_shows_the_end_of_its_log(self):
        code, out, error = self.ek("train", FAIL_NINJA="1")
        self.assertEqual((code, out), (70, []))
        self.assertEqual(error[-16:], [*map(str, range(6, 21)),
                                       "evenkeel: build failed; all of it is in build/log/build.log"])


class Test(Ek):
    def test_builds_everything_and_leaves_out_the_long_tests(self):
        code, out, _ = self.ek("test", "-R", "norm")
        self.assertEqual((code, out), (0, ["nightly=0"]))
        calls = self.calls()
        self.assertEqual([line.split()[0] for line in calls],
                         ["python3", "python", "python", "cmake", "ninja", "ctest"])
        self.assertTrue(calls[-2].endswith(" all"))
        self.assertTrue(calls[-1].endswith("--no-tests=error -R norm"))

    def test_tests_are_configured_after_a_build_without_their_packages(self):
        self.ek("train", ABSENT="")
        first = [line for line in self.calls() if line.startswith("cmake")]
        self.assertEqual(len(first), 1)
        self.assertIn("-DEK_TESTS=OFF", first[0])
        self.assertEqual(self.ek("test", ABSENT="libgtest-dev")[0], 0)
        calls = self.calls()
        names = [line.split()[0] for line in calls]
        self.assertIn("-DEK_TESTS=ON", calls[names.index("cmake")])
        self.assertLess(max(i for i, name in enumerate(names) if name == "apt-get"), names.index("cmake"))
        self.assertLess(names.index("cmake"), names.index("ctest"))

    def test_one_configuration_serves_both_verbs_after_the_first_test(self):
        self.ek("test")
        self.calls()
        self.assertEqual(self.ek("train")[0], 0)
        self.assertEqual(self.ek("test")[0], 0)
        self.assertNotIn("cmake", self.called())

    def test_changed_packages_are_configured_again(self):
        self.ek("train")
        packages = self.root / "tools/packages.txt"
        packages.write_text(packages.read_text().replace("[tests]", "zstd\n\n[tests]"))
        self.calls()
        self.assertEqual(self.ek("train")[0], 0)
        self.assertEqual(self.called(), ["cmake", "ninja"])

    def test_nightly_runs_them_too(self):
        self.assertEqual(self.ek("test", "--nightly", "-R", "kill")[1], ["nightly=1"])
        self.assertTrue(self.calls()[-1].endswith("--no-tests=error -R kill"))

    def fresh_machine(self, body):
        path = self.root / "tools/fresh_machine.sh"
        path.write_text("#!/bin/sh\n" + body)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def test_nightly_ends_on_a_bare_machine(self):
        for exit_code, wanted in [(0, 0), (77, 0), (1, 1), (74, 1)]:
            self.fresh_machine(f"echo bare; exit {exit_code}\n")
            self.assertEqual(self.ek("test", "--nightly")[:2], (wanted, ["nightly=1", "bare"]))
        self.assertEqual(self.ek("test")[1], ["nightly=0"])

    def test_a_failed_test_needs_no_bare_machine(self):
        self.fresh_machine("echo bare\n")
        self.assertEqual(self.ek("test", "--nightly", FAIL_CTEST="8")[:2], (1, ["nightly=1"]))

    def test_a_failed_test_is_a_no(self):
        self.assertEqual(self.ek("test", FAIL_CTEST="8")[0], 1)


if __name__ == "__main__":
    unittest.main()
