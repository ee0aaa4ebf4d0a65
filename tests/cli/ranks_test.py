#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training on several ranks: weights, moments, metrics and checkpoint files do not depend on the number
of ranks, of threads, or of lost ranks. The part `ranks_bits` of tests/campaign has more cases.
"""
import json
import os
import pathlib
import signal
import subprocess

import program
from program import files_at, lines_of, metrics, saved_steps, settings

# 520,000 matrix values: eight blocks of 65,536, so that each of 8 shards owns a piece.
WIDE = {"model.width": 128, "model.heads": 4, "model.inner": 512, "model.layers": 2, "train.batch": 8,
        "train.gradient_shards": 8, "log.every": 1}
DENSE = WIDE
MIXTURE = WIDE | {"model.inner": 128, "model.experts": "{count = 4, bias_rate = 0.01}"}
STEPS = 6


def ranks_of(process):
    """The processes that train: the launcher's children, or the program itself on one rank."""
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(child) for child in children] or [process.pid]


def is_listening(port):
    rows = [line.split() for file in ("tcp", "tcp6") if pathlib.Path(f"/proc/net/{file}").exists()
            for line in pathlib.Path(f"/proc/net/{file}").read_text().splitlines()[1:]]
    return any(row[1].endswith(f":{port:04X}") and row[3] == "0A" for row in rows)


class Ranks(program.Case):
    def train_on(self, ranks, run, values, *arguments):
        """A run to its end on so many ranks."""
        self.succeed("train", "--quiet", "--ranks", ranks, "--run", run,
                     *settings(program.SMALL | {"train.steps": STEPS} | values), *arguments)
        return self.folder / run

    def write_quiz(self, documents):
        rows = [{"doc_id": document, "idx": choice, "label": document % 2, "request": {
            "context": f"question {document}", "continuation": f" answer {choice}"}}
                for document in range(documents) for choice in range(2)]
        self.write("quiz.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    def check_equal(self, run, whole, step):
        self.assertEqual(metrics(run), metrics(whole))
        self.assertEqual(lines_of(run / "health.jsonl"), lines_of(whole / "health.jsonl"))
        here, there = files_at(run, step), files_at(whole, step)
        self.assertEqual(sorted(here), sorted(there))
        for name, content in here.items():
            self.assertTrue(content == there[name], f"{run.name}: {name} differs")


class Bits(Ranks):
    def check_bits(self, values, *cases):
        whole = self.train_on(1, "one", values | {"train.threads": 2})
        for ranks, shard in cases:
            with self.subTest(ranks=ranks, shard=shard):
                run = self.train_on(ranks, f"{shard}-{ranks}", values | {"distributed.shard": shard})
                self.check_equal(run, whole, max(saved_steps(whole)))

    def test_of_a_dense_model_in_float32(self):
        self.check_bits(DENSE | {"evaluate.every": 3, "evaluate.sequences": 7, "probe.steps": "[2]"},
                        (8, "optimizer"))

    def test_of_a_dense_model_in_bfloat16(self):
        self.check_bits(DENSE | {"train.precision": "bfloat16"}, (4, "gradients"))

    def test_of_a_mixture_in_float32(self):
        self.check_bits(MIXTURE, (2, "gradients"))

    def test_of_a_mixture_in_bfloat16(self):
        self.check_bits(MIXTURE | {"train.precision": "bfloat16", "train.threads": 2}, (2, "optimizer"))

    def test_of_the_scores_of_tasks(self):
        """All ranks share the rows."""
        self.write_quiz(200)
        values = DENSE | {"train.steps": 2, "evaluate.tasks": "quiz.jsonl", "evaluate.task_every": 1}
        one, two = (lines_of(self.train_on(ranks, f"tasks-{ranks}", values) / "evaluations.jsonl") for ranks in (1, 2))
        self.assertEqual([line["step"] for line in one if line["metric"] == "acc"], [1, 2])
        self.assertEqual(two, one)

    def test_under_a_hook_without_sharding(self):
        self.check_bits(DENSE | {"scheme": "qk_clip", "train.steps": 2, "train.gradient_shards": 2},
                        (2, "none"))


class Machines(Ranks):
    """Two machines of two ranks: processes that see another host name."""

    def test_of_two_ranks_each_exchange_in_two_levels(self):
        unshare = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"']
        if subprocess.run([*unshare, "a", "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("a host name of its own needs root")
        whole = self.train_on(1, "whole", DENSE)
        port = program.free_port()
        processes = []
        for rank in range(4):
            launcher = {"RANK": rank, "WORLD_SIZE": 4, "LOCAL_WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1",
                        "MASTER_PORT": port}
            processes.append(subprocess.Popen(
                [*unshare, "ab"[rank // 2], program.PROGRAM, "train", "--run", "run",
                 *settings(program.SMALL | {"train.steps": STEPS} | DENSE)],
                cwd=self.folder, env=program.ENVIRONMENT | {name: str(value) for name, value in launcher.items()},
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
            self.addCleanup(processes[-1].kill)
        said = [process.communicate(timeout=program.LIMIT)[0] for process in processes]
        self.assertEqual([process.returncode for process in processes], [0] * 4, said)
        self.assertIn("4 ranks (torchrun) on 2 machines, 8 shards, gloo over lo in two levels, exact", said[0])
        self.check_equal(self.folder / "run", whole, STEPS)


class Chains(Ranks):
    def test_of_2_8_1_and_4_ranks_with_kills(self):
        values = DENSE | {"train.steps": 10, "checkpoint.every": 1}
        whole = self.train_on(1, "whole", values)
        run = self.folder / "chain"
        for count, ranks in enumerate((2, 8, 1)):
            process = self.start("train", "--ranks", ranks, "--run", run,
                                 *settings(program.SMALL | values))
            self.until(lambda: max(saved_steps(run), default=0) > 2 * count, process)
            for rank in ranks_of(process):
                os.kill(rank, signal.SIGKILL)
            self.finish(process)
        self.train_on(4, "chain", values)
        self.check_equal(run, whole, 10)


class Behaviour(Ranks):
    def test_a_signal_saves_on_all_ranks(self):
        values = DENSE | {"train.steps": 10**6, "checkpoint.every": 0}
        process = self.start("train", "--ranks", 2, "--run", "run", *settings(program.SMALL | values))
        run = self.folder / "run"
        self.wait_for_steps(process, "run", 2)
        process.send_signal(signal.SIGTERM)
        code, error = self.finish(process)
        self.assertEqual(code, 0, error)
        last = max(line["step"] for line in lines_of(run / "metrics.jsonl"))
        self.assertEqual(max(saved_steps(run)), last)
        self.assertEqual(error.count("saved at step"), 1)
        provenance = json.loads((run / "provenance.json").read_text())
        self.assertEqual((provenance["ranks"], provenance["gradient_shards"]), (2, 8))
        line = [line for line in lines_of(run / "metrics.jsonl") if "loss" in line][-1]
        self.assertLessEqual({"exchange_s", "slowest_rank", "waited_s"}, set(line))

    def test_a_signal_to_another_rank_than_0_ends_the_scoring_of_tasks(self):
        self.write_quiz(20000)
        values = program.SMALL | DENSE | {"train.steps": 4, "evaluate.tasks": "quiz.jsonl", "evaluate.task_every": 2}
        process = self.start("train", "--ranks", 2, "--run", "run", *settings(values))
        self.wait_for_steps(process, "run", 2)
        os.kill(ranks_of(process)[1], signal.SIGTERM)
        code, error = self.finish(process)
        self.assertEqual(code, 0, error)
        self.assertIn("step 2: the tasks are not scored; the next start does it", error)
        self.assertEqual(max(saved_steps(self.folder / "run")), 2)
        self.write_quiz(20)
        self.succeed("train", "--quiet", "--ranks", 2, "--run", "run", "--override", "data")
        lines = lines_of(self.folder / "run/evaluations.jsonl")
        self.assertEqual([line["step"] for line in lines if line["metric"] == "acc"], [2, 4])

    def test_a_signal_to_all_ranks_saves_once(self):
        values = DENSE | {"train.steps": 10**6, "train.batch": 64, "checkpoint.every": 0, "checkpoint.seconds": 0,
                          "checkpoint.keep": 9}
        process = self.start("train", "--ranks", 2, "--run", "run", *settings(program.SMALL | values))
        run = self.folder / "run"
        self.wait_for_steps(process, "run", 2)
        process.send_signal(signal.SIGUSR1)  # the launcher sends it to all ranks
        self.until(lambda: len(saved_steps(run)) > 1, process)
        self.wait_for_steps(process, "run", 3)
        self.assertEqual(len(saved_steps(run)), 2)
        self.stop(process)

    def test_a_thread_writes_the_same_checkpoints(self):
        values = DENSE | {"checkpoint.every": 2, "checkpoint.keep": 9}
        whole = self.train_on(1, "whole", values)
        for ranks in (1, 2):
            with self.subTest(ranks=ranks):
                error = self.succeed("train", "--ranks", ranks, "--run", f"run-{ranks}", *settings(
                    program.SMALL | {"train.steps": STEPS} | values | {"checkpoint.background": "true"}))[1]
                run = self.folder / f"run-{ranks}"
                self.assertEqual([step for step in saved_steps(run) if f"step {step}: saved\n" not in error], [])
                self.assertEqual(saved_steps(run), saved_steps(whole))
                for step in (2, 4, 6):
                    self.check_equal(run, whole, step)

    def test_a_preset_resumes_on_ranks(self):
        values = DENSE | {"train.gradient_shards": "auto", "train.steps": 2}
        for steps in (2, 4):
            self.train_on(2, "run", values | {"train.steps": steps}, "--preset", "tiny")
        self.assertIn("gradient_shards = 2\n", (self.folder / "run/run.toml").read_text())
        whole = self.train_on(2, "whole", values | {"train.steps": 4, "schedule.steps": 2})
        self.assertEqual(files_at(self.folder / "run", 4), files_at(whole, 4))

    def test_the_shards_of_a_run_change_with_an_override(self):
        self.train_on(1, "run", DENSE | {"train.steps": 1, "train.gradient_shards": 1})
        more = ["train", "--ranks", 2, "--run", "run", *settings({"train.steps": 2})]
        self.refuse(64, "train.gradient_shards = 1 cannot be shared by 2 ranks: gradient_shards / ranks must be a "
                    "power of two (1 rank); or choose train.gradient_shards = 2 with --override "
                    "train.gradient_shards", *more)
        self.succeed(*more, *settings({"train.gradient_shards": 2}), "--override", "train.gradient_shards")

    def test_another_preset_is_refused_once(self):
        self.train_on(2, "run", DENSE | {"train.steps": 1, "train.gradient_shards": "auto"})
        self.refuse(64, "--preset nano: run was started with the preset tiny; leave --preset out, or start another run",
                    "train", "--ranks", 2, "--run", "run", "--preset", "nano")

    def test_an_override_is_read_on_top_of_the_run(self):
        values = DENSE | {"schedule.kind": "wsd"}
        self.train_on(2, "run", values | {"train.steps": 2, "train.gradient_shards": "auto"})
        self.succeed("train", "--ranks", 2, "--run", "run", *settings({"train.steps": 3, "schedule.decay": 1}),
                     "--override", "schedule.decay")
        self.assertIn("decay = 1", (self.folder / "run/run.toml").read_text())

    def test_a_moved_run_saves_on_all_ranks(self):
        values = DENSE | {"train.steps": 10**6, "checkpoint.every": 0, "checkpoint.seconds": 0}
        process = self.start("train", "--ranks", 2, "--run", "run", *settings(program.SMALL | values))
        self.wait_for_steps(process, "run", 2)
        (self.folder / "run").rename(self.folder / "moved")
        code, error = self.finish(process)
        self.assertEqual(code, 74, error)
        self.assertGreater(max(saved_steps(self.folder / "moved")), 1)

    def test_the_check_of_the_folder_follows_no_link(self):
        self.write("other.txt", "mine")
        values = DENSE | {"train.steps": 1}
        self.train_on(2, "run", values)
        (self.folder / "run/.ranks").symlink_to("../other.txt")
        self.train_on(2, "run", values | {"train.steps": 2})
        self.assertEqual((self.folder / "other.txt").read_text(), "mine")

    def test_a_signal_ends_a_rank_that_waits_for_others(self):
        environment = program.ENVIRONMENT | {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
                                             "MASTER_PORT": str(program.free_port())}
        process = self.start("train", "--run", "run", *settings(program.SMALL), env=environment)
        self.until(lambda: is_listening(int(environment["MASTER_PORT"])), process)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=20), -signal.SIGINT)

    def test_pieces_are_read_by_every_verb(self):
        run = self.train_on(2, "run", DENSE | {"train.steps": 1, "train.gradient_shards": "auto"})
        names = sorted(files_at(run, 1))
        self.assertEqual(names, ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                                 "optimizer-00001-of-00002.safetensors",
                                 "optimizer-00002-of-00002.safetensors", "state.json"])
        self.succeed("eval", "--run", run)
        self.succeed("generate", "--run", run, "--tokens", 3)
        self.succeed("export", "--run", run, "--output", "out")
        self.succeed("report", run)
        one = self.train_on(1, "one", DENSE | {"train.steps": 1, "train.gradient_shards": 2})
        self.succeed("export", "--run", one, "--output", "out-one")
        self.assertEqual((self.folder / "out/model.safetensors").read_bytes(),
                         (self.folder / "out-one/model.safetensors").read_bytes())

    def test_what_ranks_cannot_train_is_refused(self):
        for message, ranks, values in (
                ("train.gradient_shards = 8 cannot be shared by 3 ranks: gradient_shards / ranks must be a power "
                 "of two (1, 2, 4 or 8 ranks); or choose train.gradient_shards = 6", 3,
                 {"train.gradient_shards": 8, "train.batch": 24}),
                ("batch_norm cannot be trained on several ranks: its running values go from part to part of a "
                 "batch", 2, {"scheme": "batch_norm"}),
                ("sigma_reparam cannot be trained on several ranks: its vectors move in every forward pass", 2,
                 {"scheme": "sigma_reparam"}),
                ('the hook qk_clip acts on whole matrices: on several ranks it needs distributed.shard = "none"', 2,
                 {"scheme": "qk_clip"})):
            with self.subTest(message=message):
                self.refuse(64, message, "train", "--ranks", ranks, "--run", "run",
                            *settings(program.SMALL | {"train.steps": 1} | values))
                self.assertFalse((self.folder / "run").exists())


if __name__ == "__main__":
    program.main()
