#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which wheel ./ek unpacks, and what it does when the unpacked files change."""
import os
import re
import shutil
import unittest

from ek_case import ROOT, WHEEL, WHEEL_DIGEST, Ek

OTHER_DIGEST = "6e2ebd7a9fd5b11b9dfb63dbb8bfe84b98e9b6b8c6f0fcbf1b4fb5a1ad3cb8d0"
ACCEPT = "EVENKEEL_ACCEPT_WHEEL={} accepts it, if you trust its source"
HEADER = "torch/include/ATen/ATen.h"


class Wheel(Ek):
    def unpacked(self):
        return (self.root / ".deps/torch-2.13.0").exists()

    def test_the_wheel_comes_alone_and_runs_nothing(self):
        self.ek("train")
        download, install = (line for line in self.calls() if line.startswith("python "))
        self.assertTrue(download.startswith("python -I -m pip "))
        self.assertIn(" download --no-deps --only-binary=:all: ", download)
        self.assertIn(" --isolated install --no-index --no-deps ", install)
        self.assertTrue(install.endswith(WHEEL))

    def test_other_bytes_under_a_known_name_are_refused_before_they_are_unpacked(self):
        code, out, error = self.ek("train", OTHER_BYTES="a forged wheel")
        self.assertRegex(error[-1], "found [0-9a-f]{64};")
        digest = error[-1].split("found ")[1].split(";")[0]
        self.assertEqual((code, out, error[-1]), (65, [], (
            f"evenkeel: {WHEEL}: wanted a SHA-256 of tools/torch_wheels.txt, but found {digest}; "
            f"use another index; {ACCEPT.format(digest)}")))
        self.assertFalse(self.unpacked())
        self.assertEqual(self.called(), ["python3", "python"])
        self.assertEqual(self.ek("train")[0], 0)

    def test_an_unknown_wheel_is_refused_by_its_name(self):
        name = "torch-2.13.0+rocm7.1-cp311-cp311-manylinux_2_28_x86_64.whl"
        code, _, error = self.ek("train", OTHER_WHEEL=name)
        self.assertEqual((code, error[-1]), (64, (
            f"evenkeel: {name}: wanted a wheel of tools/torch_wheels.txt, but found no such name in it; "
            + ACCEPT.format(WHEEL_DIGEST))))
        self.assertFalse(self.unpacked())
        self.assertEqual(self.ek("train", OTHER_WHEEL=name, EVENKEEL_ACCEPT_WHEEL=OTHER_DIGEST)[0], 64)
        self.assertEqual(self.ek("train", OTHER_WHEEL=name, EVENKEEL_ACCEPT_WHEEL=WHEEL_DIGEST)[0], 0)
        self.assertEqual(self.ek("train")[0], 0)

    def test_a_cuda_wheel_brings_the_two_libraries_that_it_links(self):
        self.assertEqual(self.ek("train", CUDA="13.0.3")[0], 0)
        pip = [line for line in self.calls() if "cuda_requirements.txt" in line]
        self.assertEqual(len(pip), 1)
        self.assertIn(" install --require-hashes --no-deps --only-binary=:all: ", pip[0])

    def test_another_cuda_toolkit_has_no_known_digests(self):
        code, _, error = self.ek("train", CUDA="12.9.1")
        self.assertEqual((code, error[-2:]), (74, [
            "this wheel links cuda-toolkit 12.9.1, which tools/cuda_requirements.txt does not have; unpack LibTorch "
            "yourself and set EVENKEEL_TORCH to its folder",
            "evenkeel: unpack failed; all of it is in build/log/unpack.log"]))
        self.assertFalse(self.unpacked())

    def test_a_folder_that_no_checked_wheel_made_is_fetched_again(self):
        self.ek("train")
        (self.root / ".deps/torch-2.13.0.records").unlink()
        self.calls()
        self.assertEqual(self.ek("train")[0], 0)
        self.assertEqual(self.called(), ["python", "python", "ninja"])


class Files(Ek):
    def setUp(self):
        super().setUp()
        self.ek("train")
        self.calls()
        self.folder = self.root / ".deps/torch-2.13.0"

    def refusal(self):
        """What ./ek finds, twice: a refusal is repeated until the folder is gone."""
        first, again = self.ek("train"), self.ek("train")
        self.assertEqual(first, again)
        self.assertEqual((first[0], first[1], self.calls()), (65, [], []))
        return re.fullmatch(r"evenkeel: \.deps/torch-2\.13\.0: wanted the files of the wheel, but (.*); "
                            r"delete the folder and run again", first[2][0])[1]

    def test_a_changed_header_is_not_compiled(self):
        (self.folder / HEADER).write_text("#define free\n")
        self.assertEqual(self.refusal(), f"{HEADER} differs from the wheel")

    def test_a_changed_library_is_not_linked_even_with_its_old_time(self):
        path = self.folder / "torch/lib/libc10.so"
        before = path.stat()
        path.write_text("x")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.assertEqual(self.refusal(), "torch/lib/libc10.so differs from the wheel")

    def test_an_added_header_is_not_included(self):
        (self.folder / "torch/include/vector").write_text("")
        self.assertEqual(self.refusal(), "torch/include/vector is not in the wheel")

    def test_a_link_is_no_file_of_the_wheel(self):
        path = self.folder / HEADER
        path.rename(self.home / "elsewhere.h")
        path.symlink_to(self.home / "elsewhere.h")
        self.assertEqual(self.refusal(), f"{HEADER} differs from the wheel")

    def test_a_changed_list_is_no_excuse(self):
        (self.folder / HEADER).write_text("#define free\n")
        record = self.folder / "torch-2.dist-info/RECORD"
        record.write_text(record.read_text().replace("47DEQpj8", "00000000"))
        self.assertEqual(self.refusal(), "its list of files differs from the wheel")

    def test_files_that_only_look_new_are_compared_once(self):
        (self.folder / HEADER).touch()
        self.assertEqual(self.ek("train")[0], 0)
        checked = (self.root / ".deps/torch-2.13.0.checked").stat().st_mtime_ns
        self.assertEqual(self.ek("train")[0], 0)
        self.assertEqual((self.root / ".deps/torch-2.13.0.checked").stat().st_mtime_ns, checked)

    def test_a_refused_folder_may_be_deleted(self):
        (self.folder / HEADER).write_text("#define free\n")
        self.refusal()
        shutil.rmtree(self.folder)
        self.assertEqual(self.ek("train")[0], 0)


class Lists(unittest.TestCase):
    def test_every_line_of_the_list_of_wheels_is_a_digest_and_a_wheel_of_linux(self):
        lines = (ROOT / "tools/torch_wheels.txt").read_text().splitlines()
        wheels = [line for line in lines if line and not line.startswith("#")]
        for line in wheels:
            self.assertRegex(line, r"^[0-9a-f]{64}  torch-2\.13\.0(\+(cpu|cu\d+))?-(cp3\d+)-\3t?-"
                                   r"manylinux_2_28_x86_64\.whl$")
        self.assertEqual(len({line.split()[0] for line in wheels}), len(wheels))
        for python in ["cp310", "cp311", "cp312", "cp313", "cp314"]:
            self.assertTrue(any(f"torch-2.13.0-{python}-" in line for line in wheels), python)

    def test_every_requirement_has_one_version_and_a_digest(self):
        for name in ["test", "cuda", "gpu"]:
            text = (ROOT / f"tools/{name}_requirements.txt").read_text().replace("\\\n", " ")
            for line in text.splitlines():
                if not line.startswith("#"):
                    self.assertRegex(line, r"^[a-z0-9-]+==[0-9.]+( ; python_version [<>]= \"3\.\d+\")?"
                                           r"( +--hash=sha256:[0-9a-f]{64})+$")


if __name__ == "__main__":
    unittest.main()
