#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./ek, with stand-ins for apt-get, pip, cmake, ninja and ctest that write down how they are called."""
import shutil
import stat
import unittest

from ek_case import ROOT, Ek


class BeforeAnythingIsBuilt(Ek):
    def test_the_help_fits_a_screen(self):
        for arguments in [[], ["-h"], ["--help"]]:
            code, out, error = self.ek(*arguments)
            self.assertEqual((code, error, self.calls()), (0, [], []))
            self.assertLessEqual(len(out), 24)
            self.assertLessEqual(max(map(len, out)), 80)
            self.assertIn("Usage: ./ek VERB [OPTIONS]", out)
            for verb in ("parquet", "python", "test", "wheel"):
                self.assertEqual(len([line for line in out if line.startswith(f"  {verb} ")]), 1, verb)

    def test_the_version_is_that_of_the_project(self):
        version = (ROOT / "CMakeLists.txt").read_text().split("VERSION ")[2].split()[0]
        self.assertEqual(self.ek("--version"), (0, [f"evenkeel {version}"], []))

    def test_the_help_of_its_own_verbs_installs_nothing(self):
        for verb in ("test", "wheel", "python", "parquet"):
            for option in ("--help", "-h"):
                code, out, error = self.ek(verb, option)
                self.assertEqual((code, error), (0, []))
                self.assertTrue(out[0].startswith(f"Usage: ./ek {verb} "), out)
        self.assertEqual(self.calls(), [])

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
                                 "evenkeel: unpacking LibTorch",
                                 "evenkeel: configuring build/release",
                                 "evenkeel: building (build/log/build.log)"])
        self.assertEqual(self.called(), ["python3", "python", "python", "cmake", "ninja"])

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

    def test_a_torch_that_lost_a_file_is_fetched_again(self):
        self.ek("train")
        (self.root / ".deps/torch-2.13.0/torch/lib/libc10.so").unlink()
        self.calls()
        self.assertEqual(self.ek("train")[0], 0)
        self.assertEqual(self.called(), ["python", "python", "ninja"])

    def test_a_stage_that_was_cut_off_starts_over(self):
        (self.root / ".deps/torch-2.13.0.part/torch/include").mkdir(parents=True)
        (self.root / ".deps/python/bin").mkdir(parents=True)
        shutil.copy(self.tools / "venv-python", self.root / ".deps/python/bin/python")
        self.assertEqual(self.ek("train")[0], 0)
        self.assertEqual(self.called(), ["python3", "python", "python", "cmake", "ninja"])

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
        self.assertEqual(sorted(self.called()), ["cmake", "ninja", "ninja", "python", "python", "python3"])


class Refusals(Ek):
    def test_missing_packages_without_the_right_to_install_them(self):
        self.assertEqual(self.ek("train", ABSENT="ninja-build", USER_ID="1000"), (64, [], [
            "evenkeel: some packages are missing; run: "
            "sudo apt-get install --no-install-recommends ninja-build"]))
        self.assertEqual(self.calls(), [])

    def test_no_package_is_installed_where_that_is_forbidden(self):
        self.assertEqual(self.ek("train", ABSENT="ninja-build", EVENKEEL_NO_INSTALL="1"), (64, [], [
            "evenkeel: some packages are missing, and EVENKEEL_NO_INSTALL=1 forbids ./ek to install them; run: "
            "sudo apt-get install --no-install-recommends ninja-build"]))
        self.assertEqual(self.calls(), [])
        self.assertEqual(self.ek("train", EVENKEEL_NO_INSTALL="1")[0], 0)

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
                         ["python3", "python", "python", "python", "cmake", "ninja", "ctest"])
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
        packages.write_text(packages.read_text().replace("[program]\n", "[program]\nzstd\n"))
        self.calls()
        self.assertEqual(self.ek("train")[0], 0)
        self.assertEqual(self.called(), ["cmake", "ninja"])

    def test_nightly_runs_them_too(self):
        self.assertEqual(self.ek("test", "--nightly", "-R", "kill")[1], ["nightly=1"])
        self.assertTrue(self.calls()[-1].endswith("--no-tests=error -R kill"))

    def test_the_campaign_gets_its_packages_and_its_arguments(self):
        self.assertEqual(self.ek("test", "--campaign", "--seed", "3", ABSENT="libclang-rt-19-dev")[0], 0)
        calls = self.calls()
        self.assertIn("libclang-rt-19-dev", next(line for line in calls if " install " in line))
        self.assertTrue(calls[-1].endswith("tests/campaign/campaign.py " +
                                           str(self.root / "build/release/evenkeel") + " --seed 3"))
        self.assertNotIn("ctest", [line.split()[0] for line in calls])

    def nightly_tools(self, cuda="", bare=""):
        """Stand-ins for the two scripts that --nightly runs after the tests."""
        for name, body in (("check_cuda_emulated", f"echo cuda; {cuda}"), ("fresh_machine", f"echo bare; {bare}")):
            path = self.root / f"tools/{name}.sh"
            path.write_text(f"#!/bin/sh\n{body}\n")
            path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def test_nightly_ends_on_a_bare_machine(self):
        for exit_code, wanted in [(0, 0), (77, 0), (1, 1), (74, 1)]:
            self.nightly_tools(bare=f"exit {exit_code}")
            self.assertEqual(self.ek("test", "--nightly")[:2], (wanted, ["nightly=1", "cuda", "bare"]))
        self.assertEqual(self.ek("test")[1], ["nightly=0"])

    def test_a_failed_test_needs_no_bare_machine(self):
        self.nightly_tools(cuda="exit 1")
        self.assertEqual(self.ek("test", "--nightly", FAIL_CTEST="8")[:2], (1, ["nightly=1"]))
        self.assertEqual(self.ek("test", "--nightly")[:2], (1, ["nightly=1", "cuda"]))

    def test_a_failed_test_is_a_no(self):
        self.assertEqual(self.ek("test", FAIL_CTEST="8")[0], 1)


if __name__ == "__main__":
    unittest.main()
