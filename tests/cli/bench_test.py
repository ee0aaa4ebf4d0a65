#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `evenkeel bench` says; how fast things are is not tested.

torch.compile takes a minute for the smallest model. So `peers` compiles with EVENKEEL_NIGHTLY=1 only; else PyTorch
leaves the model as it is, and the rest of that process is tested.
"""
import json
import pathlib
import sys

import program

QUIET, BUSY = 0, 75
program.ENVIRONMENT["EVENKEEL_BENCH_SMALL"] = "1"


class Bench(program.Case):
    def bench(self, *arguments):
        """The JSON that it prints; on a busy machine it says so and exits with 75."""
        done = self.evenkeel("bench", *arguments, "--json")
        self.assertIn(done.returncode, (QUIET, BUSY), done)
        if done.returncode == BUSY:
            self.assertRegex(done.stderr.decode(),
                             r"^not judged: other processes took \d+ % of the processors' time; ")
        return done.returncode, json.loads(done.stdout)

    def test_ranks_writes_a_machine_file_that_plan_reads(self):
        done = self.evenkeel("bench", "ranks", "--ranks", 2, "--rounds", 3, "--json", "--machine", "here.toml",
                             *program.small(train_batch=2, train_precision="float64"))
        self.assertEqual(done.returncode, 0, done)
        *exchanges, step = json.loads(done.stdout)
        self.assertEqual([row["bytes"] for row in exchanges], [64 << 10, 1024 << 10])
        for row in exchanges:
            self.assertGreater(row["exact_seconds"], 0)
            self.assertGreater(row["engine_all_reduce_seconds"], 0)
        self.assertLessEqual(step["together_over_alone_low"], step["together_over_alone"])
        self.assertEqual({key: len(each) for key, each in step["round_seconds"].items()}, {"alone": 3, "together": 3})
        self.assertEqual([len(row["round_seconds"]["exact"]) for row in exchanges], [3, 3])
        machine = (self.folder / "here.toml").read_text()
        self.assertIn('\nprecision = "float64"\nranks_per_host = 2\n', machine)
        self.succeed("plan", "--ranks", 2, "--machine", "here.toml")

    def test_ranks_refuses_before_it_measures(self):
        small = program.small(train_batch=2)
        self.refuse(64, "bench ranks: needs at least 2 ranks; add --ranks 2, or start it with torchrun --no-python, "
                        "srun or mpirun", "bench", "ranks", *small)
        self.refuse(74, "--machine none/here.toml: cannot be written: No such file or directory",
                    "bench", "ranks", "--ranks", 2, "--machine", "none/here.toml", *small)

    def test_kernels(self):
        out = self.folder / "kernels.jsonl"
        code, rows = self.bench("kernels", "--only", "adamw", "--rounds", "3", "--output", str(out))
        self.assertEqual([(row["op"], row["dtype"]) for row in rows],
                         [("adamw", "float32"), ("adamw", "bfloat16")])
        self.assertEqual(set(rows[0]["seconds"]), {"ours", "probe", "torch"})
        for row in rows:
            self.assertGreater(row["seconds"]["ours"]["least"], 0)
            ratio = row["over"]["probe"]
            self.assertLessEqual(ratio["low"], ratio["median"])
            self.assertLessEqual(ratio["median"], ratio["high"])
            self.assertEqual(row["not_judged"] == "", code == QUIET)
            self.assertEqual(row["bytes"], 28 * 1_000_000)
        lines = [json.loads(line) for line in out.read_text().splitlines()]
        self.assertEqual(lines, rows)
        self.assertEqual(self.succeed("report", "kernels.jsonl")[0], "kernels.html\n")
        page = (self.folder / "kernels.html").read_text()
        self.assertIn("adamw", page)
        self.assertEqual("not judged" in page, code == BUSY)

    def test_a_page_of_what_no_bench_wrote(self):
        run = self.folder / "run"
        run.mkdir()
        (run / "metrics.jsonl").write_text('{"step":1,"loss":5.5,"lr":1e-05}\n'
                                           '{"step":2,"val_loss":5.4,"val_bits_per_byte":7.8}\n')
        before = (run / "metrics.jsonl").read_bytes()
        self.refuse(65, "run/metrics.jsonl: holds no line that `evenkeel bench ... --output FILE.jsonl` wrote; to "
                    "report a run, name its folder", "report", "run/metrics.jsonl")
        self.assertEqual((run / "metrics.jsonl").read_bytes(), before)
        self.assertFalse((run / "metrics.html").exists())

    def test_a_bench_file_is_reported_alone(self):
        self.write("bench.jsonl", '{"bench": "step", "scheme": "pre_norm", "not_judged": ""}\n')
        self.refuse(64, "report: bench.jsonl, a file of a bench, must be the only argument, but 1 "
                    "more is named", "report", "bench.jsonl", "run")
        self.refuse(64, "report: bench.jsonl, a file of a bench, must be the only argument, but 2 "
                    "more are named", "report", "bench.jsonl", "run", "run")
        self.assertEqual(self.succeed("report", "bench.jsonl", "--output", "page.html")[0], "page.html\n")
        self.assertIn("Training steps", (self.folder / "page.html").read_text())

    def test_an_unknown_operator(self):
        self.refuse(64, '--only rmsnorm: no operator has this name; did you mean "rms_norm"? known: adamw, '
                    "add_rms_norm, affine, attention, bounded, column_norm, geodesic_step, layer_norm, "
                    "linear_cross_entropy, mixture, qkv_norm_rope, rms_norm, rope, row_norm, "
                    "seed_norm, sphere_step, swiglu",
                    "bench", "kernels", "--only", "rmsnorm")

    def test_a_place_that_cannot_be_written(self):
        self.assertEqual(self.evenkeel("bench", "step", *program.small(), "--out", "x.jsonl").returncode, 64)
        self.refuse(74, "--output none/x.jsonl: cannot be written: No such file or directory", "bench",
                    "step", *program.small(), "--output", "none/x.jsonl")

    def test_steps_of_two_schemes(self):
        code, rows = self.bench("step", *program.small(), "--schemes", "pre_norm", "hybrid_norm",
                                "--rounds", "3")
        self.assertEqual([row["scheme"] for row in rows], ["pre_norm", "hybrid_norm"])
        self.assertEqual(rows[0]["over_first"], 1)
        for row in rows:
            self.assertGreater(row["median_seconds"], row["floor_seconds"])
            self.assertLessEqual({"products", "attention", "norms", "loss", "optimizer", "activation",
                                  "other", "between"}, set(row["parts"]))
            self.assertIn("evenkeel::adamw_", row["operators"])

    def test_steps_beyond_the_end_of_the_run(self):
        self.write("ending.toml", "extends = 'pre_norm'\nattention.branch_scale = 'sqrt(1 - t / T)'\n")
        code, rows = self.bench("step", *program.small(train_steps=2), "--schemes", "ending.toml", "--rounds", 3)
        self.assertEqual([row["scheme"] for row in rows], ["ending.toml"])

    def test_a_model_to_start_from(self):
        for bench in (["step"], ["decode"], ["peers"], ["ranks", "--ranks", "2"]):
            self.refuse(64, "train.from has no effect on a benchmark, whose models have initial weights; leave out "
                            "train.from = runs/old, or set it to \"\"", "bench", *bench,
                        *program.small(train_from="runs/old"))

    def test_few_rounds_have_no_interval_of_95_per_cent(self):
        command = ["bench", "step", *program.small(), "--schemes", "pre_norm", "--rounds"]
        note = b"the range of 3 rounds, which covers the median with 75 %"
        self.assertIn(note, self.evenkeel(*command, 3).stdout)
        self.assertNotIn(b"the range of", self.evenkeel(*command, 6).stdout)

    def test_decoding(self):
        code, rows = self.bench("decode", *program.small(), "--prompt", 9, "--batches", 1, 3, "--rounds", 3)
        self.assertEqual([(row["case"], row["batch"], row["weights"]) for row in rows],
                         [("decode", batch, weights) for batch in (1, 3) for weights in ("float32", "bfloat16", "int8")]
                         + [("prefill", 1, weights) for weights in ("float32", "bfloat16", "int8")])
        by_weights = {row["weights"]: row for row in rows[:3]}
        self.assertEqual(by_weights["float32"]["over_first"], {"median": 1, "low": 1, "high": 1})
        self.assertEqual(by_weights["float32"]["weight_bytes"], 2 * by_weights["bfloat16"]["weight_bytes"])
        self.assertLess(by_weights["int8"]["weight_bytes"], by_weights["bfloat16"]["weight_bytes"])
        for row in rows:
            self.assertEqual(len(row["round_seconds"]), 3)
            self.assertGreater(row["median_seconds"], 0)
        for row in rows[:6]:
            seconds = row["weight_bytes"] / row["copy_bytes_per_second"]
            self.assertGreater(row["of_copy"]["median"], 0.1 * seconds / row["median_seconds"])
        experts = self.bench("decode", *program.small(), "--prompt", 9, "--batches", 1, "--rounds", 3, "--weights",
                             "int8", "--set", "model.experts.count=4")[1]
        self.assertNotIn("of_copy", experts[0])
        self.refuse(64, "bench decode: --prompt 60 and 4 steps need model.context = 64 or more, but it is 32; shorten "
                        "the prompt", "bench", "decode", *program.small(), "--prompt", 60)
        done = self.evenkeel("bench", "decode", "--preset", "7b", "--set", "model.layers=1000")
        self.assertEqual(done.returncode, 75)
        self.assertRegex(done.stderr.decode(), r"^evenkeel: bench decode: models and caches take about .* TiB of memory, "
                                               r"but the machine has .*; name fewer --weights or smaller --batches, or "
                                               r"take a smaller model\n$")
        self.refuse(64, "--batches must be at least 1, but is 0", "bench", "decode", *program.small(), "--batches", 0)
        self.refuse(64, "--prompt must be at least 1, but is 0", "bench", "decode", *program.small(), "--prompt", 0)

    def test_a_comparison_of_two_files(self):
        rows = self.bench("step", *program.small(), "--schemes", "pre_norm", "--rounds", "5")[1]
        for name, factor in (("a.jsonl", 1), ("b.jsonl", 1000)):  # beyond the spread of a busy machine
            seconds = [factor * each for each in rows[0]["round_seconds"]]
            self.write(name, json.dumps(rows[0] | {"round_seconds": seconds, "not_judged": ""}) + "\n")
        slower = self.evenkeel("bench", "compare", "a.jsonl", "b.jsonl")
        self.assertEqual((slower.returncode, slower.stderr), (1, b"1 slower, 0 faster, of 1 cases\n"))
        self.assertRegex(slower.stdout.decode(), r"step pre_norm, .* SLOWER\n")
        same = json.loads(self.succeed("bench", "compare", "a.jsonl", "a.jsonl", "--json")[0])["cases"]
        self.assertEqual([(each["ratio"], each["slower"]) for each in same], [(1, False)])
        self.refuse(64, "--margin must be at least 0 and below 1, but is -1", "bench", "compare", "a.jsonl",
                    "b.jsonl", "--margin", "-1")
        self.refuse(65, "none.jsonl: no such file; `evenkeel bench step --output none.jsonl` writes one", "bench",
                    "compare", "none.jsonl", "a.jsonl")

    def test_a_comparison_of_two_files_of_ranks(self):
        for name, exact in (("a.jsonl", 0.002), ("b.jsonl", 0.003)):
            self.write(name, json.dumps({
                "bench": "ranks", "machine": {"processor": "a processor", "threads": 1}, "ranks": 2,
                "network": "gloo over lo", "what": "exchange", "bytes": 65536, "all_gather_seconds": 0.001,
                "exact_seconds": exact,
                "round_seconds": {"all_gather": [0.001] * 6, "exact": [exact] * 6, "engine_all_reduce": [0.002] * 6},
            }) + "\n")
        slower = self.evenkeel("bench", "compare", "a.jsonl", "b.jsonl")
        self.assertEqual((slower.returncode, slower.stderr), (1, b"1 slower, 0 faster, of 2 cases\n"))
        self.assertRegex(slower.stdout.decode(),
                         r"\nranks exact, 64.0 KiB, 2 ranks, gloo over lo +2\.000 +3\.000 +1\.500 "
                         r"\[1\.5, 1\.5\] +SLOWER\n")
        faster = json.loads(self.succeed("bench", "compare", "b.jsonl", "a.jsonl", "--json")[0])["cases"]
        self.assertEqual([(each["case"].split(",")[0], each["verdict"], each["relative"]) for each in faster],
                         [("ranks all_gather", "no change", False), ("ranks exact", "faster", True)])

    def test_the_same_training_in_torch(self):
        try:
            import torch
        except ImportError as missing:
            self.skipTest(f"no PyTorch: {missing}")
        if program.NIGHTLY:
            inductor = pathlib.Path(program.PROGRAM).parent / "inductor"  # keeps what it compiled
            program.ENVIRONMENT["TORCHINDUCTOR_CACHE_DIR"] = str(inductor)
        else:
            program.ENVIRONMENT["TORCH_COMPILE_DISABLE"] = "1"
        arguments = [*program.small(), "--python", sys.executable, "--rounds", "3"]
        for scheme, modes in [("post_norm", ["eager"]), ("hybrid_norm_star", ["eager", "compile"])]:
            code, rows = self.bench("peers", *arguments, "--scheme", scheme, "--against", *modes)
            self.assertEqual([row["process"] for row in rows], ["evenkeel", *modes])
            self.assertEqual(rows[0]["torch"], torch.__version__)
            ours, *others = (row["losses"] for row in rows)
            self.assertEqual(len(ours), 3)
            for theirs in others:
                for one, other in zip(ours, theirs):
                    self.assertAlmostEqual(one, other, delta=1e-5)
            self.assertNotEqual(ours[0], ours[1])
            for row in rows:
                self.assertGreater(row["median_seconds"], 0)
                self.assertEqual(row["not_judged"] == "", code == QUIET)

    def test_another_training_in_torch_is_not_timed(self):
        script = ("import sys, json\nprint(json.dumps({'torch': '0'}))\n"
                  "for line in sys.stdin: print(json.dumps({'loss': 7.0}), flush=True)")
        self.write("other.py", f"#!{sys.executable} -u\n{script}\n")
        (self.folder / "other.py").chmod(0o755)
        done = self.evenkeel("bench", "peers", *program.small(), "--python", "./other.py", "--against", "eager")
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertRegex(done.stderr.decode(),
                         r"^evenkeel: bench peers: nothing is timed, since this is not the same training: at "
                         r"step 1 the loss is 5\.\d+ here and 7\.0 in eager, ")

    def test_a_python_that_fails(self):
        self.refuse(74, "false: ended before its time", "bench", "peers", *program.small(), "--python",
                    "false")

    def test_a_scheme_that_is_none(self):
        self.refuse(64, 'the catalogue has no scheme "keal"; a file is named by its path, '
                    'which ends in .toml; did you mean "keel"? `evenkeel schemes` lists all',
                    "bench", "step", "--schemes", "keal")

    def test_rounds_are_three_or_more(self):
        done = self.evenkeel("bench", "kernels", "--rounds", "2")
        self.assertEqual(done.returncode, 64)
        self.assertIn(b"--rounds", done.stderr)


if __name__ == "__main__":
    program.main()
