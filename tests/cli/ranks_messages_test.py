#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every message of docs/distributed.md about several ranks, as the program prints it, with its exit code.

Two messages need a rank that stops in the middle of a call, or fifty slow steps: tests/comm has them.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest

import program
from program import free_port, settings, small

HOST = socket.gethostname()
SHARDS = {"train_batch": 8, "train_steps": 2}


def variables(rank, ranks, port, **more):
    """What torchrun sets."""
    return {"RANK": str(rank), "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port)} | more


class Ranks(program.Case):

    def begin(self, environment, *arguments, folder=None, **changed):
        """Starts one rank of a small run."""
        command = [program.PROGRAM, "train", "--quiet", *small(**changed), *map(str, arguments)]
        process = subprocess.Popen(command, cwd=folder or self.folder,
                                   env=program.ENVIRONMENT | environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def ended(self, processes):
        """[(exit code, standard error)] by rank."""
        ends = [process.communicate(timeout=program.LIMIT) for process in processes]
        return [(process.returncode, error.decode()) for process, (_, error) in zip(processes, ends)]

    def refuse_ranks(self, code, message, processes):
        """All ranks end with this code, and one of them prints this one line."""
        ends = self.ended(processes)
        self.assertEqual([end[0] for end in ends], [code] * len(processes), ends)
        self.assertEqual("".join(end[1] for end in ends), f"evenkeel: {message}\n")

    def refuse_alone(self, code, message, environment, *arguments, **changed):
        """A single process that must end at once."""
        begun = time.monotonic()
        self.refuse_ranks(code, message, [self.begin(environment, *arguments, **changed)])
        self.assertLess(time.monotonic() - begun, 30)

    def pair(self, *arguments, ranks=2, port=None, **changed):
        """All ranks of one training, as torchrun starts them."""
        port = port or free_port()
        return [self.begin(variables(rank, ranks, port), "--run", "run", *arguments, **changed)
                for rank in range(ranks)]

    def name(self, rank, process):
        return f"rank {rank} ({HOST}, process {process.pid})"


class Launcher(Ranks):
    def test_names_variables_that_contradict(self):
        self.refuse_alone(64, "RANK is 4, but WORLD_SIZE is 4: ranks go from 0 to 3", variables(4, 4, 1))
        self.refuse_alone(64, "SLURM_PROCID is 2, but SLURM_NTASKS is 2: ranks go from 0 to 1",
                          {"SLURM_PROCID": "2", "SLURM_NTASKS": "2"})

    def test_warns_in_a_script_of_sbatch_without_srun(self):
        process = self.begin({"SLURM_PROCID": "0", "SLURM_NTASKS": "4", "SLURM_JOB_ID": "7"}, train_steps=1)
        self.assertEqual(self.ended([process]), [(0, (
            "warning: this job of Slurm has 4 tasks, but srun did not start this process, which trains as one rank; "
            "for 4 ranks: srun evenkeel ...\n"))])

    def test_names_half_of_a_launcher(self):
        how = "start it with torchrun --no-python, srun or --ranks"
        self.refuse_alone(64, f"WORLD_SIZE is set, but RANK is not; {how}", {"WORLD_SIZE": "2"})
        self.refuse_alone(64, f"RANK is set, but WORLD_SIZE is not; {how}", {"RANK": "0"})
        self.refuse_alone(64, f"MASTER_ADDR must be the machine of rank 0, but is not set; {how}",
                          {"RANK": "0", "WORLD_SIZE": "2"})

    def test_refuses_two_launchers(self):
        self.refuse_alone(64, "--ranks 2: torchrun already started this process as rank 0 of 2; leave --ranks out",
                          variables(0, 2, 1), "--ranks", 2)
        self.refuse_alone(64, "--restarts needs --ranks; torchrun has --max-restarts, Slurm --requeue", {},
                          "--restarts", 2)


class Connection(Ranks):
    def test_names_a_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(("0.0.0.0", 0))
            taken.listen()
            port = taken.getsockname()[1]
            self.refuse_alone(75, f"MASTER_PORT: port {port} of this machine is in use, by another training "
                                  "perhaps; name another one", variables(0, 2, port))

    def test_names_an_address_where_nobody_answers(self):
        port = free_port()
        self.refuse_alone(75, f"MASTER_ADDR: nobody answers at 127.0.0.1:{port} after 8 s; is rank 0 running, and "
                              "is the name right?", variables(1, 2, port), distributed_connect_timeout=8)

    def test_names_missing_ranks(self):
        port = free_port()
        self.refuse_ranks(75, "waited 2 s for 4 processes; missing: rank 1, 3",
                          [self.begin(variables(rank, 4, port), distributed_connect_timeout=2) for rank in (0, 2)])

    def test_names_an_interface_that_does_not_exist(self):
        ends = self.ended(self.pair(distributed_interface="eth99"))
        self.assertEqual([end[0] for end in ends], [64, 64], ends)
        self.assertRegex(ends[0][1] + ends[1][1], r'^evenkeel: distributed.interface: no network interface with an '
                         r'address is named "eth99"; known: .*\blo\b')


class Differences(Ranks):
    def test_names_numbers_of_ranks_that_differ(self):
        port = free_port()
        both = [self.begin(variables(0, 2, port)), self.begin(variables(1, 3, port))]
        ends = self.ended(both)
        self.assertEqual([end[0] for end in ends], [64, 64], ends)
        said = {f"evenkeel: WORLD_SIZE is 2 here, but 3 for {self.name(1, both[1])}\n",
                f"evenkeel: WORLD_SIZE is 3 here, but 2 for {self.name(0, both[0])}\n"}
        self.assertIn(ends[0][1] + ends[1][1], said)

    def test_names_configurations_that_differ(self):
        port = free_port()
        both = [self.begin(variables(0, 2, port), train_batch=8), self.begin(variables(1, 2, port), train_batch=16)]
        self.refuse_ranks(78, f"{self.name(1, both[1])} has train.batch = 16, but rank 0 has 8", both)

    def test_names_instruction_sets_that_differ(self):
        port = free_port()
        both = [self.begin(variables(0, 2, port, EVENKEEL_ISA="avx2")),
                self.begin(variables(1, 2, port, EVENKEEL_ISA="baseline"))]
        self.refuse_ranks(78, f"{self.name(1, both[1])} has isa = baseline, but rank 0 has avx2", both)

    def test_names_run_folders_that_differ(self):
        port = free_port()
        both = [self.begin(variables(rank, 2, port), "--run", name) for rank, name in enumerate(("a", "b"))]
        self.refuse_ranks(78, f"{self.name(1, both[1])} has --run = b, but rank 0 has a", both)

    def folders(self):
        """Two folders like those of two machines."""
        folders = [self.folder / "a1", self.folder / "a2"]
        for folder in folders:
            folder.mkdir()
            (folder / "book.txt").write_text(program.BOOK)
        return folders

    def test_names_texts_that_differ(self):
        folders, port = self.folders(), free_port()
        (folders[1] / "book.txt").write_text(program.BOOK.upper())
        both = [self.begin(variables(rank, 2, port), "--run", self.folder / "run", folder=folders[rank])
                for rank in range(2)]
        ends = self.ended(both)
        self.assertEqual([end[0] for end in ends], [78, 78], ends)
        name = re.escape(self.name(1, both[1]))
        self.assertRegex(ends[0][1] + ends[1][1],
                         rf"^evenkeel: {name} has the digest of data.train = \w+, but rank 0 has \w+\n$")

    def check_digests(self, name, folders, **changed):
        """Rank 1 reads other bytes than rank 0."""
        port = free_port()
        both = [self.begin(variables(rank, 2, port), "--run", self.folder / "run", folder=folders[rank], **changed)
                for rank in range(2)]
        ends = self.ended(both)
        self.assertEqual([end[0] for end in ends], [78, 78], ends)
        self.assertRegex(ends[0][1] + ends[1][1], rf"^evenkeel: {re.escape(self.name(1, both[1]))} has the digest of "
                         rf"{name} = \w+, but rank 0 has \w+\n$")

    def test_names_evaluation_texts_that_differ(self):
        folders = self.folders()
        for folder, book in zip(folders, (program.BOOK, program.BOOK.upper())):
            (folder / "other.txt").write_text(book)
        self.check_digests("data.ood", folders, data_ood="other.txt")
        self.check_digests("evaluate.texts other", folders, evaluate_texts='{other = "other.txt"}')

    def test_names_task_files_that_differ(self):
        folders = self.folders()
        for folder, question in zip(folders, ("A cat sees", "Nobody paints")):
            rows = [{"doc_id": 0, "idx": choice, "label": 0, "request": {"context": question, "continuation": text}}
                    for choice, text in enumerate((" the river", " two dogs"))]
            (folder / "quiz.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        self.check_digests("evaluate.tasks quiz.jsonl", folders, evaluate_tasks="quiz.jsonl")

    def test_names_first_weights_that_differ(self):
        folders = self.folders()
        for seed, folder in enumerate(folders):
            self.train("from", train_steps=1, seed=seed)
            shutil.move(self.folder / "from", folder)
        self.check_digests("train.from", folders, train_from="from")

    def test_names_a_run_folder_that_is_not_shared(self):
        folders, port = self.folders(), free_port()
        both = [self.begin(variables(rank, 2, port), "--run", "x", folder=folders[rank]) for rank in range(2)]
        self.refuse_ranks(64, f"x: rank 1 ({HOST}) does not see what rank 0 wrote; the run folder must be on a file "
                              "system that all machines share", both)


class Settings(Ranks):
    def test_names_shards_that_cannot_be_shared(self):
        self.refuse_ranks(64, "train.gradient_shards = 8 cannot be shared by 3 ranks: gradient_shards / ranks must be "
                              "a power of two (1, 2, 4 or 8 ranks); or choose train.gradient_shards = 6",
                          self.pair(ranks=3, train_gradient_shards=8, train_batch=24))

    def test_names_shards_that_do_not_divide_the_batch(self):
        message = "train.gradient_shards must divide train.batch, but 8 does not divide 12"
        self.refuse(64, message, "train", "--ranks", 2, *small(train_gradient_shards=8, train_batch=12))

    def test_names_ranks_that_do_not_divide_the_batch(self):
        message = "3 ranks need 3 gradient shards, which do not divide train.batch = 8; use 2 ranks, or another train.batch"
        self.refuse(64, message, "train", "--ranks", 3, *small(train_batch=8))

    def test_names_schemes_that_need_one_rank(self):
        self.refuse_ranks(64, "batch_norm cannot be trained on several ranks: its running values go from part to part "
                              "of a batch", self.pair("--scheme", "batch_norm"))

    def test_launcher_prints_an_error_of_the_configuration_once(self):
        self.refuse(64, "distributed.exchange must be \"exact\", but is \"fast\": reduce_scatter of Gloo takes "
                        "longer than the exact one; leave it out",
                    "train", "--ranks", 2, *settings({"distributed.exchange": "fast"}))

    def test_backend_of_gpus(self):
        message = ("distributed.backend must be \"gloo\" on CPUs, but is \"nccl\", which needs GPUs; leave it out")
        keys = ["--device", "cpu", *settings({"distributed.backend": "nccl"})]
        self.refuse(64, message, "train", "--run", "alone", *keys)
        self.refuse(64, message, "train", "--run", "both", "--ranks", 2, *keys)

    def test_number_on_the_machine_counts_on_gpus_only(self):
        process = self.begin({"LOCAL_RANK": "-1"}, "--device", "cpu", train_steps=1)
        self.assertEqual(self.ended([process]), [(0, "")])


class LongRuns(Ranks):
    LONG = {"train_steps": 10**6, "train_batch": 2, "checkpoint_every": 20, "log_every": 1,
            "distributed_heartbeat_timeout": 2}

    def steps(self):
        return max((line["step"] for line in program.lines_of(self.folder / "run/metrics.jsonl")), default=0)


class Lost(LongRuns):
    def test_names_a_lost_rank(self):
        both = self.pair(**self.LONG)
        self.until(lambda: program.saved_steps(self.folder / "run") and self.steps() > 25, both[0])
        both[1].send_signal(signal.SIGKILL)
        killed = time.monotonic()
        code, said = self.ended(both)[0]
        self.assertEqual(code, 75, said)
        self.assertLess(time.monotonic() - killed, 5)
        name = re.escape(self.name(1, both[1]))
        self.assertRegex(said.splitlines()[-1],
                         rf"^evenkeel: {name} is lost: not heard of for \d\.\d s, was at step \d+; the last checkpoint "
                         r"is step \d+; go on with: evenkeel train --run run$")

    def test_names_a_lost_rank_zero(self):
        both = self.pair(**self.LONG)
        self.until(lambda: self.steps() > 5, both[0])
        both[0].send_signal(signal.SIGKILL)
        code, said = self.ended(both)[1]
        self.assertEqual(code, 75, said)
        self.assertRegex(said, rf"^evenkeel: {re.escape(self.name(0, both[0]))} is lost: not heard of for ")


class Strangers(LongRuns):
    def test_do_not_end_a_training_whose_port_they_use(self):
        port = free_port()
        both = self.pair(port=port, **self.LONG)
        self.until(lambda: self.steps() > 5, both[0])
        self.refuse_alone(64, f"rank 1 is here twice: this process, and {self.name(1, both[1])}; each process needs a "
                              "rank of its own, and each run a MASTER_PORT of its own", variables(1, 2, port))
        self.refuse_alone(64, f"WORLD_SIZE is 3 here, but 2 for {self.name(0, both[0])}", variables(2, 3, port))
        step = self.steps()
        self.until(lambda: self.steps() > step + 20, both[0])
        both[1].send_signal(signal.SIGKILL)
        code, said = self.ended(both)[0]
        self.assertEqual(code, 75, said)
        self.assertIn(f"evenkeel: {self.name(1, both[1])} is lost: ", said)


if __name__ == "__main__":
    program.main()
