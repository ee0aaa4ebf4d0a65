#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`plan --ranks` prints memory and time of a step for each value of distributed.shard, as text and as JSON."""
import json
import pathlib

import program

ROOT = pathlib.Path(__file__).resolve().parents[2]


class PlanRanks(program.Case):
    def json_of(self, *arguments):
        return json.loads(self.succeed("plan", "--json", *arguments)[0])

    def test_the_page_has_a_column_for_each_shard(self):
        out, _ = self.succeed("plan", "--preset", "7b", "--ranks", "64")
        lines = {line[:24].strip(): line[24:].split() for line in out.splitlines()}
        self.assertIn("7b under hybrid_norm_7b on 64 ranks, 8 to a host: NVIDIA H200 SXM (h200), bfloat16", out)
        self.assertEqual(lines["distributed.shard"], ["none", "optimizer", "gradients"])
        self.assertEqual(lines["fits 130.7 GiB"], ["no", "yes", "yes"])
        self.assertEqual(lines["total"], ["142.9", "GiB", "62.6", "GiB", "36.4", "GiB"])
        self.assertEqual(lines["ranks at 90 % efficiency"], ["256", "1,024", "1,024", "at", "most"])
        self.assertNotIn("the exchange and the update take", out)

    def test_json_and_text_have_the_same_plan(self):
        plan = self.json_of("--preset", "7b", "--ranks", "64")
        self.assertEqual((plan["ranks"], plan["hosts"], plan["sequences_per_rank"]), (64, 8, 16))
        usual = plan["shard"]["optimizer"]
        self.assertEqual(round(usual["memory_bytes"]["total"] / 2**30, 1), 62.6)
        self.assertEqual(usual["memory_bytes"]["total"],
                         sum(value for key, value in usual["memory_bytes"].items() if key != "total"))
        step = usual["step_s"]
        self.assertAlmostEqual(step["total"], step["compute"] + step["exposed"] + step["update"])
        self.assertAlmostEqual(usual["tokens_per_second"], plan["step_tokens"] / step["total"])
        self.assertAlmostEqual(usual["run_s"], plan["steps"] * step["total"])
        alone = self.json_of("--preset", "7b")
        for key in ("parameters", "flops_per_token", "steps"):
            self.assertEqual(plan[key], alone[key])

    def test_a_slow_network_has_a_verdict(self):
        fast = (ROOT / "machines/h200.toml").read_text()
        self.write("slow.toml", fast.replace("between_hosts_bandwidth = 45e9",
                                             "between_hosts_bandwidth = 0.35e9"))
        arguments = ("--preset", "7b", "--ranks", "32", "--set", "train.micro_batch=4", "--machine",
                     "slow.toml")
        out, _ = self.succeed("plan", *arguments)
        self.assertIn("\nthe exchange and the update take 49.8 % of a step: fewer ranks, a larger "
                      "train.batch or a faster network would be more efficient\n", out)
        self.assertEqual(self.json_of(*arguments)["shard"]["optimizer"]["ranks_at_90_percent"], 8)

    def test_a_model_without_room_has_a_verdict(self):
        larger = ("--set", "model.layers=64", "--set", "model.recompute=block", "--set")
        for more, advice in (((), "activation checkpointing (model.recompute=block), "),  # a micro-batch of 1
                             ((*larger, "train.micro_batch=2"), "fewer sequences at once (train.micro_batch), "),
                             ((*larger, "train.micro_batch=1"), "")):
            out, _ = self.succeed("plan", "--preset", "7b", "--ranks", "1", *more)
            self.assertIn(f"\nit does not fit: {advice}more ranks or a smaller model may fit\n", out)

    def test_needs_no_processor_with_bfloat16(self):
        self.succeed("plan", "--preset", "nano", "--ranks", "2", "--set", "train.precision=bfloat16")

    def test_mistakes(self):
        self.write("half.toml", 'title = "x"\n')
        need = "--hosts and --machine need --ranks, whose machines they describe; add --ranks"
        self.refuse_each([
            (64, need, "plan", "--hosts", "2"),
            (64, need, "plan", "--machine", "h100"),
            (64, "--device has no effect with --ranks; leave it out",
             "plan", "--ranks", "2", "--device", "cpu"),
            (64, '--machine: no machine is named "h300"; did you mean "h100"? known: h100, h200; or name '
             "a TOML file", "plan", "--ranks", "2", "--machine", "h300"),
            (74, "none.toml: cannot open: No such file or directory",
             "plan", "--ranks", "2", "--machine", "none.toml"),
            (64, "half.toml: a machine must have the key precision, but the file has none; "
             "docs/plan_ranks.md lists the keys", "plan", "--ranks", "2", "--machine", "half.toml"),
            (64, "--ranks 12 must fill hosts of 8 ranks (h200), but does not; name --hosts",
             "plan", "--preset", "7b", "--ranks", "12"),
            (64, "3 ranks need 3 gradient shards, which do not divide train.batch = 1024; use 2 ranks, or another "
             "train.batch",
             "plan", "--preset", "7b", "--ranks", "3")])


if __name__ == "__main__":
    program.main()
