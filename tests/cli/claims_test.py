#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`probe theory` and `probe invariance`: tables of claims, held or refuted."""
import json
import re

import program

PARTS = ["theory", "invariance"]
QUICK = ["--seeds", 1, "--sequence", 3, "--width", 4]


class Claims(program.Case):
    def check_table(self, out):
        """A line for each claim, each held, and a last line that counts them."""
        count = re.search(r"\n(\d+) claims: (\d+) held, 0 refuted\n$", out)
        self.assertEqual(count[1], count[2])
        lines = out[out.index("\nclaim "):].splitlines()[2:-1]
        self.assertEqual(len(lines), int(count[1]))
        for line in lines:
            self.assertRegex(line, r"^\S.+  [\d.e+-]+ +(<= |>= |1 \+- |\d+ \+- )[\d.e+-]+ +held$")

    def check_json(self, text):
        result = json.loads(text)
        self.assertIs(result["held"], True)
        for claim in result["claims"]:
            self.assertEqual(list(claim), ["subject", "statement", "measured", "expected", "limit",
                                           "held"])
            self.assertIs(claim["held"], True)
        return result

    def test_theory_as_a_table(self):
        out = self.succeed("probe", "theory", *QUICK)[0]
        self.assertRegex(out, r"^Jacobians of one head, s = 3, d = dk = 4, seeds 1 to 1\n")
        rows = re.findall(r"^(Pre|Pre \+ QK|QKV) +dS/d(W_[OVQK])( +[\d.e+-]+){6}$", out, re.MULTILINE)
        self.assertEqual(len(rows), 12)
        self.check_table(out)

    def test_theory_as_json(self):
        result = self.check_json(self.succeed("probe", "theory", *QUICK, "--json")[0])
        self.assertEqual((result["sequence"], result["width"], result["seeds"]), (3, 4, 1))
        self.assertEqual(len(result["jacobians"]), 12)
        for row in result["jacobians"]:
            self.assertLess(row["norm"], row["corrected_bound"])
        of_models = [claim for claim in result["claims"] if claim["subject"].startswith("a model of ")]
        self.assertEqual(len(of_models), 15)

    def test_theory_gives_the_same_twice(self):
        arguments = ["probe", "theory", *QUICK, "--json"]
        one, two = self.each(lambda _: self.succeed(*arguments)[0], range(2))
        self.assertEqual(one, two)

    def test_invariance_as_a_table(self):
        out = self.succeed("probe", "invariance")[0]
        self.assertRegex(out, r"\nbatch_norm +(= = x = x = = = = x x x x x x x)\n")
        self.assertRegex(out, r"\nlayer_norm +(x = = = = = x x = = = = = x x =)\n")
        self.assertRegex(out, r"\nrms_norm +(x = x x x x x x = = = x = x x =)\n")
        self.check_table(out)

    def test_invariance_as_json(self):
        claims = self.check_json(self.succeed("probe", "invariance", "--json")[0])["claims"]
        schemes = [scheme["name"] for scheme in json.loads(self.succeed("schemes", "--json")[0])]
        leaks = {claim["subject"]: claim["expected"].startswith(">=") for claim in claims
                 if "changed token" in claim["statement"]}
        self.assertEqual(sorted(leaks), sorted(f"{name}, {mode}" for name in schemes
                                               for mode in ("training", "evaluation")))
        self.assertEqual(sorted(name for name, leak in leaks.items() if leak),
                         ["batch_norm, training", "batch_renorm, training",
                          "instance_norm, evaluation", "instance_norm, training"])

    def test_help_has_examples(self):
        for part in PARTS:
            out = self.succeed("probe", part, "--help")[0]
            self.assertIn(f"\nExamples:\n  evenkeel probe {part}", out)
            self.assertLessEqual(max(map(len, out.splitlines())), 100)


class BadInput(program.Case):
    def test_sizes_out_of_range(self):
        for option, value, message in [
                ("--seeds", 0, "--seeds must be 1 to 1000, but is 0"),
                ("--seeds", 1001, "--seeds must be 1 to 1000, but is 1001"),
                ("--sequence", 1, "--sequence must be 2 to 32, but is 1"),
                ("--sequence", 33, "--sequence must be 2 to 32, but is 33"),
                ("--width", -3, "--width must be 2 to 32, but is -3"),
                ("--width", 64, "--width must be 2 to 32, but is 64"),
                *(("--width", word, "--width: must be a whole number of at most 9223372036854775807, "
                   f"but is {word}; see `evenkeel probe theory --help`")
                  for word in ("x", "2.5", "010", "99999999999999999999"))]:
            with self.subTest(option=option, value=value):
                self.refuse(64, message, "probe", "theory", option, value)

    def test_options_without_effect(self):
        for part, option in [("theory", "--scheme"), ("theory", "--quiet"), ("invariance", "--seeds"),
                             ("invariance", "--run")]:
            with self.subTest(part=part, option=option):
                done = self.evenkeel("probe", part, option, "x")
                self.assertEqual(done.returncode, 64)
                self.assertRegex(done.stderr.decode(), rf"^evenkeel: probe {part} has no option {option}; "
                                 rf".*see `evenkeel probe {part} --help`\n$")

    def test_options_before_the_part(self):
        self.refuse(64, "--scheme before theory has no effect; `evenkeel probe theory --help` lists its "
                    "options", "probe", "--scheme", "pre_norm", "theory")
        self.refuse(64, "--json before invariance has no effect; `evenkeel probe invariance --help` "
                    "lists its options", "probe", "--json", "invariance")


if __name__ == "__main__":
    program.main()
