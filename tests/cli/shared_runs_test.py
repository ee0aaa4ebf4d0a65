#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs that another user owns, and the paths and pages that others get."""
import os
import re
import resource
import signal
import socket
import subprocess
import time

import program
from program import LIMIT, small

NOBODY = 65534


def as_another_user():
    """Runs in the new process: root may write and read everything."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


class ReadOnly(program.Case):
    def prepare(self):
        self.train("run", train_steps=2)

    def protect(self, mode):
        """The user of as_another_user() gets these rights on the folder of the run."""
        os.chmod(self.folder, 0o777)
        os.chmod(self.folder / "run", mode)
        self.addCleanup(os.chmod, self.folder / "run", 0o755)

    def test_probe_prints_and_says_that_nothing_is_recorded(self):
        self.protect(0o555)
        report = (self.folder / "run/report.html").read_bytes()
        printed, error = self.succeed("probe", "--run", "run", before=as_another_user)
        warning = "warning: nothing is recorded in probes.jsonl of the run: run: Permission denied\n"
        self.assertIn(warning, error)
        self.assertFalse((self.folder / "run/probes.jsonl").exists())
        self.assertEqual((self.folder / "run/report.html").read_bytes(), report)
        self.protect(0o755)
        again, error = self.succeed("probe", "--run", "run")
        self.assertEqual(again, printed)
        self.assertNotIn("warning: nothing is recorded", error)
        self.assertTrue((self.folder / "run/probes.jsonl").exists())

    def test_report_names_the_option_for_another_file(self):
        self.protect(0o555)
        self.refuse(74, "run/report.html: cannot create: Permission denied; --output FILE writes the page elsewhere",
                    "report", "run", before=as_another_user)
        self.assertEqual(self.succeed("report", "run", "--output", "page.html", before=as_another_user)[0],
                         "page.html\n")

    def test_runs_warns_of_a_folder_that_it_cannot_read(self):
        warning = "warning: ./run: cannot be read, so runs in it are not shown; check its permissions\n"
        self.protect(0o000)
        for options in ([], ["--json"]):
            self.assertEqual(self.succeed("runs", ".", *options, before=as_another_user)[1], warning)
        self.protect(0o755)
        self.assertEqual(self.succeed("runs", ".")[1], "")

    def test_runs_names_three_of_many_folders_that_it_cannot_read(self):
        os.chmod(self.folder, 0o777)
        private = [self.folder / f"private-{number}" for number in range(5)]
        for folder in private:
            folder.mkdir(mode=0)
        named = "".join(f"warning: ./{folder.name}: cannot be read, so runs in it are not shown; check its "
                        "permissions\n" for folder in private[:3])
        for rest in ("warning: and 2 more folders cannot be read\n", "warning: and 1 more folder cannot be read\n", ""):
            self.assertEqual(self.succeed("runs", ".", before=as_another_user)[1], named + rest)
            private.pop().rmdir()
        for folder in private:
            folder.rmdir()

    def test_watch_warns_of_a_folder_that_it_cannot_read(self):
        self.protect(0o000)
        with subprocess.Popen([program.PROGRAM, "watch", "run", "--port", "0"], cwd=self.folder,
                              env=program.ENVIRONMENT, preexec_fn=as_another_user, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as watch:
            self.addCleanup(watch.kill)
            self.assertIn(b"watching on", watch.stdout.readline())
            watch.send_signal(signal.SIGTERM)
            self.assertEqual(watch.communicate(timeout=LIMIT)[1].decode(),
                             "warning: run: cannot be read, so runs in it are not shown; check its permissions\n")


class Limits(program.Case):
    def watch(self, before=None):
        """`watch runs`, whose first line is the address; warnings follow in the same pipe."""
        watch = subprocess.Popen([program.PROGRAM, "watch", "runs", "--port", "0"], cwd=self.folder,
                                 env=program.ENVIRONMENT, preexec_fn=before, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT)
        for clean in (watch.stdout.close, watch.wait, watch.kill):
            self.addCleanup(clean)
        self.assertIn(b"watching on", watch.stdout.readline())
        return watch

    @staticmethod
    def open_files(process):
        """The number of files that a process holds open: the smallest number in some time."""
        counts = []
        for _ in range(20):
            counts.append(len(os.listdir(f"/proc/{process.pid}/fd")))
            time.sleep(0.01)
        return min(counts)

    def test_watch_goes_on_where_its_search_for_unreadable_folders_fails(self):
        (self.folder / "runs").mkdir()
        most = self.open_files(self.watch()) + 1  # for the folder, but not for the list of its entries
        watch = self.watch(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
        self.assertEqual(watch.stdout.readline(), b"warning: runs: cannot list: Too many open files\n")
        watch.send_signal(signal.SIGTERM)
        self.assertEqual(watch.wait(timeout=LIMIT), 0)


class Names(program.Case):
    def test_the_path_of_a_report_in_a_pipe_is_the_path(self):
        self.train("run", train_steps=1)
        for name in (b"new\nline", b"esc\x1b[31mred", b"bad\xff\xfe"):
            os.rename(self.folder / "run", os.fsencode(self.folder) + b"/" + name)
            done = self.evenkeel("report", os.fsdecode(name), before=lambda: None)
            os.rename(os.fsencode(self.folder) + b"/" + name, self.folder / "run")
            self.assertEqual((done.returncode, done.stdout), (0, name + b"/report.html\n"), done.stderr)

    def test_a_link_without_a_target_is_named(self):
        (self.folder / "link").symlink_to("gone")
        self.refuse(74, "link: is a symbolic link to gone, which does not exist; make that folder, or remove the link",
                    "train", "--quiet", "--run", "link", *small(train_steps=1))

    def test_a_run_without_run_toml_is_told_how_to_get_it(self):
        self.train("run", train_steps=1)
        before = (self.folder / "run/run.toml").read_text()
        (self.folder / "run/run.toml").unlink()
        message = ("run: not a run folder (no run.toml); `evenkeel runs` lists them; it has checkpoints: "
                   "`evenkeel train --run run` writes run.toml anew, and trains the steps that are left")
        for arguments in (["eval"], ["generate"], ["export", "--output", "model"]):
            self.refuse(77, message, *arguments, "--run", "run")
        self.succeed("train", "--run", "run")
        self.assertEqual((self.folder / "run/run.toml").read_text(), before)


class Hosts(program.Case):
    def test_watch_refuses_two_hosts(self):
        (self.folder / "runs").mkdir()
        with subprocess.Popen([program.PROGRAM, "watch", "runs", "--port", "0"], cwd=self.folder,
                              env=program.ENVIRONMENT, stdout=subprocess.PIPE) as watch:
            self.addCleanup(watch.kill)
            port = int(re.search(rb":(\d+)/", watch.stdout.readline())[1])
            for hosts, status in ((b"Host: localhost\r\n", b"200"),
                                  (b"Host: localhost\r\nHost: evil.example\r\n", b"400")):
                with socket.create_connection(("127.0.0.1", port), timeout=LIMIT) as connection:
                    connection.sendall(b"GET / HTTP/1.1\r\n" + hosts + b"\r\n")
                    self.assertEqual(connection.recv(100).split()[1], status)
            watch.send_signal(signal.SIGTERM)
            self.assertEqual(watch.wait(timeout=LIMIT), 0)


if __name__ == "__main__":
    program.main()
