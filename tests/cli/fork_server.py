# SPDX-License-Identifier: Apache-2.0
"""Runs the program many times, and loads its libraries once: see fork_server.cpp.

All processes of a server have the same address layout: runs that must not depend on it are started one by one.
"""
import contextlib
import os
import selectors
import signal
import socket
import struct
import subprocess
import time

PIPE_BYTES = 65536  # what a pipe takes without a reader
PROCESS, REPORT = struct.Struct("i"), struct.Struct("qq")


def starts_itself(arguments):
    """Whether the command reads the command line of its own process, which here is that of the server."""
    return any(str(each).startswith("--ranks") for each in arguments)


class ForkServer:
    """One program, loaded and waiting; ends with this process."""

    def __init__(self, program, library, environment):
        """\\param library  the compiled fork_server.cpp"""
        self.program = program
        self.environment = environment
        self.requests, server_socket = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.requests.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        number = server_socket.fileno()
        self.process = subprocess.Popen(
            [program], stdin=subprocess.DEVNULL, pass_fds=[number],
            env=environment | {"LD_PRELOAD": str(library), "EVENKEEL_FORK_SOCKET": str(number)})
        server_socket.close()

    def run(self, arguments, folder, given, limit):
        """As subprocess.run() of the program with captured output, and its maximum resident memory in MiB.

        \\param given  standard input, at most PIPE_BYTES
        """
        command = [self.program, *arguments]
        strings = [str(folder), str(len(command)), *command,
                   *(f"{key}={value}" for key, value in self.environment.items())]
        message = b"".join(os.fsencode(each) + b"\0" for each in strings)
        stdin, out, err = os.pipe(), os.pipe(), os.pipe()
        reports, status_socket = socket.socketpair()
        theirs = [stdin[0], out[1], err[1], status_socket.fileno()]
        try:
            os.write(stdin[1], given)
            os.close(stdin[1])
            socket.send_fds(self.requests, [message], theirs)
        finally:
            for each in theirs[:3]:
                os.close(each)
            status_socket.close()
        with reports, open(out[0], "rb", 0) as stdout, open(err[0], "rb", 0) as stderr:
            process, = received(reports, PROCESS)
            texts = read_all([stdout, stderr], process, command, limit)
            status, kibibytes = received(reports, REPORT)
        return subprocess.CompletedProcess(command, os.waitstatus_to_exitcode(status), *texts), kibibytes / 1024


def received(reports, form):
    """A message of the server."""
    content = reports.recv(form.size, socket.MSG_WAITALL)
    if len(content) != form.size:
        raise OSError("the fork server has ended, or could not start the program")
    return form.unpack(content)


def read_all(files, process, command, limit):
    """The contents of standard output and error; ends the process after `limit` seconds."""
    texts = {file: b"" for file in files}
    end = time.monotonic() + limit
    with selectors.DefaultSelector() as selector:
        for file in files:
            selector.register(file, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select(max(0, end - time.monotonic())):
                part = os.read(key.fd, PIPE_BYTES)
                texts[key.fileobj] += part
                if not part:
                    selector.unregister(key.fileobj)
            if time.monotonic() > end:
                with contextlib.suppress(ProcessLookupError):  # it has ended, and a process of its own has not
                    os.kill(process, signal.SIGKILL)
                raise subprocess.TimeoutExpired(command, limit, *texts.values())
    return list(texts.values())
