#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/check_elf.py on small programs that lack one protection each."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import check_elf  # noqa: E402

SOURCE = """
#include <cstring>
#include <vector>
void copy(char* to, const char* from, std::size_t n);
void copy(char* to, const char* from, std::size_t n) { char a[64]; std::memcpy(a, from, n); std::memcpy(to, a, 64); }
int main(int count, char** words) {
  std::vector<int> v(3);
  char to[64];
  copy(to, words[0], static_cast<std::size_t>(count));
  return v[static_cast<std::size_t>(count)] + to[0];
}
"""
FLAGS = ["-O1", "-fPIE", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=3", "-D_GLIBCXX_ASSERTIONS", "-fstack-protector-strong",
         "-fcf-protection"]
LINK = ["-pie", "-Wl,-z,relro,-z,now", "-Wl,-z,noexecstack", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/lib"]
LACKING = [
    ("-fPIE", ["-fno-pie", "-no-pie"], "is not position independent (-fPIE -pie)"),
    ("-Wl,-z,noexecstack", ["-Wl,-z,execstack"], "has an executable stack (-Wl,-z,noexecstack)"),
    ("-Wl,-z,relro,-z,now", ["-Wl,-z,norelro,-z,now"], "has no read-only relocations (-Wl,-z,relro)"),
    ("-Wl,-z,relro,-z,now", ["-Wl,-z,relro,-z,lazy"], "binds symbols lazily (-Wl,-z,now)"),
    ("-fstack-protector-strong", ["-fno-stack-protector"], "has no stack protector (-fstack-protector-strong)"),
    ("-D_FORTIFY_SOURCE=3", [], "has no checked function of the C library (-D_FORTIFY_SOURCE=3)"),
    ("-D_GLIBCXX_ASSERTIONS", [], "has no assertion of the C++ library (-D_GLIBCXX_ASSERTIONS)"),
    ("", ["-Wl,--disable-new-dtags,-rpath,/opt/lib"],
     'looks for libraries in "/opt/lib", which is not relative to $ORIGIN'),
]


class CheckElf(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.source = pathlib.Path(cls.folder.name) / "a.cpp"
        cls.source.write_text(SOURCE)

    def complaints(self, without="", extra=()):
        flags = [each for each in [*FLAGS, *LINK] if each != without and not (without == "-fPIE" and each == "-pie")]
        program = self.source.with_suffix(".out")
        subprocess.run([os.environ.get("CXX", "g++"), *flags, *extra, self.source, "-o", program], check=True,
                       stderr=subprocess.DEVNULL)
        return check_elf.complaints(program.read_bytes())

    def test_a_program_with_every_protection_passes(self):
        self.assertEqual([each for each in self.complaints() if "endbr64" not in each], [])

    def test_each_missing_protection_is_named(self):
        for without, extra, complaint in LACKING:
            with self.subTest(complaint):
                self.assertIn(complaint, self.complaints(without, extra))

    def test_functions_without_endbr64_are_counted(self):
        complaints = self.complaints("-fcf-protection", ["-fcf-protection=none"])
        self.assertRegex("\n".join(complaints), r"has endbr64 in \d+ of \d+ functions \(-fcf-protection\)")

    def test_a_runpath_outside_may_be_allowed(self):
        self.complaints("", ["-Wl,-rpath,/opt/lib"])
        data = self.source.with_suffix(".out").read_bytes()
        self.assertTrue(any("/opt/lib" in each for each in check_elf.complaints(data)))
        self.assertFalse(any("/opt/lib" in each for each in check_elf.complaints(data, "/opt/lib")))

    def test_another_file_is_an_error(self):
        for data in [b"", b"#!/bin/sh\n", b"\x7fELF\x01\x01" + bytes(60)]:
            with self.assertRaises((ValueError, check_elf.struct.error)):
                check_elf.complaints(data)


if __name__ == "__main__":
    unittest.main()
