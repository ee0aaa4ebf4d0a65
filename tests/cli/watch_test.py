#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""watch: pages that follow runs, and what the server refuses; with chromium also report pages in a browser."""
import base64
import fcntl
import hashlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import time
import unittest

import program
from program import ENVIRONMENT, LIMIT, free_port

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Watch:
    """A running `watch --port 0`."""

    def __init__(self, case, *places):
        self.process = subprocess.Popen([program.PROGRAM, "watch", *places, "--port", "0"], cwd=case.folder,
                                        env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        for clean in (self.process.stdout.close, self.process.stderr.close, self.process.wait, self.process.kill):
            case.addCleanup(clean)
        line = self.process.stdout.readline().decode()
        self.port = int(re.fullmatch(r"watching on http://127\.0\.0\.1:(\d+)/\n", line)[1])

    def ask(self, path, method="GET", **headers):
        """Status and text of a request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        content = answer.read().decode()
        connection.close()
        return answer.status, content

    def finish(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=LIMIT)


class Server(program.Case):
    def prepare(self):
        self.train("runs/a-1", train_steps=20, log_every=1)

    def test_shows_a_run_and_the_table_of_several(self):
        watch = Watch(self, "runs")
        status, page = watch.ask("/")
        self.assertEqual(status, 200)
        self.assertIn("<h1>a-1</h1>", page)
        shutil.copytree(self.folder / "runs/a-1", self.folder / "runs/b-1")
        page = watch.ask("/")[1]
        first, second, last = re.findall(r'<a href="(/[^"]*)">', page)
        self.assertEqual(last, "/compare")
        self.assertIn("<h1>b-1</h1>", watch.ask(second)[1])
        shutil.copytree(self.folder / "runs/a-1", self.folder / "runs/Z-1")  # its name comes first
        self.assertEqual(len(re.findall(r'<a href="/run/', watch.ask("/")[1])), 3)
        self.assertIn("<h1>a-1</h1>", watch.ask(first)[1])
        self.assertIn("<h1>b-1</h1>", watch.ask(second)[1])
        self.assertIn("Comparison of 3 runs", watch.ask("/compare")[1])
        self.assertEqual(watch.finish(), 0)

    def test_finds_runs_in_subfolders_as_the_list_of_runs_does(self):
        for name in ("studies/pool/b-1", "x/y/z/c-1"):
            shutil.copytree(self.folder / "runs/a-1", self.folder / "runs" / name)
        page = Watch(self, "runs").ask("/")[1]
        self.assertEqual(re.findall(r'<a href="/run/\w+/">([^<]*)</a>', page), ["a-1", "b-1", "c-1"])

    def test_compares_those_of_many_runs_that_changed_last(self):
        for number in range(41):
            run = self.folder / f"runs/m-{number}"
            run.mkdir()
            (run / "run.toml").write_text("")
            (run / "metrics.jsonl").write_text(json.dumps({"step": 1, "loss": 1.0}) + "\n")
            os.utime(run / "metrics.jsonl", ns=(1, 10**9 * (1 + number)))  # m-0 and m-1 are the oldest
        watch = Watch(self, "runs")
        self.assertIn("Compare 40 of 42 runs, those changed last</a>", watch.ask("/")[1])
        page = watch.ask("/compare")[1]
        self.assertIn("<h1>Comparison of 40 runs</h1>", page)
        self.assertIn("Compared: 40 of 42 runs, those changed last.", page)
        names = {name for name in re.findall(r"</svg> ([\w-]+)</td>", page)}
        self.assertEqual(names, {"a-1", *(f"m-{number}" for number in range(2, 41))})

    def test_sends_an_event_when_the_process_of_a_run_is_killed(self):
        status = self.folder / "runs/a-1/status.json"
        status.write_text(status.read_text().replace("finished", "training"))
        of_open_file, whole_file = 37, struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0, 0, 0)  # F_OFD_SETLK
        with open(self.folder / "runs/a-1/lock", "w") as lock:
            fcntl.fcntl(lock, of_open_file, whole_file)
            watch = Watch(self, "runs")
            self.assertIn(">in training<", watch.ask("/")[1])
            stream = socket.create_connection(("127.0.0.1", watch.port), timeout=LIMIT)
            self.addCleanup(stream.close)
            stream.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = b""
            while b"retry:" not in answer:
                answer += stream.recv(65536)
        while b"event: change" not in answer and b": no change" not in answer:
            answer += stream.recv(65536)
        self.assertIn(b"event: change", answer)
        self.assertIn(">interrupted<", watch.ask("/")[1])

    def test_reads_a_run_again_only_after_a_change(self):
        watch = Watch(self, "runs")
        page = watch.ask("/")[1]
        status = self.folder / "runs/a-1/status.json"
        before, content = status.stat(), status.read_text()
        status.write_text(content.replace("finished", "diverged"))
        os.utime(status, ns=(before.st_atime_ns, before.st_mtime_ns))  # with equal size and time
        self.assertEqual(watch.ask("/")[1], page)
        os.utime(status)
        self.assertIn(">diverged<", watch.ask("/")[1])

    def test_ends_soon_while_an_idle_connection_is_open(self):
        watch = Watch(self, "runs")
        with socket.create_connection(("127.0.0.1", watch.port), timeout=LIMIT):
            watch.ask("/")
            start = time.monotonic()
            self.assertEqual(watch.finish(), 0)
            self.assertLess(time.monotonic() - start, 4)

    def test_refuses_other_hosts_methods_and_paths(self):
        watch = Watch(self, "runs")
        self.assertEqual(watch.ask("/", Host="evil.example")[0], 403)
        self.assertEqual(watch.ask("/", Host="localhost:1")[0], 200)
        for method in ("POST", "PUT", "DELETE"):
            self.assertEqual(watch.ask("/", method)[0], 405)
        for path in ("/run/1/", "/run/-1/", "/run/0", "/run/0/../../etc/passwd", "/../../etc/passwd",
                     "/%2e%2e/%2e%2e/etc/passwd", "/runs/a-1/run.toml", "/run/99999999999999999999999/", "/x"):
            with self.subTest(path=path):
                self.assertEqual(watch.ask(path)[0], 404)

    def test_listens_on_the_loopback_interface_only(self):
        watch = Watch(self, "runs")
        port = f"{watch.port:04X}"
        rows = [line.split() for line in open("/proc/net/tcp").read().splitlines()[1:]]
        listening = [row[1] for row in rows if row[1].endswith(":" + port) and row[3] == "0A"]
        self.assertEqual(listening, ["0100007F:" + port])

    def test_sends_an_event_when_a_run_changes(self):
        watch = Watch(self, "runs")
        with socket.create_connection(("127.0.0.1", watch.port), timeout=LIMIT) as stream:
            stream.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = stream.recv(65536)
            while b"retry:" not in answer:
                answer += stream.recv(65536)
            self.assertIn(b"text/event-stream", answer)
            with open(self.folder / "runs/a-1/metrics.jsonl", "a") as file:
                file.write(json.dumps({"step": 21, "loss": 1.0, "tokens": 1}) + "\n")
            while b"event: change" not in answer:
                answer += stream.recv(65536)

    def test_names_a_missing_folder_and_a_port_in_use(self):
        self.fail_with(65, "watch", "nothing", error="nothing: wanted a run folder or a folder of runs")
        watch = Watch(self, "runs")
        self.fail_with(75, "watch", "runs", "--port", str(watch.port), error="another program listens on")

    def fail_with(self, code, *arguments, error):
        result = subprocess.run([program.PROGRAM, *arguments], cwd=self.folder, env=ENVIRONMENT, capture_output=True,
                                text=True, timeout=LIMIT)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn(error, result.stderr)


class Pages(program.Case):
    def prepare(self):
        self.train("runs/a-1", train_steps=30, log_every=1)
        self.train("runs/b-1", train_steps=30, log_every=1, seed=2)

    def test_the_policy_of_a_page_allows_its_own_scripts_only(self):
        page = (self.folder / "runs/a-1/report.html").read_text()
        scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
        self.assertEqual(len(scripts), 2)
        wanted = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in scripts]
        self.assertIn(f"script-src 'sha256-{wanted[0]}' 'sha256-{wanted[1]}'\"", page)
        self.assertIn("default-src 'none'", page)
        self.assertNotRegex(page, r"\beval\(|https?://(?!www\.w3\.org/2000/svg)")

    def test_the_numbers_of_a_chart_are_those_of_the_records(self):
        page = (self.folder / "runs/a-1/report.html").read_text()
        data = [json.loads(each) for each in re.findall(r'<script type="application/json">(.*?)</script>', page)]
        loss = next(each for each in data if each["title"] == "Loss")
        records = [line["loss"] for line in program.metrics(self.folder / "runs/a-1") if "loss" in line]
        for shown, logged in zip(loss["lines"][0]["y"], records, strict=True):
            self.assertAlmostEqual(shown, logged, places=4)
        clocks = json.loads(re.search(r'id="clocks">(.*?)</script>', page)[1])
        self.assertEqual(clocks[0]["step"][-1], 30)
        self.assertEqual(clocks[0]["tokens"][-1], 30 * 2 * 32)
        of_token = json.loads((self.folder / "runs/a-1/provenance.json").read_text())["flops_per_token"]
        self.assertEqual(clocks[0]["FLOPs"][-1], of_token * 30 * 2 * 32)

    def test_report_of_a_folder_is_a_table_with_links(self):
        out, _ = self.succeed("report", "runs")
        self.assertEqual(out, "runs/report.html\n")
        page = (self.folder / "runs/report.html").read_text()
        links = re.findall(r'<a href="([^"]*)">', page)
        self.assertEqual(links, ["a-1/report.html", "b-1/report.html"])
        for link in links:
            self.assertTrue((self.folder / "runs" / link).exists())

    def test_report_of_a_folder_links_only_to_pages_that_exist(self):
        (self.folder / "runs/b-1/report.html").rename(self.folder / "b.html")
        self.addCleanup(lambda: (self.folder / "b.html").rename(self.folder / "runs/b-1/report.html"))
        self.succeed("report", "runs", "--output", "all.html")
        page = (self.folder / "all.html").read_text()
        self.assertEqual(re.findall(r'<a href="([^"]*)">', page), ["runs/a-1/report.html"])
        self.assertIn('<td class="name">b-1</td>', page)

    def test_comparison_groups_seeds(self):
        self.succeed("report", "runs/a-1", "runs/b-1", "--output", "both.html")
        page = (self.folder / "both.html").read_text()
        self.assertIn("<h2>Seeds</h2>", page)
        self.assertIn("mean of 2 seeds", page)


@unittest.skipUnless(CHROMIUM, "no chromium is installed")
class Browser(program.Case):
    def prepare(self):
        self.train("runs/a-1", train_steps=30, log_every=1, probe_every=10)
        self.train("runs/b-1", train_steps=30, log_every=1, seed=2)
        self.succeed("report", "runs/a-1", "runs/b-1", "--output", "both.html")
        self.succeed("report", "runs")

    def browse(self, address, probe, *options, wait=2000):
        """The JSON that `probe`, JavaScript at the end of a page in a frame's place, puts into the title."""
        profile = self.folder / "profile"
        page = self.folder / "probe.html"
        page.write_text(probe)
        result = subprocess.run(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
             "--enable-logging=stderr", "--v=0", f"--virtual-time-budget={wait}", *options, "--dump-dom", address],
            capture_output=True, text=True, timeout=LIMIT)
        errors = [line for line in result.stderr.splitlines() if "CONSOLE" in line]
        return result.stdout, errors

    def test_no_page_has_errors_and_each_figure_has_a_name(self):
        for name in ("runs/a-1/report.html", "both.html", "runs/report.html"):
            for options in (["--window-size=1280,2000"], ["--window-size=420,2000"], ["--force-dark-mode"]):
                with self.subTest(page=name, options=options):
                    dom, errors = self.browse(f"file://{self.folder}/{name}", "", *options)
                    self.assertEqual(errors, [])
                    for svg in re.findall(r"<svg [^>]*>", dom):
                        if 'class="key"' not in svg:
                            self.assertIn("aria-label=", svg)
                    if "report.html" in name and "a-1" in name:
                        self.assertGreater(dom.count('class="tools"'), 5)  # made by the script

    def test_a_live_page_follows_a_run_and_survives_its_end(self):
        watch = Watch(self, "runs/a-1")
        profile = self.folder / "live-profile"
        log = open(self.folder / "browser.log", "w")
        self.addCleanup(log.close)
        port = free_port()
        browser = subprocess.Popen(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
             "--enable-logging=stderr", f"--remote-debugging-port={port}", f"http://127.0.0.1:{watch.port}/"],
            stdout=subprocess.DEVNULL, stderr=log, start_new_session=True)
        self.addCleanup(browser.wait)
        self.addCleanup(lambda: os.killpg(browser.pid, signal.SIGKILL))
        self.wait_for_title(port, "a-1")
        # A restart writes more records; the page follows without being loaded again.
        self.succeed("train", "--run", "runs/a-1", "--set", "train.steps=40")
        page = Tab(port)
        self.assertTrue(page.waits_for("document.body.dataset.changes >= 1"))
        self.assertTrue(page.waits_for("document.body.innerText.includes('finished')"))
        self.assertTrue(page.waits_for("document.body.innerText.includes('40')"))
        self.assertEqual(page.value("performance.getEntriesByType('navigation').length"), 1)
        self.assertGreater(page.value("document.querySelectorAll('.tools').length"), 5)
        log.flush()
        errors = [line for line in (self.folder / "browser.log").read_text().splitlines() if "CONSOLE" in line]
        self.assertEqual(errors, [])
        self.assertEqual(watch.finish(), 0)

    def wait_for_title(self, port, title):
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            try:
                if any(tab["title"] == title for tab in tabs(port)):
                    return
            except OSError:
                pass
            time.sleep(0.2)
        self.fail("the browser shows no page")


def tabs(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
    connection.request("GET", "/json")
    return json.loads(connection.getresponse().read())


class Tab:
    """A page of a browser, by the DevTools protocol over a WebSocket (RFC 6455)."""

    def __init__(self, port):
        target = next(tab for tab in tabs(port) if tab["type"] == "page")
        path = target["webSocketDebuggerUrl"].split(str(port), 1)[1]
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=LIMIT)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade"
                            f"\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            self.buffer += self.socket.recv(65536)
        self.buffer = self.buffer.split(b"\r\n\r\n", 1)[1]
        self.count = 0

    def take(self, size):
        while len(self.buffer) < size:
            self.buffer += self.socket.recv(65536)
        out, self.buffer = self.buffer[:size], self.buffer[size:]
        return out

    def value(self, expression):
        """The value of JavaScript in the page."""
        self.count += 1
        message = json.dumps({"id": self.count, "method": "Runtime.evaluate",
                              "params": {"expression": expression, "returnByValue": True}}).encode()
        head = bytes([0x81, 0x80 | 126]) + len(message).to_bytes(2, "big") + b"\0\0\0\0"  # a mask of zeros
        self.socket.sendall(head + message)
        while True:
            self.take(1)
            size = self.take(1)[0] & 127
            if size > 125:
                size = int.from_bytes(self.take(2 if size == 126 else 8), "big")
            answer = json.loads(self.take(size))
            if answer.get("id") == self.count:
                return answer["result"]["result"].get("value")

    def waits_for(self, condition):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if self.value(condition):
                return True
            time.sleep(0.2)
        return False


if __name__ == "__main__":
    program.main()
