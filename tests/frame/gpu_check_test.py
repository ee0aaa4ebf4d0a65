#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/gpu_check.sh build with stand-ins for pip, unzipping and cmake."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CMAKE_FAILS = 9


class GpuCheck(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        for name in ["tools/gpu_check.sh", "tools/gpu_packages.sh", "tools/gpu_requirements.txt"]:
            (self.root / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        (self.root / "bin").mkdir()
        self.stand_in("cmake", f'printf "%s\\n" "$@" >arguments; exit {CMAKE_FAILS}')

    def stand_in(self, name, body):
        path = self.root / "bin" / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def build(self, shell):
        """The exit code, and what goes to standard error."""
        kept = {name: value for name, value in os.environ.items() if name not in
                ("EVENKEEL_TORCH", "CUDNN_FRONTEND", "TORCH_VERSION")}
        kept["PATH"] = f"{self.root / 'bin'}:{os.environ['PATH']}"
        done = subprocess.run([shell, self.root / "tools/gpu_check.sh", "build"], env=kept, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.stdout, "")
        return done.returncode, done.stderr

    def test_notices_are_no_part_of_a_path(self):
        self.stand_in("python3", 'echo "a notice"')
        code, notices = self.build("sh")
        self.assertEqual((code, notices.splitlines()[:2]), (
            CMAKE_FAILS, ["gpu_check: fetching torch 2.11.0 with CUDA (530 MB)", "a notice"]))
        self.assertIn("gpu_check: fetching the headers of cuDNN (400 MB)\n", notices)
        arguments = (self.root / "arguments").read_text().splitlines()
        headers = self.root / ".deps/cudnn-headers"
        self.assertEqual(arguments[2], f"-DEVENKEEL_TORCH={self.root}/.deps/torch-2.11.0-cuda/torch")
        self.assertEqual(arguments[4], f"-DEK_CUDNN_FRONTEND={headers}/include;{headers}/nvidia/cudnn/include;"
                                       f"{headers}/nvidia/cu13/include")

    def test_a_failed_download_ends_the_build(self):
        self.stand_in("python3", "exit 3")
        for shell in ["sh", "bash"]:
            self.assertEqual(self.build(shell)[0], 3)
            self.assertFalse((self.root / "arguments").exists())


if __name__ == "__main__":
    unittest.main()
