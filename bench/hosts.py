#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `evenkeel bench ranks` with one rank on each of several hosts, which are network namespaces.

Usage: hosts.py EVENKEEL HOSTS RATE [ARGUMENT]...    as in: hosts.py build/release/evenkeel 2 1gbit
RATE: of each link, as tc writes it. ARGUMENT: further arguments of `bench ranks`.
Needs root, ip and tc (packages iproute2). Exit codes: 0; 1 a rank failed; 64 usage.
"""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/campaign"))

import ranks_network

ARGUMENTS = ["bench", "ranks", "--set", 'distributed.interface="eth0"']


def main(evenkeel, hosts, rate, *more):
    with ranks_network.Network(rate, hosts) as network:
        processes = []
        try:
            for rank, host in enumerate(network.hosts):
                environment = os.environ | {name: str(value) for name, value in network.environment(rank).items()}
                processes.append(subprocess.Popen(["ip", "netns", "exec", host, evenkeel, *ARGUMENTS, *more],
                                                  env=environment))
            return max(1 if process.wait() else 0 for process in processes)
        finally:
            for process in processes:
                process.kill()


if __name__ == "__main__":
    if len(sys.argv) < 4 or not sys.argv[2].isdigit() or int(sys.argv[2]) < 1:
        print(__doc__.strip(), file=sys.stderr)
        sys.exit(64)
    sys.exit(main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:]))
