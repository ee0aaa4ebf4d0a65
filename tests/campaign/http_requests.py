# SPDX-License-Identifier: Apache-2.0
"""Mutated HTTP requests to `eval --serve`: bodies, headers, lengths and chunks.

Each request gets an answer of HTTP with a status of docs/serving.md other than 500. A server answers /health after
them, prints no control character, and ends with 0 after SIGTERM.
"""
import json
import re
import signal
import socket
import subprocess

import harness

PAUSE = 0.2  # seconds without an answer after which the client ends the request
STATUS = {200, 400, 403, 404, 405, 408, 411, 413, 415, 429, 431, 503}
BODIES = [json.dumps(each).encode() for each in [
    {"model": "m", "prompt": [[1, 2, 3], [4]], "temperature": 0, "max_tokens": 1, "logprobs": 1, "seed": 1, "echo": True},
    {"prompt": "The old", "max_tokens": 5, "stop": ["x", "\n"], "stream": True, "stream_options": {"include_usage": True}},
    {"prompt": ["a", "bé", ""], "max_tokens": 2, "top_p": 0.5, "top_k": 3, "temperature": 1.5, "logprobs": 100, "n": 1},
    {"prompt": [5, 255, 256], "max_tokens": 0, "echo": True, "logprobs": 0, "user": "u", "logit_bias": {}}]]
OTHERS = [("/tokenize", b'{"prompt": "test", "add_special_tokens": false}'), ("/detokenize", b'{"tokens": [72, 255]}')]
PARTS = [b"null", b"-1", b"1e999", b"1e308", b"[[", b"]]", b"{", b"}", b'"', b"\\u0000", b"\\ud800", b"\xff", b"\xf0\x9f\x98\x80",
         b"18446744073709551616", b"-9223372036854775808", b"0.5", b"true", b",", b":", b"[" * 70, b'"prompt":', b"\x1b[2J"]
HEAD = "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
HEAD_PARTS = [b"\r\n", b"\n", b"\0", b":", b"Host: a\r\n", b"Content-Length: 1\r\n", b"Transfer-Encoding: chunked\r\n", b" ",
              b"Range: bytes=0-1\r\n", b"Expect: 100-continue\r\n", b"\xff", b"Connection: keep-alive\r\n", b"%00", b"\x1b[2J"]


def mutated(chance, data, parts):
    """The bytes after some of: a changed byte, a removed or doubled range, an inserted part."""
    data = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data) + 1)
        kind = chance.randrange(4)
        if kind == 0 and at < len(data):
            data[at] = chance.randrange(256)
        elif kind == 1:
            del data[at:at + chance.randint(1, 12)]
        elif kind == 2:
            data[at:at] = data[at:at + chance.randint(1, 40)] * chance.randint(1, 3)
        else:
            data[at:at] = chance.choice(parts)
    return bytes(data)


def chunks_of(chance, body):
    """The body in chunks, sometimes with a wrong size."""
    out, at = b"", 0
    while at < len(body):
        part = body[at:at + chance.randint(1, 40)]
        size = len(part) + (chance.randint(-2, 2) if chance.random() < 0.05 else 0)
        out += b"%x\r\n%b\r\n" % (max(size, 0), part)
        at += len(part)
    return out + (b"0\r\n\r\n" if chance.random() < 0.9 else b"")


def request(chance):
    """The bytes of one request."""
    path, body = chance.choice([("/v1/completions", each) for each in BODIES] + OTHERS)
    if chance.random() < 0.8:
        body = mutated(chance, body, PARTS)
    head = HEAD.format(path=path).encode()
    if chance.random() < 0.2:
        head, body = head + b"Transfer-Encoding: chunked\r\n\r\n", chunks_of(chance, body)
    else:
        length = len(body) + (chance.choice([-3, 3, 10**7]) if chance.random() < 0.05 else 0)
        head += b"Content-Length: %d\r\n\r\n" % length
    return (mutated(chance, head, HEAD_PARTS) if chance.random() < 0.3 else head) + body


def answer(port, sent):
    """What the server answers. The client ends a request that the server waits for."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=harness.HANG) as connection:
        connection.sendall(sent)
        connection.settimeout(PAUSE)
        try:
            received = connection.recv(65536)
        except TimeoutError:
            connection.shutdown(socket.SHUT_WR)
        connection.settimeout(harness.HANG)
        while part := connection.recv(65536):
            received += part
    return received


def complaint_of(sent, received):
    """What is wrong with an answer; '' if nothing is."""
    status = re.match(rb"HTTP/1\.1 (\d{3}) ", received.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n"))
    if not status:
        # Without a byte that is no white space there is no request.
        return f"no answer to {sent!r}: {received[:80]!r}" if sent.strip() else ""
    if int(status[1]) not in STATUS:
        return f"status {int(status[1])} for {sent!r}: {received[-200:]!r}"
    if int(status[1]) < 400:
        return ""
    error = json.loads(received.split(b"\r\n\r\n")[-1])["error"]
    return "" if list(error) == ["message", "type", "param", "code"] else f"{error} for {sent!r}"


def trial_of(context, count):
    """A trial: one server and many requests."""
    def trial(folder, chance):
        folder.mkdir(exist_ok=True)
        run = context.whole(train_steps=4, checkpoint_every=0)
        complaints = []
        with open(folder / "log", "wb") as log:
            process = context.start("eval", "--run", run, "--serve", 0, out=subprocess.PIPE, err=log)
            process.stdout.readline()
            port = int(process.stdout.readline().rsplit(b":", 1)[1].split(b"/")[0])
            for number in range(count):
                sent = request(chance)
                try:
                    complaints.append(complaint_of(sent, answer(port, sent)))
                except OSError as error:
                    complaints.append(f"{error} for {sent!r}")
                if process.poll() is not None:
                    complaints.append(f"ended with {process.returncode} after {number + 1} requests: {sent!r}")
                    break
            if not answer(port, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").startswith(b"HTTP/1.1 200"):
                complaints.append("no answer to /health")
            process.send_signal(signal.SIGTERM)
            code = harness.reaped(process)
            process.stdout.close()
        if code != 0:
            complaints.append(f"ended with {code} after SIGTERM")
        control = harness.control_bytes((folder / "log").read_text(errors="replace"))
        complaints += [f"control character {control} in the log"] if control else []
        return harness.Cases(count, [each for each in complaints if each])
    return trial


def trials(context):
    context.whole(train_steps=4, checkpoint_every=0)
    return [(str(number), trial_of(context, 500)) for number in range(context.count(2, 40, 400))]
