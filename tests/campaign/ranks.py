# SPDX-License-Identifier: Apache-2.0
"""One of four ranks is killed, stopped, or ends by SIGSEGV or exit(), in eight phases of a training.

All other ranks end with 75 within the heartbeat timeout and three seconds. One of them names the lost rank on
standard error, the rest in log-rank-RANK.txt. A rank that is lost before it came is missing: the other ranks wait
for it until the connect timeout. Every checkpoint of final name is whole.
"""
import re
import shutil
import time

import harness
import program
import reader

RANKS = 4
HEARTBEAT = 4  # seconds of distributed.heartbeat_timeout
CONNECT = 8    # seconds of distributed.connect_timeout
MORE = 3       # seconds that the other ranks may take
LONG = 120     # seconds until the fault must have come
FAULTS = ["kill", "stop", "segv", "exit"]
PHASES = ["roll call", "forward", "exchange", "update", "gather", "save", "evaluation", "end"]
NO_RANK_0 = re.compile("MASTER_ADDR: (nobody answers|.* accepts connections, but has not answered)")
BUSY = 75
STEPS = 60
SETTINGS = {"train_steps": STEPS, "train_batch": 8, "train_gradient_shards": 4, "checkpoint_every": 10,
            "evaluate_every": 5, "evaluate_sequences": 64, "log_every": 1, "log_tensorboard": "false",
            "distributed_heartbeat_timeout": HEARTBEAT, "distributed_connect_timeout": CONNECT}
JOBS = 3  # a case has four processes, which wait for the heartbeat timeout most of the time


class Training:
    """Four ranks of one run, as torchrun starts them."""

    def __init__(self, context, folder, victim=None, fault=None):
        self.context, self.run, self.folder = context, folder / "run", folder
        self.errors = [open(folder / f"stderr-{rank}", "w+b") for rank in range(RANKS)]
        self.processes = []
        port = program.free_port()
        for rank in range(RANKS):
            env = {"RANK": rank, "WORLD_SIZE": RANKS, "LOCAL_WORLD_SIZE": RANKS, "MASTER_ADDR": "127.0.0.1",
                   "MASTER_PORT": port}
            if rank == victim:
                env |= fault | {"LD_PRELOAD": context.shim("rank_faults"), "RANK_FIRED": folder / "fired",
                                "RANK_COUNT": folder / "count"}
            self.processes.append(context.start("train", "--run", self.run, *context.settings(**SETTINGS), env=env,
                                                err=self.errors[rank]))

    def said(self, rank):
        self.errors[rank].seek(0)
        return self.errors[rank].read().decode(errors="replace")

    def end(self):
        """Ends every rank that still runs; how many of them did."""
        left = 0
        for process in self.processes:
            if process.poll() is None:
                left += 1
                process.kill()
                process.wait()
        for file in self.errors:
            file.close()
        return left

    def wait(self, ranks, seconds):
        """Until these ranks have ended, at most so long; the seconds it took."""
        begun = time.monotonic()
        while any(self.processes[rank].poll() is None for rank in ranks) and time.monotonic() - begun < seconds:
            time.sleep(0.01)
        return time.monotonic() - begun


def counts(context):
    """Calls of each kind in an undisturbed training of rank 1: {"writev": 4000, ...}."""
    def make():
        out = {}
        for call in ("connect", "writev", "fsync"):
            with harness.fresh(context.folder / f"counted-{call}") as folder:
                training = Training(context, folder, 1, {"RANK_CALL": call})
                training.wait(range(RANKS), 2 * LONG)
                codes = [process.poll() for process in training.processes]
                said = training.said(0)
                training.end()
                if codes != [0] * RANKS:
                    raise RuntimeError(f"a training without a fault ended with {codes}: {said[-300:]}")
                out[call] = int((folder / "count").read_text())
        return out
    return context.keep("calls of ranks", make)


def fault_of(context, phase, chance):
    """When the victim is lost: a call, its number, and a delay in microseconds."""
    all_calls = counts(context)
    per_step = all_calls["writev"] / STEPS
    step = chance.randrange(STEPS // 4, STEPS - 5)
    at = {"roll call": ("connect", chance.randint(1, all_calls["connect"] - 1), 0),
          "forward": ("writev", int(step * per_step), chance.randint(500, 3000)),
          "exchange": ("writev", int((step + 0.4) * per_step), 0),
          "update": ("writev", int((step + 0.6) * per_step), chance.randint(50, 400)),
          "gather": ("writev", int((step + 0.9) * per_step), 0),
          "save": ("fsync", chance.randint(1, max(1, all_calls["fsync"] - 1)), 0),
          "evaluation": ("writev", int((step // 5 * 5 + 0.99) * per_step), chance.randint(1000, 9000)),
          "end": ("writev", all_calls["writev"] - chance.randint(4, 12), 0)}
    call, number, delay = at[phase]
    return {"RANK_CALL": call, "RANK_AT": max(1, number), "RANK_DELAY": delay}


def names(line, lost):
    """Whether a message names this rank as lost, or as one that never came."""
    return re.match(rf"evenkeel: (rank {lost}\b.* is lost: |waited {CONNECT} s for .* missing: rank {lost}$)",
                    line) is not None or (lost == 0 and NO_RANK_0.search(line) is not None)


def naming_complaints(training, phase, victim, others):
    """One of the other ranks names the lost one. Of the rest each has a log that names it, too, once all know the
    run folder and as long as all train."""
    said = "".join(training.said(rank) for rank in others)
    lines = [line for line in said.splitlines() if line.startswith("evenkeel: ")]
    if not lines or not names(lines[-1], victim):
        yield f"the other ranks say {lines[-1] if lines else 'nothing'!r}"
    for rank in others[1:]:
        log = training.run / f"log-rank-{rank}.txt"
        if not log.exists():
            if phase not in ("roll call", "end"):
                yield f"rank {rank} has no log"
        elif not names(log.read_text().splitlines()[-1], victim):
            yield f"rank {rank} says {log.read_text()!r}"


def met(training):
    """Waits until the victim meets its fault; False if all ranks end without it."""
    begun = time.monotonic()
    while not (training.folder / "fired").exists():
        if time.monotonic() - begun > LONG or all(process.poll() is not None for process in training.processes):
            return (training.folder / "fired").exists()
        time.sleep(0.005)
    return True


def faulted(context, folder, victim, fault):
    """A training whose victim met its fault; None: there was no such call.

    How often a rank connects differs from training to training, so earlier calls are tried, too.
    """
    first = 1 if fault["RANK_CALL"] == "connect" else fault["RANK_AT"]
    for number in range(fault["RANK_AT"], first - 1, -1):
        training = Training(context, folder, victim, fault | {"RANK_AT": number})
        if met(training):
            return training
        training.end()
        shutil.rmtree(training.run, ignore_errors=True)
    return None


def trial_of(context, victim, kind, phase):
    def trial(folder, chance):
        fault = fault_of(context, phase, chance) | {"RANK_FAULT": kind}
        training = faulted(context, folder, victim, fault)
        others = [rank for rank in range(RANKS) if rank != victim]
        if training is None:
            yield f"met no fault: {fault}"
            return
        try:
            seconds = training.wait(others, HEARTBEAT + MORE + 20)
            codes = [training.processes[rank].poll() for rank in others]
            if codes != [BUSY] * len(others):
                yield f"the other ranks end with {codes}, wanted 75: {training.said(others[0])[-300:]!r}"
            elif seconds > (CONNECT if phase == "roll call" else HEARTBEAT) + MORE:
                yield f"took {seconds:.1f} s"
            if codes == [BUSY] * len(others):
                yield from naming_complaints(training, phase, victim, others)
        finally:
            saved = reader.acknowledged(training.said(0))
            left = training.end()
        if left > (kind == "stop"):
            yield f"{left} processes were left"
        if training.run.exists():
            yield from harness.lost(training.run, saved)
    return trial


def trials(context):
    counts(context)
    cases = [(f"rank {victim} {kind} {phase}", trial_of(context, victim, kind, phase))
             for phase in PHASES for kind in FAULTS for victim in range(RANKS)]
    wanted = context.count(8, len(cases), len(cases))
    step = len(cases) // wanted
    return [cases[i * step + i % RANKS] for i in range(wanted)] if wanted < len(cases) else cases
