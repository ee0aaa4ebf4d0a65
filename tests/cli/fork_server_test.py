#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The fork server gives what a process of its own would give: output, exit code, signal, folder, environment.

    fork_server_test.py LIBRARY    LIBRARY: the compiled fork_server.cpp
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import fork_server

PROGRAM = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int loaded = 0;
int main(int count, char** arguments) {
  char text[100] = "";
  const char* what = count > 1 ? arguments[1] : "";
  if (strcmp(what, "echo") == 0) {
    for (int i = 2; i < count; ++i) printf("[%s]", arguments[i]);
    printf("%s %s %d", fgets(text, sizeof text, stdin) ? text : "nothing", getenv("COLOUR"), ++loaded);
    fputs(getcwd(text, sizeof text), stderr);
  }
  if (strcmp(what, "exit") == 0) return atoi(arguments[2]);
  if (strcmp(what, "crash") == 0) raise(SIGSEGV);
  if (strcmp(what, "hang") == 0) {
    fputs("before", stderr);
    sleep(60);
  }
  if (strcmp(what, "large") == 0) for (int i = 0; i < 300000; ++i) putchar('x');
  return 0;
}
"""


class ForkServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        (cls.folder / "program.c").write_text(PROGRAM)
        subprocess.run(["cc", "-w", cls.folder / "program.c", "-o", cls.folder / "program"], check=True)
        cls.server = fork_server.ForkServer(str(cls.folder / "program"), LIBRARY, os.environ | {"COLOUR": "red"})

    def run_program(self, *arguments, given=b"", limit=60):
        return self.server.run([*arguments], self.folder, given, limit)

    def test_each_run_has_its_arguments_input_environment_and_folder(self):
        for _ in range(2):  # the second one does not see what the first one has changed
            done, megabytes = self.run_program("echo", "", "two words", given=b"line")
            self.assertEqual((done.returncode, done.stdout), (0, b"[][two words]line red 1"))
            self.assertEqual(done.stderr.decode(), str(self.folder.resolve()))
            self.assertGreater(megabytes, 0.5)

    def test_exit_codes_and_signals_arrive(self):
        self.assertEqual(self.run_program("exit", "3")[0].returncode, 3)
        self.assertEqual(self.run_program("crash")[0].returncode, -11)

    def test_more_output_than_a_pipe_holds_arrives(self):
        self.assertEqual(self.run_program("large")[0].stdout, b"x" * 300_000)

    def test_a_process_that_hangs_is_ended_and_its_output_is_kept(self):
        with self.assertRaises(subprocess.TimeoutExpired) as over:
            self.run_program("hang", limit=1)
        self.assertEqual((over.exception.output, over.exception.stderr), (b"", b"before"))
        self.assertEqual(self.run_program("exit", "0")[0].returncode, 0)

    def test_a_folder_that_is_missing_is_a_failure(self):
        self.assertEqual(self.server.run(["exit", "0"], self.folder / "none", b"", 60)[0].returncode, 126)

    def test_a_server_that_has_ended_is_a_failure(self):
        server = fork_server.ForkServer(str(self.folder / "program"), LIBRARY, dict(os.environ))
        server.process.kill()
        server.process.wait()
        with self.assertRaises(OSError):
            server.run(["exit", "0"], self.folder, b"", 60)


if __name__ == "__main__":
    LIBRARY = sys.argv.pop(1)
    unittest.main()
