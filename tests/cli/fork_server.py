# SPDX-License-Identifier: Apache-2.0
"""Runs the program many times, and loads its libraries once: see fork_server.cpp."""
import os
import selectors
import signal
import socket
import struct
import subprocess
import time

PIPE_BYTES = 65536  # what a pipe takes without a reader


class ForkServer:
    """One program, loaded and waiting; ends with this process."""

    def __init__(self, program, library, environment):
        """\\param library  the compiled fork_server.cpp"""
        self.program = program
        self.environment = environment
        self.mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.mine.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        number = theirs.fileno()
        self.process = subprocess.Popen(
            [program], stdin=subprocess.DEVNULL, pass_fds=[number],
            env=environment | {"LD_PRELOAD": str(library), "EVENKEEL_FORK_SOCKET": str(number)})
        theirs.close()

    def run(self, arguments, folder, given, limit):
        """As subprocess.run() of the program with captured output, and its maximum resident memory in MiB.

        \\param given  standard input, at most PIPE_BYTES
        """
        words = [self.program, *arguments]
        strings = [str(folder), str(len(words)), *words, *(f"{key}={value}" for key, value in self.environment.items())]
        message = b"".join(os.fsencode(each) + b"\0" for each in strings)
        stdin, out, err = os.pipe(), os.pipe(), os.pipe()
        told, tells = socket.socketpair()
        theirs = [stdin[0], out[1], err[1], tells.fileno()]
        try:
            os.write(stdin[1], given)
            os.close(stdin[1])
            socket.send_fds(self.mine, [message], theirs)
        finally:
            for each in theirs[:3]:
                os.close(each)
            tells.close()
        with told, open(out[0], "rb", 0) as stdout, open(err[0], "rb", 0) as stderr:
            process, = struct.unpack("i", told.recv(4, socket.MSG_WAITALL))
            texts = read_all([stdout, stderr], process, arguments, limit)
            status, memory = struct.unpack("qq", told.recv(16, socket.MSG_WAITALL))
        return subprocess.CompletedProcess(words, os.waitstatus_to_exitcode(status), *texts), memory / 1024


def read_all(files, process, arguments, limit):
    """The contents of pipes, read at once; ends the process after so many seconds."""
    texts = {file: [] for file in files}
    end = time.monotonic() + limit
    with selectors.DefaultSelector() as selector:
        for file in files:
            selector.register(file, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select(max(0, end - time.monotonic())):
                part = os.read(key.fd, PIPE_BYTES)
                texts[key.fileobj].append(part)
                if not part:
                    selector.unregister(key.fileobj)
            if time.monotonic() > end:
                os.kill(process, signal.SIGKILL)
                raise subprocess.TimeoutExpired(arguments, limit)
    return [b"".join(texts[file]) for file in files]
