# SPDX-License-Identifier: Apache-2.0
"""Four hosts with links of 100 Mbit/s: equal bits, a pulled cable, a slow host.

A host is a network namespace with one rank, a link is a pair of virtual interfaces whose rate tc limits. Needs root,
ip and tc. After a pulled cable the other hosts end with 75 within the heartbeat timeout and three seconds, and name
the rank that was cut off. A host that is stopped for half of the time is named in health.jsonl after 50 steps.
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

import harness
import program
import ranks_bits
import reader

JOBS = 1  # a case has four processes already
HOSTS = 4
RATE = "100mbit"
PORT = 29500
HEARTBEAT, MORE = 4, 3  # seconds: distributed.heartbeat_timeout, and what the other ranks may take in addition
LIMIT = 180  # seconds of a training
BUSY = 75
STEPS = 12
SLOW_STEPS = 110  # two windows of 50 steps, of which the program takes the means
NAME = socket.gethostname()


class Network:
    """Hosts at one switch; each link has this rate in both directions."""

    def __init__(self, rate, hosts=HOSTS):
        self.tag = f"ek{os.getpid()}"
        self.hosts = [f"{self.tag}h{host}" for host in range(hosts)]
        self.switch = f"{self.tag}sw"
        self.rate = rate

    def __enter__(self):
        try:
            self.make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def make(self):
        harness.called("ip", "netns", "add", self.switch)
        harness.called("ip", "-n", self.switch, "link", "add", "br0", "type", "bridge")
        harness.called("ip", "-n", self.switch, "link", "set", "br0", "up")
        for host, name in enumerate(self.hosts):
            port = self.port(host)
            harness.called("ip", "netns", "add", name)
            harness.called("ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
            harness.called("ip", "link", "set", port, "netns", self.switch)
            harness.called("ip", "-n", self.switch, "link", "set", port, "master", "br0", "up")
            harness.called("ip", "-n", name, "addr", "add", f"10.77.0.{host + 1}/24", "dev", "eth0")
            harness.called("ip", "-n", name, "link", "set", "eth0", "up")
            harness.called("ip", "-n", name, "link", "set", "lo", "up")
            for where, device in ((name, "eth0"), (self.switch, port)):
                harness.called("ip", "netns", "exec", where, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate",
                       self.rate, "burst", "256kb", "latency", "20ms")

    def __exit__(self, *_):
        for name in [*self.hosts, self.switch]:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    def environment(self, rank):
        """What a launcher gives to the rank of this host."""
        return {"RANK": rank, "WORLD_SIZE": len(self.hosts), "LOCAL_WORLD_SIZE": 1, "MASTER_ADDR": "10.77.0.1",
                "MASTER_PORT": PORT}

    def port(self, host):
        return f"{self.tag}v{host}"

    def pull(self, host):
        """Pulls the cable of a host."""
        harness.called("ip", "-n", self.switch, "link", "set", self.port(host), "down")


class Training:
    """One rank on each host."""

    def __init__(self, context, network, folder, **changed):
        self.run = folder / "run"
        self.errors = [open(folder / f"stderr-{rank}", "w+b") for rank in range(HOSTS)]
        self.processes = []
        settings = ranks_bits.WIDE | {"distributed_heartbeat_timeout": HEARTBEAT, "distributed_interface": "eth0"}
        arguments = ["train", "--quiet", "--run", self.run, *context.settings(**settings | changed)]
        for rank, host in enumerate(network.hosts):
            self.processes.append(context.start(*arguments, env=network.environment(rank), err=self.errors[rank],
                                                limits=f'set -- ip netns exec {host} "$@"'))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait()
        for file in self.errors:
            file.close()

    def step(self):
        return max((line["step"] for line in program.lines_of(self.run / "metrics.jsonl")), default=0)

    def said(self, rank):
        self.errors[rank].seek(0)
        return self.errors[rank].read().decode(errors="replace")

    def codes(self, ranks, seconds):
        """Exit codes of these ranks; None for one that still runs after so long."""
        end = time.monotonic() + seconds
        while any(self.processes[rank].poll() is None for rank in ranks) and time.monotonic() < end:
            time.sleep(0.01)
        return [self.processes[rank].poll() for rank in ranks]


def equal_bits(context, shard):
    """A training over slow links has the files of one on one rank."""
    def trial(folder, _):
        whole, changed = ranks_bits.whole_run(context, "dense", "float32", STEPS)
        changed = changed | {"distributed_shard": shard}
        with Network(RATE) as network, Training(context, network, folder, **changed) as training:
            codes = training.codes(range(HOSTS), LIMIT)
            if codes != [0] * HOSTS:
                yield f"ends with {codes}: {training.said(0)[-300:]!r}"
                return
            found = list(ranks_bits.differences(training.run, whole, STEPS))
            if found:
                yield "; ".join(found)
    return trial


def pulled_cable(context, victim):
    """The other hosts name the one whose cable was pulled, and end."""
    def trial(folder, chance):
        at = chance.randint(2, 8)
        with Network(RATE) as network, \
                Training(context, network, folder, train_steps=10**6, checkpoint_every=2) as training:
            end = time.monotonic() + LIMIT
            while training.step() < at:
                if time.monotonic() > end or training.processes[0].poll() is not None:
                    yield f"does not come to step {at}: {training.said(0)[-300:]!r}"
                    return
                time.sleep(0.005)
            time.sleep(chance.random() / 2)
            network.pull(victim)
            begun = time.monotonic()
            others = [rank for rank in range(HOSTS) if rank != victim]
            codes = training.codes(others, HEARTBEAT + MORE + 20)
            seconds = time.monotonic() - begun
            if codes != [BUSY] * len(others):
                yield f"the other ranks end with {codes}, wanted 75: {training.said(others[0])[-300:]!r}"
            elif seconds > HEARTBEAT + MORE:
                yield f"took {seconds:.1f} s"
            said = "".join(training.said(rank) for rank in others)
            if not re.search(rf"^evenkeel: rank {victim} \({NAME}, process \d+\) is lost: ", said, re.MULTILINE):
                yield f"the other ranks say {said[-300:]!r}"
            saved = max(reader.acknowledged(training.said(0)), 0)
        yield from harness.lost(training.run, saved)
    return trial


def is_slowed(process, stop):
    """Stops the process for half of the time until the event."""
    while not stop.is_set() and process.poll() is None:
        for number in (signal.SIGSTOP, signal.SIGCONT):
            process.send_signal(number)
            time.sleep(0.02)


def slow_host(context, victim):
    """health.jsonl names the host that is slow, and no other."""
    def trial(folder, _):
        stop = threading.Event()
        with Network("1gbit") as network, \
                Training(context, network, folder, train_steps=SLOW_STEPS, checkpoint_every=10**6,
                         train_threads=1) as training:
            slower = threading.Thread(target=is_slowed, args=(training.processes[victim], stop))
            slower.start()
            codes = training.codes(range(HOSTS), LIMIT)
            stop.set()
            slower.join()
            if codes != [0] * HOSTS:
                yield f"ends with {codes}: {training.said(0)[-300:]!r}"
                return
        lines = [line for line in program.lines_of(training.run / "health.jsonl") if line["event"] == "straggler"]
        if not lines or any(not line["detail"].startswith(f"rank {victim} ({NAME}) took ") for line in lines):
            yield f"health.jsonl has {lines}"
    return trial


def trials(context):
    if context.level == "change":
        raise harness.Skip("levels nightly and release only")
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("tc"):
        raise harness.Skip("needs root, ip and tc (package iproute2)")
    repeats = context.count(0, 3, 10)
    cases = [(f"equal bits, shard {shard}", equal_bits(context, shard)) for shard in ("optimizer", "gradients", "none")]
    cases += [(f"cable {victim} pulled {i}", pulled_cable(context, victim))
              for victim in range(HOSTS) for i in range(repeats)]
    return cases + [(f"slow host {victim}", slow_host(context, victim)) for victim in range(HOSTS)]
