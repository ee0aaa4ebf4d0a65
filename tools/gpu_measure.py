#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests and measurements of tools/gpu_check.sh on a machine with a GPU.

    gpu_measure.py CARRY OUT [--only NAME,NAME] [--seconds 480]

CARRY has the programs. OUT/gpu.json gets one object: the machine, and for each part its command,
seconds, exit code and result; OUT/bench.jsonl the records of the benchmarks, for `evenkeel report`;
OUT/log.txt what the programs said. Parts that no longer fit in the
time are named as not run. Exits with 75 without a GPU, with 1 if a part failed or was not run, bits differ that must
be equal, or a test skipped itself that this GPU has to pass.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

GPU = ["--device", "cuda"]
KERNELS = ["rms_norm", "layer_norm", "add_rms_norm", "qkv_norm_rope", "swiglu", "adamw", "attention",
           "linear_cross_entropy", "mixture", "affine", "row_norm", "bounded", "seed_norm", "sphere_step", "geodesic_step",
           "column_norm"]
# Why tests of cuda_test skip themselves that this GPU has to pass.
NO_GPU, NO_CUDNN = "no GPU was found", "no deterministic gradients of attention by cuDNN"
SCHEMES = ["pre_norm", "hybrid_norm", "hybrid_norm_star"]


class Run:
    def __init__(self, carry, out, seconds, only):
        self.carry, self.out, self.only = carry, out, only
        self.end = time.monotonic() + seconds
        self.log = open(out / "log.txt", "w")
        self.record = {"machine": machine(), "parts": {}}
        self.environment = dict(os.environ, EVENKEEL_PYTHON=sys.executable)
        import torch
        folders = [str(pathlib.Path(torch.__path__[0]) / "lib"), str(carry / "lib")]
        self.environment["LD_LIBRARY_PATH"] = ":".join(folders)

    def wants(self, name):
        return not self.only or any(name.startswith(each) for each in self.only)

    def part(self, name, command, seconds, result=None):
        """Runs a command; result(stdout) becomes the part's result."""
        if not self.wants(name):
            return None
        left = self.end - time.monotonic()
        entry = {"command": " ".join(command), "exit": None}
        self.record["parts"][name] = entry
        if left < min(seconds, 20):
            entry["not_run"] = "no time left"
            return None
        program = str(self.carry / command[0])
        began = time.monotonic()
        try:
            done = subprocess.run([program] + command[1:], capture_output=True, text=True, cwd=self.out,
                                  env=self.environment, timeout=min(seconds, left))
            output, errors, entry["exit"] = done.stdout, done.stderr, done.returncode
        except subprocess.TimeoutExpired as late:
            output, errors = ((text or b"").decode(errors="replace") for text in (late.stdout, late.stderr))
            entry["not_run"] = f"not done after {min(seconds, left):.0f} s"
        entry["seconds"] = round(time.monotonic() - began, 1)
        self.log.write(f"=== {name}: {entry['command']} (exit {entry['exit']}, {entry['seconds']} s)\n"
                       f"{output[-60000:]}\n--- errors\n{errors[-8000:]}\n")
        if result and entry["exit"] is not None:
            try:
                entry["result"] = result(output)
            except (ValueError, KeyError, IndexError, OSError) as error:
                entry["result"] = None
                entry["complaint"] = repr(error)
        print(f"{name:34} exit {entry['exit']} {entry['seconds']:7.1f} s  {errors.strip()[-160:]!r}", flush=True)
        self.write()
        return entry.get("result")

    def conclude(self, name, passes, result):
        """A part that follows from others."""
        self.record["parts"][name] = {"exit": 0 if passes else 1, "result": result}
        print(f"{name:34} {'passes' if passes else 'FAILS'}  {result}", flush=True)

    def write(self):
        (self.out / "gpu.json").write_text(json.dumps(self.record, indent=1) + "\n")
        records = [record for name, part in self.record["parts"].items() if name.startswith("bench.")
                   for record in part.get("result") or []]
        (self.out / "bench.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        self.log.flush()


def machine():
    fields = "name,compute_cap,memory.total,driver_version,clocks.max.sm,power.limit"
    found = subprocess.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"],
                           capture_output=True, text=True)
    if found.returncode != 0 or not found.stdout.strip():
        print("gpu_measure: no GPU was found; nvidia-smi shows what the driver sees", file=sys.stderr)
        sys.exit(75)
    import torch
    values = [value.strip() for value in found.stdout.splitlines()[0].split(",")]
    return dict(zip(fields.split(","), values), torch=torch.__version__, cores=os.cpu_count())


def losses(run):
    lines = (run / "metrics.jsonl").read_text().splitlines()
    return [record["loss"] for record in map(json.loads, lines) if "loss" in record]


def lines_of_json(output):
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def gtest(path):
    def read(output):
        report = json.loads(path.read_text())
        failed = []
        skipped = {reason: output.splitlines().count(reason) for reason in (NO_GPU, NO_CUDNN)}
        for suite in report["testsuites"]:
            for test in suite["testsuite"]:
                if test.get("failures"):
                    name = test["name"] + " " + str(test.get("value_param", ""))[:40]
                    failed.append({"test": name, "why": test["failures"][0]["failure"][:300]})
        return {"tests": report["tests"], "failures": report["failures"], "failed": failed, "skipped": skipped}
    return read


def tests(run):
    report = run.out / "gtest.json"
    operators = run.part("tests.operators", ["cuda_test", f"--gtest_output=json:{report}"], 150, gtest(report))
    report.unlink(missing_ok=True)
    if operators:
        # cuDNN has deterministic gradients for these cards; tests of other cards skip themselves.
        needs_cudnn = run.record["machine"]["compute_cap"] in ("9.0", "10.0")
        skipped = operators["skipped"]
        run.conclude("tests.none_skipped", not skipped[NO_GPU] and not (needs_cudnn and skipped[NO_CUDNN]), skipped)
    golden = sorted(str(file) for file in (run.carry / "golden").rglob("*.safetensors")
                    if file.stem not in ("hooks", "kinds"))  # which unit tests read
    for precision in ("float64", "float32"):
        run.part(f"tests.golden_{precision}", ["evenkeel", "verify", *golden, *GPU, "--precision", precision, "--quiet"],
                 150, lambda output: output.splitlines()[-40:])


def training(run):
    """60 steps twice, 30 and 30 more, the CPU's curve in float32, and two ranks."""
    def train(name, folder, *more, seconds=60):
        return run.part(f"training.{name}", ["evenkeel", "train", "--run", str(folder), "--quiet", *more], seconds,
                        lambda _: losses(folder))
    runs = run.out / "runs"
    def steps(count):
        return ["--set", f"train.steps={count}", "--set", "schedule.steps=60"]
    first = train("sixty", runs / "a", *GPU, *steps(60))
    again = train("sixty_again", runs / "b", *GPU, *steps(60))
    train("thirty", runs / "c", *GPU, *steps(30))
    resumed = train("resumed", runs / "c", *GPU, "--set", "train.steps=60")
    exact = ["--set", "train.precision=float32"]
    gpu = train("float32", runs / "d", *GPU, *steps(60), *exact)
    cpu = train("float32_cpu", runs / "e", "--device", "cpu", *steps(60), *exact)
    if all((first, again, resumed, gpu, cpu)):
        difference = max(abs(a - b) for a, b in zip(gpu, cpu))
        run.conclude("training.compared", first == again == resumed and difference <= 1e-3,
                     {"same_bits_twice": first == again, "same_bits_resumed": first == resumed,
                      "largest_difference_of_cpu": difference})
    ranks(run, runs, steps(20))
    # What reads a run, on the GPU.
    for verb, *more in (["generate", "--tokens", "20", "--prompt", "The "], ["eval"],
                        ["probe", "--what", "all"]):
        run.part(f"training.{verb}", ["evenkeel", verb, "--run", str(runs / "a"), *GPU, *more], 60,
                 lambda output: output.splitlines()[:6])
    train("mixture", runs / "m", *GPU, "--preset", "moe_tiny", "--set", "train.steps=20")
    shutil.rmtree(runs, ignore_errors=True)


def ranks(run, runs, steps):
    """Two ranks that share the GPU, and one, with as many gradient shards: losses, norms and files of weights."""
    def train(name, *more):
        folder = runs / name
        return run.part(f"training.{name}", ["evenkeel", "train", "--run", str(folder), "--quiet", *steps, *more], 90,
                        lambda _: numbers(folder))
    for shard, count in (("optimizer", 2), ("gradients", 4)):
        keys = ["--set", f"train.gradient_shards={count}", "--set", f"distributed.shard={shard}"]
        one = train(f"one_rank_{shard}", *GPU, *keys)
        two = train(f"two_ranks_{shard}", "--device", "cuda:0", "--ranks", "2", "--set", "distributed.backend=gloo", *keys)
        if one and two:
            run.conclude(f"training.ranks_{shard}", one == two, {"same_bits": one == two})
    # A card per rank, as `--device cuda` has it, where this machine has one card: one clear line, exit code 64.
    done = run.part("training.too_many_ranks", ["evenkeel", "train", "--ranks", "64", "--device", "cuda", *steps], 30)
    refused = run.record["parts"].get("training.too_many_ranks", {})
    if refused.get("exit") == 64 and done is None:
        refused["exit"], refused["result"] = 0, "refused with 64"


def numbers(run):
    """What must be equal to the bit: losses and gradient norms by step, and the digests of the last checkpoint."""
    lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    steps = [[record.get(key) for key in ("step", "loss", "grad_norm", "val_loss")] for record in lines]
    manifest = json.loads(max(run.glob("checkpoints/step-*/MANIFEST.json")).read_text())
    weights = {name: entry for name, entry in manifest["files"].items() if name.endswith(".safetensors")}
    return {"steps": steps, "weights": weights}


def bench(run):
    for only in KERNELS:  # each alone, so that a slow one ends alone
        run.part(f"bench.kernels_{only}",
                 ["evenkeel", "bench", "kernels", *GPU, "--json", "--rounds", "5", "--only", only], 30, json.loads)

    def step(name, preset, batch, micro_batch, schemes, *more):
        keys = ["--preset", preset, *GPU, "--set", f"train.batch={batch}", "--set", f"train.micro_batch={micro_batch}",
                *more]
        records = run.part(f"bench.step_{name}",
                           ["evenkeel", "bench", "step", *keys, "--json", "--rounds", "5", "--schemes", *schemes], 120,
                           json.loads)
        if not records or len(schemes) > 1:  # the peak is that of all schemes together
            return
        plan = run.part(f"memory.plan_{name}", ["evenkeel", "plan", *keys, "--scheme", schemes[0], "--json"], 30,
                        lambda output: json.loads(output)["memory_bytes"])
        if plan:
            run.record["parts"][f"memory.compared_{name}"] = {"result": {
                "peak_over_plan": records[0]["peak_bytes"] / plan["total"]}}
    unordered = ["--set", "train.deterministic=false"]
    for name, graphs in (("tiny", "true"), ("tiny_without_graphs", "false")):
        step(name, "tiny", 16, 8, SCHEMES[2:], "--set", f"train.cuda_graphs={graphs}")
    step("151m", "151m", 64, 16, SCHEMES)
    step("151m_alone", "151m", 64, 16, SCHEMES[2:])
    step("151m_unordered", "151m", 64, 16, SCHEMES[2:], *unordered)
    step("550m", "550m", 32, 8, SCHEMES[::2])
    step("550m_unordered", "550m", 32, 8, SCHEMES[2:], *unordered)
    step("1.2b", "1.2b", 8, 2, SCHEMES[::2])  # two models fit beside each other
    step("1.2b_alone", "1.2b", 16, 8, SCHEMES[2:])
    step("1.2b_unordered", "1.2b", 16, 8, SCHEMES[2:], *unordered)

    def peers(name, batch, *more):
        run.part(f"bench.peers_{name}",
                 ["evenkeel", "bench", "peers", "--preset", "151m", "--scheme", "hybrid_norm_star", *GPU, "--json",
                  "--rounds", "7", "--set", f"train.batch={batch}", *more], 150, json.loads)
    peers("151m_4", 4)
    peers("151m_16", 16, "--against", "compile")
    peers("151m_16_unordered", 16, "--against", "compile", *unordered)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("carry", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--only", default="", help="parts whose names begin so, such as tests,bench.step")
    parser.add_argument("--seconds", type=float, default=480)
    options = parser.parse_args()
    run = Run(options.carry.resolve(), options.out.resolve(), options.seconds,
              [name for name in options.only.split(",") if name])
    run.write()
    for section in (tests, training, bench):
        section(run)
    run.write()
    exits = [part.get("exit") for part in run.record["parts"].values() if "exit" in part]
    sys.exit(0 if all(code == 0 for code in exits) else 1)


if __name__ == "__main__":
    main()
