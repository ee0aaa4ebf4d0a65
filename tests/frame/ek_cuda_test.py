#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What EVENKEEL_DEVICE=cuda fetches and builds, and what it refuses."""
import os
import pty
import unittest

from ek_case import ROOT, WHEEL, Ek

SIZE = ("evenkeel: LibTorch 2.13.0 with CUDA and NVIDIA's libraries: a download of 2.5 GB, once; "
        "it needs 7 GB of disk, later 4 GB")
NVCC = "install NVIDIA's package cuda-toolkit-13-0"
NOT_FETCHED = "evenkeel: nothing was fetched; EVENKEEL_TORCH=FOLDER takes an installed LibTorch with CUDA"
CPU_ONLY = "evenkeel: EVENKEEL_DEVICE=cuda: ./ek {} supports only the CPU build; {}"


class Cuda(Ek):
    def setUp(self):
        super().setUp()
        wheels = self.root / "tools/torch_wheels.txt"
        wheels.write_text(wheels.read_text() + f"{'1' * 64}  {WHEEL.replace('cp311', 'cp312')}\n"
                          f"{'2' * 64}  {WHEEL.replace('cp311', 'cp312').replace('2.13.0', '2.13.0+cpu')}\n")

    def cuda(self, *arguments, **variables):
        return self.ek(*arguments, EVENKEEL_DEVICE="cuda", **variables)

    def answer(self, text):
        """Exit code and what a terminal shows, where a person types the text."""
        ours, theirs = pty.openpty()
        os.write(ours, text.encode())
        process = self.start("train", EVENKEEL_DEVICE="cuda", stdin=theirs, stderr=theirs)
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 4096):
                shown += piece
        except OSError:  # Linux: the other end is closed
            pass
        os.close(ours)
        process.communicate()
        return process.returncode, shown.decode()


class Refusals(Cuda):
    def test_another_device(self):
        for device in ["rocm", "CUDA", "cuda:1", "auto"]:
            self.assertEqual(self.ek("train", EVENKEEL_DEVICE=device), (64, [], [
                f'evenkeel: EVENKEEL_DEVICE must be cpu or cuda, but is "{device}"']))
        self.assertEqual(self.calls(), [])

    def test_verbs_of_the_cpu_build(self):
        for verb, remedy in [("test", "run tools/gpu_check.sh to test a GPU"), ("python", "unset EVENKEEL_DEVICE"),
                             ("wheel", "unset EVENKEEL_DEVICE")]:
            self.assertEqual(self.cuda(verb), (64, [], [CPU_ONLY.format(verb, remedy)]))
        self.assertEqual(self.calls(), [])

    def test_no_nvcc_or_an_old_one(self):
        self.assertEqual(self.cuda("train", NVCC="none"), (64, [], [
            f"evenkeel: EVENKEEL_DEVICE=cuda needs nvcc, but found none; {NVCC}, or set CUDACXX"]))
        for old in ["11.8", "12.4"]:
            self.assertEqual(self.cuda("train", NVCC=old), (64, [], [
                f"evenkeel: EVENKEEL_DEVICE=cuda needs nvcc 12.8 or newer, but {self.tools}/nvcc is {old}; {NVCC}"]))
        self.assertEqual(self.cuda("train", CUDACXX="/nowhere/nvcc")[0], 64)
        self.assertEqual(self.calls(), [])
        self.assertEqual(self.cuda("train", NVCC="12.8")[0], 0)

    def test_a_libtorch_without_cuda(self):
        own = self.own_torch()
        self.assertEqual(self.cuda("train", EVENKEEL_TORCH="own"), (64, [], [
            f"evenkeel: EVENKEEL_TORCH must be a LibTorch with CUDA (lib/libtorch_cuda.so), but {own} has none"]))
        self.assertEqual(self.calls(), [])


class Stages(Cuda):
    def test_the_first_call_fetches_configures_and_builds_in_a_folder_of_its_own(self):
        code, out, error = self.cuda("train")
        self.assertEqual((code, out), (0, [str(self.home), "<train>"]))
        self.assertEqual(error, [SIZE, "evenkeel: making a Python environment in .deps/",
                                 "evenkeel: fetching LibTorch 2.13.0 with CUDA (build/log/torch.log)",
                                 "evenkeel: unpacking LibTorch", "evenkeel: configuring build/cuda",
                                 "evenkeel: building (build/log/build.log)"])
        calls = self.calls()
        cmake = next(line for line in calls if line.startswith("cmake "))
        self.assertIn(f" --preset cuda -DEVENKEEL_TORCH={self.root}/.deps/torch-2.13.0-cuda/torch -DEK_TESTS=OFF ", cmake)
        self.assertTrue(cmake.endswith(f" -DCMAKE_CUDA_COMPILER={self.tools}/nvcc"))
        self.assertEqual(calls[-1].split()[-1], "evenkeel")
        self.assertFalse((self.root / ".deps/wheels-cuda").exists())
        self.assertFalse((self.root / ".deps/torch-2.13.0").exists())
        self.assertEqual(self.cuda("train"), (0, out, []))
        self.assertEqual(self.called(), ["ninja"])

    def test_every_wheel_is_pinned_and_comes_alone(self):
        self.cuda("train")
        pip = [line for line in self.calls() if " pip " in line]
        requirements = (ROOT / "tools/gpu_requirements.txt").read_text().count("==")
        self.assertEqual(len(pip), requirements + 3)
        for line in pip:
            self.assertIn(" --require-hashes --no-deps --only-binary=:all: ", line)
        of_312 = [line for line in pip if " --python-version 3.12 --implementation cp --platform manylinux_" in line]
        self.assertEqual([" download " in line for line in of_312], [True, False])
        for line in pip[-2:]:
            self.assertIn(" --isolated install --no-index ", line)

    def test_the_digests_of_the_wheel_are_those_of_the_list_and_the_accepted_one(self):
        self.cuda("train", FAIL_WHEEL="nvidia-cublas", EVENKEEL_ACCEPT_WHEEL="3" * 64)
        first = (self.root / ".deps/wheels-cuda/requirements").read_text().splitlines()[0]
        self.assertEqual(first, f"torch==2.13.0 --hash=sha256:{'1' * 64} --hash=sha256:{'3' * 64}")

    def test_a_fetch_that_was_cut_off_keeps_what_is_complete(self):
        code, _, error = self.cuda("train", FAIL_WHEEL="nvidia-nccl")
        self.assertEqual((code, error[-1]), (74, "evenkeel: torch failed; all of it is in build/log/torch.log"))
        self.assertTrue(list((self.root / ".deps/wheels-cuda").glob("*.whl")))
        self.assertFalse((self.root / ".deps/torch-2.13.0-cuda").exists())
        self.assertEqual(self.cuda("train")[0], 0)

    def test_builds_for_the_cpu_and_for_gpus_stay(self):
        self.cuda("train")
        first = self.ek("train")
        self.assertEqual(first[0], 0)
        self.calls()
        for device in ["", "cpu"]:
            self.assertEqual(self.ek("train", EVENKEEL_DEVICE=device), (0, first[1], []))
        self.assertEqual(self.cuda("train")[2], [])
        self.assertEqual(self.called(), ["ninja"] * 3)

    def test_changed_files_are_not_linked(self):
        self.cuda("train")
        (self.root / ".deps/torch-2.13.0-cuda/torch/lib/libtorch_cuda.so").write_text("x")
        self.assertEqual(self.cuda("train"), (65, [], [
            "evenkeel: .deps/torch-2.13.0-cuda: wanted the files of the wheel, but torch/lib/libtorch_cuda.so differs "
            "from the wheel; delete the folder and run again"]))

    def test_a_libtorch_with_cuda_of_ones_own_needs_no_fetching(self):
        own = self.own_torch("lib/libtorch_cuda.so", "lib/libc10_cuda.so")
        code, _, error = self.cuda("train", EVENKEEL_TORCH="own")
        self.assertEqual((code, error[0]), (0, "evenkeel: configuring build/cuda"))
        self.assertIn(f"-DEVENKEEL_TORCH={own} ", self.calls()[0])

    def test_other_cards_are_configured_again(self):
        self.own_torch("lib/libtorch_cuda.so", "lib/libc10_cuda.so")
        for cards in ["90a-real", "80-real;90a-real", "80-real;90a-real"]:
            self.assertEqual(self.cuda("train", EVENKEEL_TORCH="own", EVENKEEL_CUDA_ARCHITECTURES=cards)[0], 0)
        cmake = [line for line in self.calls() if line.startswith("cmake ")]
        self.assertEqual([line.split("ARCHITECTURES=")[1] for line in cmake], ["90a-real", "80-real;90a-real"])


class Question(Cuda):
    def test_no_fetches_nothing(self):
        for text in ["n\n", "\n", "\x04"]:
            code, shown = self.answer(text)
            self.assertEqual(code, 64)
            self.assertIn(f"{SIZE}\r\nevenkeel: fetch it? [y/N] ", shown)
            self.assertTrue(shown.endswith(f"{NOT_FETCHED}\r\n"), shown)
        self.assertEqual(self.calls(), [])

    def test_yes_fetches(self):
        self.assertEqual(self.answer("y\n")[0], 0)
        self.assertNotIn("[y/N]", self.answer("")[1])


if __name__ == "__main__":
    unittest.main()
