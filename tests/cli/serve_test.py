#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""eval --serve over HTTP: results, refusals, hostile requests, and what it listens on."""
import http.client
import json
import re
import shutil
import signal
import socket
import struct
import subprocess
import time

import program
from program import ENVIRONMENT, LIMIT

SHORT_TEXT = "The old baker sees the river. A"  # 31 bytes: with the begin token, the context of 32
JSON = "Content-Type: application/json\r\n"


class Server:
    """A running `eval --serve 0`."""

    def __init__(self, case, *arguments, before=None):
        self.process = subprocess.Popen(
            [program.PROGRAM, "eval", "--run", "run", "--serve", "0", *arguments], cwd=case.folder, env=ENVIRONMENT,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=before)
        case.addCleanup(self.process.stderr.close)
        case.addCleanup(self.process.stdout.close)
        case.addCleanup(self.process.wait)
        case.addCleanup(self.process.kill)
        self.model = self.process.stdout.readline().decode().split()[-1]
        line = self.process.stdout.readline().decode()
        self.port = int(re.fullmatch(r"listening on http://127\.0\.0\.1:(\d+)/v1\n", line)[1])

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=LIMIT)

    def ask(self, method, path, body=None, **headers):
        """Status and JSON of a request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        text = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
        connection.request(method, path, text, {"Content-Type": "application/json"} | headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        is_json = answer.headers.get_content_type() == "application/json"
        return answer.status, json.loads(content) if is_json and content else content.decode()

    def complete(self, **fields):
        """The choices of a completion, which must succeed."""
        status, result = self.ask("POST", "/v1/completions", {"model": "m"} | fields)
        if status != 200:
            raise AssertionError(f"{status} {result}")
        return result["choices"]

    def raw(self, data):
        """The status of what is sent as it is; None if the server closes the connection without an answer."""
        with self.connect() as connection:
            connection.sendall(data)
            answer = b""
            while b"\r\n\r\n" not in answer:
                try:
                    part = connection.recv(65536)
                except ConnectionResetError:
                    part = b""
                if not part:
                    break
                answer += part
        return int(answer.split()[1]) if answer else None

    def finish(self, number=signal.SIGTERM):
        """Exit code and standard error after a signal."""
        self.process.send_signal(number)
        return self.process.wait(timeout=LIMIT), self.process.stderr.read().decode()


class Serving(program.Case):
    def prepare(self):
        self.train("run", train_steps=60, schedule_peak=0.01, schedule_warmup=5, evaluate_sequences=0,
                   model_vocabulary=257)

    def test_the_sum_of_an_echo_is_the_loss_of_eval(self):
        server = Server(self)
        choice = server.complete(prompt=SHORT_TEXT, max_tokens=1, logprobs=1, echo=True, temperature=0)[0]
        self.assertEqual(choice["text"][:-1], SHORT_TEXT)
        entries = choice["logprobs"]["token_logprobs"]
        self.assertEqual(len(entries), 32)
        self.write("ids.npy", struct.pack("<33H", 256, *choice["text"].encode()))
        result = json.loads(self.succeed("eval", "--run", "run", "--json", "--quiet", "--set",
                                         "data.validation=ids.npy")[0])
        self.assertEqual(result["tokens"], 32)
        self.assertAlmostEqual(sum(entries), -result["val_loss"] * 32, delta=1e-4)

    def test_ids_are_scored_as_they_are_and_a_text_after_its_begin_token(self):
        server = Server(self)
        ids = list(b"The old")
        same = [server.complete(prompt=prompt, max_tokens=0, logprobs=0, echo=True)[0]["logprobs"]
                for prompt in ([256] + ids, "The old")]
        self.assertEqual(same[0]["token_logprobs"][1:], same[1]["token_logprobs"])
        self.assertEqual(same[1]["tokens"], list("The old"))
        alone = server.complete(prompt=ids, max_tokens=0, logprobs=0, echo=True)[0]["logprobs"]
        self.assertIsNone(alone["token_logprobs"][0])
        self.assertEqual(server.complete(prompt="The old", max_tokens=0, logprobs=0, echo=True,
                                         add_special_tokens=False)[0]["logprobs"], alone)

    # The formula of lm-evaluation-harness 0.4.13.
    def test_a_list_of_prompts_gives_the_results_of_each_alone(self):
        server = Server(self)
        prompts = [list(b"The old baker sees"), list(b"A cat"), [7], list(b"Nobody paints two dogs.")]
        fields = {"max_tokens": 1, "logprobs": 1, "echo": True, "temperature": 0, "seed": 1234}
        together = server.complete(prompt=prompts, **fields)
        self.assertEqual([choice["index"] for choice in together], [0, 1, 2, 3])
        for prompt, choice in zip(prompts, together):
            alone = server.complete(prompt=[prompt], **fields)[0]["logprobs"]
            sums = [sum(each["token_logprobs"][1:-1]) for each in (choice["logprobs"], alone)]
            self.assertAlmostEqual(*sums, delta=1e-4)
            self.assertEqual(len(choice["logprobs"]["token_logprobs"]), len(prompt) + 1)
            for logprob, top in zip(alone["token_logprobs"][1:], alone["top_logprobs"][1:]):
                self.assertIn(logprob, top.values())
                self.assertLessEqual(len(top), 2)

    def test_generation_is_that_of_the_command(self):
        server = Server(self)
        text = self.succeed("generate", "--run", "run", "--prompt", "The old", "--tokens", 20, "--seed", 3,
                            "--temperature", 0.8)[0]
        fields = {"prompt": "The old", "max_tokens": 20, "seed": 3, "temperature": 0.8}
        self.assertEqual(server.complete(echo=True, **fields)[0]["text"], text[:-1])
        choice = server.complete(stop=["x", " "], **fields)[0]
        self.assertEqual((choice["text"], choice["finish_reason"]),
                         (text[7:-1].split(" ")[0].split("x")[0], "stop"))

    def test_several_choices_are_those_of_count(self):
        server = Server(self)
        texts = json.loads(self.succeed("generate", "--run", "run", "--prompt", "The old", "--tokens", 9, "--seed", 3,
                                        "--temperature", 0.8, "--count", 3, "--json")[0])
        choices = server.complete(prompt="The old", max_tokens=9, seed=3, temperature=0.8, echo=True, n=3, best_of=3)
        self.assertEqual([(choice["index"], choice["text"]) for choice in choices], list(enumerate(texts)))

    def test_a_stream_gives_the_text_in_events(self):
        for copies in (1, 2):
            self.check_stream(copies)

    def check_stream(self, copies):
        server = Server(self)
        fields = {"prompt": ["The old", "A"], "max_tokens": 8, "seed": 3, "logprobs": 1, "echo": True, "n": copies}
        whole = server.complete(**fields)
        status, content = server.ask("POST", "/v1/completions",
                                     fields | {"stream": True, "stream_options": {"include_usage": True}})
        self.assertEqual(status, 200)
        lines = content.split("\n\n")
        self.assertEqual(lines[-2:], ["data: [DONE]", ""])
        events = [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]
        self.assertEqual(events.pop()["usage"]["completion_tokens"], 16 * copies)
        self.assertEqual(len(whole), 2 * copies)
        for index, choice in enumerate(whole):
            parts = [event["choices"][0] for event in events if event["choices"][0]["index"] == index]
            self.assertEqual("".join(part["text"] for part in parts), choice["text"])
            self.assertEqual([each for part in parts for each in part["logprobs"]["tokens"]],
                             choice["logprobs"]["tokens"])
            self.assertEqual([part["finish_reason"] for part in parts[-2:]], [None, choice["finish_reason"]])

    def test_pages(self):
        server = Server(self)
        self.assertEqual(server.ask("GET", "/health"), (200, {"status": "ok"}))
        status, models = server.ask("GET", "/v1/models")
        self.assertEqual((status, [each["id"] for each in models["data"]]), (200, ["run-step-60"]))
        self.assertEqual(server.ask("GET", "/v1/models/run-step-60"), (200, models["data"][0]))
        self.assertIn("/v1/completions", server.ask("GET", "/")[1])
        self.assertEqual(server.ask("HEAD", "/"), (200, ""))
        tokens = server.ask("POST", "/tokenize", {"prompt": "Hé"})[1]["tokens"]
        self.assertEqual(tokens, [256, *"Hé".encode()])
        self.assertEqual(server.ask("POST", "/detokenize", {"tokens": tokens[1:]}), (200, {"prompt": "Hé"}))
        self.assertEqual(server.ask("GET", "/tokenizer_info")[1]["eos_token"], "<|endoftext|>")

    def test_refusals_have_the_shape_of_the_api(self):
        server = Server(self)
        long = "this model's maximum context length is 32 tokens, but the request has 41 in the prompt"
        for method, path, body, status, message, param in [
                ("POST", "/v1/completions", "{", 400, "the body must be JSON", None),
                ("POST", "/v1/completions", "[" * 100000, 400, "the body must be JSON", None),
                ("POST", "/v1/completions", b'{"prompt": "\xff"}', 400, "the body must be JSON", None),
                ("POST", "/v1/completions", {"prompt": "a", "n": 0}, 400, "n: must be an integer from 1 to 128", "n"),
                ("POST", "/v1/completions", {"prompt": "a" * 40}, 400, f"prompt: {long}", "prompt"),
                ("POST", "/v1/completions", {"prompt": [257]}, 400, "prompt[0]: must be a token id from 0 to 256",
                 "prompt"),
                ("POST", "/v1/completions", " " * (4 << 20) + "{}", 413, "the body must have at most", None),
                ("GET", "/v1/models/x", None, 404, "no model is named x", None),
                ("GET", "/../../etc/passwd", None, 404, "no page is named", None),
                ("POST", "/v1/chat/completions", {}, 404, "no page is named", None),
                ("GET", "/v1/completions", None, 405, "/v1/completions: the method must be POST", None),
                ("OPTIONS", "/v1/completions", None, 405, "/v1/completions: the method must be POST", None)]:
            with self.subTest(path=path, status=status, message=message):
                found, error = server.ask(method, path, body)
                self.assertEqual(found, status, error)
                self.assertEqual(list(error["error"]), ["message", "type", "param", "code"])
                self.assertTrue(error["error"]["message"].startswith(message), error)
                self.assertEqual(error["error"]["param"], param)
        self.assertEqual(server.ask("GET", "/", Host="evil.example")[0], 403)
        self.assertEqual(server.ask("POST", "/v1/completions", "{}", **{"Content-Type": "text/plain"})[0], 415)

    def test_requests_that_are_no_http(self):
        server = Server(self)
        host = "Host: localhost\r\n"
        post = f"POST /v1/completions HTTP/1.1\r\n{host}{JSON}"
        chunked = f"{post}Transfer-Encoding: chunked\r\n\r\n"
        body = json.dumps({"prompt": "a", "max_tokens": 1})
        for sent, status in [
                (f"{chunked}{len(body):x}\r\n{body}\r\n0\r\n\r\n", 200),
                (f"{post}Expect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n{body}", 100),
                ("GET / HTTP/1.1\r\n\r\n", 403), ("\x16\x03\x01\x02\r\n\r\n", 400),
                (f"GET / HTTP/1.1\r\n{host}A: {'b' * 20000}\r\n\r\n", 431), ("A" * 40000, 431),
                (f"GET / HTTP/1.1\r\n{host}" + "A: b\r\n" * 200 + "\r\n", 400),
                (f"GET / HTTP/1.1\r\n{host}Range: bytes=" + "0-1," * 3000 + "\r\n\r\n", 200),
                (f"{chunked}zz\r\n", 400), (f"{chunked}-5\r\nabc", 400), (f"{chunked}5\r\nabcdefgh\r\n0\r\n\r\n", 400),
                (f"{chunked}ffffffffffffffff\r\n" + "a" * 100, 400), (f"{post}Content-Length: -1\r\n\r\n", 400),
                (f"{post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nabcde", 400)]:
            with self.subTest(sent=sent[:80]):
                with server.connect() as connection:
                    connection.sendall(sent.encode("latin-1"))
                    if sent.endswith(("abc", "a" * 100)):
                        connection.shutdown(socket.SHUT_WR)  # the chunk is incomplete
                    self.assertEqual(connection.recv(65536).split()[1:2], [str(status).encode()])
        server.connect().close()
        self.assertEqual(server.ask("GET", "/health")[0], 200)

    def test_slow_clients_do_not_stop_others(self):
        server = Server(self)
        slow = [server.connect() for _ in range(20)]
        for connection in slow:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: local")
        self.assertEqual(server.ask("GET", "/health")[0], 200)
        self.assertEqual(len(server.complete(prompt="a", max_tokens=1)), 1)
        answers = [connection.recv(65536) for connection in slow]  # 10 s after the first byte
        self.assertEqual({answer.split()[1] for answer in answers}, {b"408"})
        for connection in slow:
            connection.close()

    def test_more_connections_than_it_has_threads(self):
        server = Server(self)
        idle = [server.connect() for _ in range(60)]
        self.assertEqual(server.ask("GET", "/health")[0], 503)
        for connection in idle:
            connection.close()
        end = time.monotonic() + LIMIT
        while server.ask("GET", "/health")[0] != 200:
            self.assertLess(time.monotonic(), end)

    def long_server(self):
        """A server for a model with a long context."""
        self.write("long.txt", program.BOOK * 40)
        shutil.rmtree(self.folder / "run")
        self.train("run", train_steps=1, model_context=4096, evaluate_sequences=0, data_train="long.txt")
        return Server(self)

    def start_endless_stream(self, server):
        """The connection of a request that would take hours, after its first event."""
        body = json.dumps({"prompt": ["a"] * 200, "max_tokens": 4000, "stream": True})
        connection = server.connect()
        self.addCleanup(connection.close)
        connection.sendall(f"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n{JSON}"
                           f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        received = b""
        while b"data: " not in received:
            received += connection.recv(1000)
        return connection

    def test_a_client_that_goes_away_ends_its_request(self):
        server = self.long_server()
        self.start_endless_stream(server).close()
        server.complete(prompt="a", max_tokens=1)
        error = server.finish()[1]
        self.assertEqual(sorted(line.split(",")[0] for line in error.splitlines()),
                         ["POST /v1/completions 200", "POST /v1/completions 499"])

    def test_a_signal_interrupts_a_request(self):
        server = self.long_server()
        connection = self.start_endless_stream(server)
        server.process.send_signal(signal.SIGINT)
        received = b""
        while part := connection.recv(65536):
            received += part
        self.assertIn(b'{"error":{"message":"the server is stopping","type":"server_error"', received)
        self.assertEqual(server.process.wait(timeout=LIMIT), 0)

    def test_it_listens_on_the_loopback_only(self):
        server = Server(self)
        opened = subprocess.run(["ls", "-l", f"/proc/{server.process.pid}/fd"], capture_output=True, check=True)
        inodes = set(re.findall(rb"socket:\[(\d+)\]", opened.stdout))
        listening = []
        for table in ("tcp", "tcp6"):
            with open(f"/proc/{server.process.pid}/net/{table}", "rb") as file:
                rows = [line.split() for line in file.readlines()[1:]]
            listening += [row[1] for row in rows if row[9] in inodes and row[3] == b"0A"]
        self.assertEqual(listening, [b"0100007F:%04X" % server.port])

    def test_signals_end_it_with_0(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            server = Server(self)
            server.ask("GET", "/a%09b")
            server.complete(prompt="ab", max_tokens=1)
            code, error = server.finish(number)
            self.assertEqual(code, 0, error)
            get, post = sorted(error.splitlines())  # a request is logged after its answer, by its own thread
            self.assertRegex(get, r"^GET /a%09b 404, \d+\.\d ms$")
            self.assertRegex(post, r"^POST /v1/completions 200, 4 tokens, \d+\.\d ms$")
        server = Server(self, "--quiet")
        server.ask("GET", "/")
        self.assertEqual(server.finish(), (0, ""))

    def test_it_ends_with_its_terminal(self):
        server = Server(self)
        self.assertEqual(server.finish(signal.SIGHUP), (0, ""))
        server = Server(self, before=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))  # as under nohup
        server.process.send_signal(signal.SIGHUP)
        self.assertEqual(server.ask("GET", "/health")[0], 200)
        self.assertEqual(server.finish()[0], 0)

    def test_the_log_is_escaped(self):
        server = Server(self)
        self.assertEqual(server.raw(b"GET /\x1b[2J\xff HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400)
        self.assertRegex(server.finish()[1], r"^GET /\\u001B\[2J\\xFF 400, \d+\.\d ms\n$")

    def test_a_port_in_use_and_options_that_exclude_each_other(self):
        server = Server(self)
        self.refuse(75, f"--serve {server.port}: another program listens on 127.0.0.1:{server.port}; stop it, or take "
                    "another port (0: a free one)", "eval", "--run", "run", "--serve", server.port)
        for arguments in (["--sequences", 3], ["--json"]):
            done = self.evenkeel("eval", "--run", "run", "--serve", 0, *arguments)
            self.assertEqual((done.returncode, done.stdout), (64, b""), done.stderr)
        done = self.evenkeel("eval", "--run", "run", "--serve", 65536)
        self.assertEqual((done.returncode, done.stdout), (64, b""), done.stderr)


if __name__ == "__main__":
    program.main()
