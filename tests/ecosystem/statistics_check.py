#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges made-up results with `evenkeel study --from`, and compares each verdict with scipy and statsmodels.

Usage: tests/ecosystem/statistics_check.py PATH_OF_EVENKEEL [STUDIES]

The packages are those of tools/ecosystem_statistics_requirements.txt. A study has schemes at two depths and three
learning rates, 3 to 12 seeds, and random losses, of which some failed. Its claims are of every kind, of one run and of
all rates, and differences of differences of the kind "lower". The p-value of an "alike" claim's opposite is in its
verdict alone. Prints one line; the exit code is 1 if a verdict, a p-value or an interval differs.
"""
import csv
import itertools
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
from scipy import stats
from statsmodels.stats import multitest, weightstats

SCHEMES, LAYERS, RATES = ["pre_norm", "post_norm", "hybrid_norm"], [2, 4], [0.001, 0.002, 0.004]
CAP, LEVEL, MARGIN = 4.0, 0.05, 0.3
SIGNS = [1, -1, -1, 1]           # of the four arms of a difference of differences
PRECISE = 1e-9


def made_losses(random, seeds):
    """{(scheme, layers, rate): a loss of each seed; NaN: failed}."""
    failing = random.choice([0, 0.1, 0.5])
    out = {}
    for arm in itertools.product(SCHEMES, LAYERS, RATES):
        losses = 2 + random.choice([0, 0.2, 1]) * random.normal() + random.choice([0.05, 0.3]) * random.normal(size=seeds)
        out[arm] = np.where(random.random(seeds) < random.choice([0, failing]), np.nan, np.clip(losses, 0.5, 3.9))
    return out


class Verdict:
    """What is expected of a claim. p: {name of the hypothesis: p before correction}."""
    def __init__(self, claim, differences=None):
        self.claim, self.p, self.by_failures, self.is_tested = claim, {}, False, True
        self.differences, self.difference, self.fisher = differences, None, None
        if differences is not None and len(differences) >= 2:
            self.difference = float(np.mean(differences))
            self.interval = weightstats.DescrStatsW(differences).tconfint_mean(alpha=LEVEL)
            with warnings.catch_warnings(action="ignore"):  # of differences that vary by rounding
                self.t_p = float(stats.ttest_1samp(differences, 0).pvalue)

    def sign_flip(self):
        """The p-value in which the sign-flip test replaces the t-test, before correction."""
        if self.difference is None or not self.is_tested:
            return self.p["lower"]
        total = abs(self.differences.sum()) - PRECISE
        sums = [abs(np.dot(signs, self.differences)) for signs in itertools.product([1, -1], repeat=len(self.differences))]
        flip = float(np.mean(np.array(sums) >= total))
        return flip if self.fisher is None else min(1, flip / 0.75, self.fisher / 0.25)


def finite(values):
    return values[np.isfinite(values)]


def with_failures(verdict, p, failed, other, seeds):
    """p of a difference, combined with Fisher's test of the numbers of failures."""
    if failed == other:
        return p
    fisher = verdict.fisher = stats.fisher_exact([[failed, seeds - failed], [other, seeds - other]]).pvalue
    if verdict.difference is None:
        verdict.by_failures = True
        return fisher
    verdict.by_failures = fisher / 0.25 < p / 0.75
    return min(1, p / 0.75, fisher / 0.25)


def notably(failed, other, seeds):
    return failed > other and stats.fisher_exact([[failed, seeds - failed], [other, seeds - other]]).pvalue < 0.2


def lower(claim, ours, theirs, seeds, with_fisher=True):
    verdict = Verdict(claim, finite(ours - theirs))
    failed, other = (int(np.isnan(each).sum()) if with_fisher else 0 for each in (ours, theirs))
    if verdict.difference is None and failed == other:
        verdict.p, verdict.outcome = {"lower": 1}, lambda p: "not measured"
        return verdict
    p = verdict.t_p if verdict.difference is not None else 1
    verdict.p = {"lower": with_failures(verdict, p, failed, other, seeds)}

    def outcome(p):
        if p["lower"] >= LEVEL:
            return "inconclusive"
        if verdict.by_failures:
            return "supported" if failed < other else "contradicted"
        better, worse = (failed, other) if verdict.difference < 0 else (other, failed)
        word = "supported" if verdict.difference < 0 else "contradicted"
        return "inconclusive" if notably(better, worse, seeds) else word
    verdict.outcome = outcome
    return verdict


def lower_at_two_places(claim, four, signs, seeds):
    """A difference of differences of four arms: not tested if a run failed."""
    verdict = lower(claim, sum(sign * each for sign, each in zip(signs, four)), np.zeros(seeds), seeds, False)
    if any(np.isnan(each).any() for each in four):
        verdict.p, verdict.outcome, verdict.is_tested = {"lower": 1}, lambda p: "not tested", False
    return verdict


def alike(claim, ours, theirs, seeds):
    verdict = Verdict(claim, finite(ours - theirs))
    failed, other = (int(np.isnan(each).sum()) for each in (ours, theirs))
    within = beyond = 1
    if verdict.difference is not None:
        d = verdict.differences
        if failed == other:
            within = float(weightstats.DescrStatsW(d).ttost_mean(-MARGIN, MARGIN)[0])
        error, excess = d.std(ddof=1) / math.sqrt(len(d)), abs(d.mean())
        tails = stats.t(len(d) - 1)
        beyond = min(1, float(tails.sf((excess - MARGIN) / error) + tails.sf((excess + MARGIN) / error)))
    beyond = with_failures(verdict, beyond, failed, other, seeds)
    verdict.p = {"within": within, "beyond": beyond}

    def outcome(p):
        if verdict.difference is None and not verdict.by_failures:
            return "not measured"
        return "supported" if p["within"] < LEVEL else "contradicted" if p["beyond"] < LEVEL else "inconclusive"
    verdict.outcome = outcome
    return verdict


def by_sign(claim, agree, disagree):
    verdict = Verdict(claim)
    verdict.p = {"sign": stats.binomtest(agree, agree + disagree).pvalue if agree + disagree else 1}
    word = "supported" if agree > disagree else "contradicted"
    verdict.outcome = lambda p: "inconclusive" if p["sign"] >= LEVEL else word
    return verdict


def best(losses):
    """The lowest mean of the seeds, with the deviations of the jackknife. losses: [seeds, rates]."""
    lowest = losses.mean(0).min()
    pseudo = [len(losses) * lowest - (len(losses) - 1) * np.delete(losses, seed, 0).mean(0).min() for seed in range(len(losses))]
    return np.array(pseudo) - np.mean(pseudo) + lowest


def sensitivity(losses):
    return np.trapezoid(losses, np.log(RATES), axis=1) / math.log(RATES[-1] / RATES[0]) - losses.min(1)


def expectations(losses, seeds):
    """[(claim as TOML, what is expected of it)]."""
    def swept(scheme, layers):
        return np.nan_to_num(np.array([losses[scheme, layers, rate] for rate in RATES]).T, nan=CAP)

    def pair(one, other, more):
        return f'of = {{ scheme = "{one}" }}\nthan = {{ scheme = "{other}" }}\n{more}\n'
    first, rate = SCHEMES[0], RATES[0]
    out = []
    for place, scheme in itertools.product(LAYERS, SCHEMES[1:]):
        at = f"at = {{ model.layers = {place}, schedule.peak = {rate} }}"
        ours, theirs = losses[scheme, place, rate], losses[first, place, rate]
        out.append(lower(pair(scheme, first, at), ours, theirs, seeds))
    for place in LAYERS:
        at = f"at = {{ model.layers = {place}, schedule.peak = {RATES[1]} }}"
        ours, theirs = losses[SCHEMES[1], place, RATES[1]], losses[first, place, RATES[1]]
        out.append(alike(pair(SCHEMES[1], first, f'{at}\nis = "alike"\nmargin = {MARGIN}'), ours, theirs, seeds))
    for kind in ("trains", "fails"):
        scheme = {"trains": SCHEMES[1], "fails": SCHEMES[2]}[kind]
        failed = int(np.isnan(losses[scheme, 2, rate]).sum())
        claim = f'of = {{ scheme = "{scheme}" }}\nis = "{kind}"\nat = {{ model.layers = 2, schedule.peak = {rate} }}\n'
        out.append(by_sign(claim, *((failed, seeds - failed) if kind == "fails" else (seeds - failed, failed))))

    def largest(scheme):
        trained = np.array([np.isfinite(losses[scheme, 2, rate]) for rate in RATES])
        return np.logical_and.accumulate(trained).sum(0)
    ours, theirs = largest(SCHEMES[1]), largest(first)
    further = f'is = "further"\nalong = "schedule.peak"\nat = {{ model.layers = 2 }}'
    out.append(by_sign(pair(SCHEMES[1], first, further), int((ours > theirs).sum()), int((ours < theirs).sum())))
    for word, value in (("best", best), ("sensitivity", sensitivity)):
        measure = f'measure = {{ over = "schedule.peak", as = "{word}", cap = {CAP} }}'
        ours, theirs = value(swept(SCHEMES[1], 2)), value(swept(first, 2))
        out.append(lower(pair(SCHEMES[1], first, f"{measure}\nat = {{ model.layers = 2 }}"), ours, theirs, seeds))
        four = [ours, theirs, value(swept(SCHEMES[1], 4)), value(swept(first, 4))]
        places = f"{measure}\nat = {{ model.layers = 2 }}\nthan_at = {{ model.layers = 4 }}"
        out.append(lower_at_two_places(pair(SCHEMES[1], first, places), four, SIGNS, seeds))
    ours, theirs = best(swept(SCHEMES[2], 4)), best(swept(first, 4))
    more = f'measure = {{ over = "schedule.peak", as = "best", cap = {CAP} }}\nis = "alike"\nmargin = {MARGIN}'
    out.append(alike(pair(SCHEMES[2], first, f"{more}\nat = {{ model.layers = 4 }}"), ours, theirs, seeds))
    at = f"at = {{ model.layers = 2, schedule.peak = {rate} }}\nthan_at = {{ model.layers = 4, schedule.peak = {rate} }}"
    four = [losses[scheme, place, rate] for place in LAYERS for scheme in (SCHEMES[1], first)]
    out.append(lower_at_two_places(pair(SCHEMES[1], first, at), four, SIGNS, seeds))
    return [each for each in out if each.difference is None or each.differences.std() > PRECISE]  # some vary by rounding


def corrected(all_p):
    """Holm's correction of [{name: p}]."""
    places = [(i, name) for i, each in enumerate(all_p) for name in each]
    after = multitest.multipletests([all_p[i][name] for i, name in places], method="holm")[1]
    out = [{} for _ in all_p]
    for (i, name), p in zip(places, after):
        out[i][name] = min(1, p)
    return out


def judged(program, folder, losses, claims, seeds):
    text = f"fails_above = {CAP}\nseeds = {list(range(1, seeds + 1))}\n[grid]\n"
    text += f"scheme = {json.dumps(SCHEMES)}\nmodel.layers = {LAYERS}\nschedule.peak = {RATES}\n"
    (folder / "made.toml").write_text(text + "".join(f'[[claims]]\nsays = "claim {i}"\n{each}' for i, each in enumerate(claims)))
    with open(folder / "runs.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["name", "scheme", "model.layers", "schedule.peak", "seed", "state", "why", "value", "training_loss",
                       "validation_loss", "parameters", "tokens", "folder"])
        for (scheme, layers, rate), values in losses.items():
            for seed, loss in enumerate(values, 1):
                state = ["finished", "", repr(float(loss))] if math.isfinite(loss) else ["failed", "not finite", ""]
                rows.writerow(["", scheme, layers, rate, seed, *state, "", state[2], 1000, 1000, "run"])
    command = [program, "study", folder / "made.toml", "--from", folder / "runs.csv", "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["verdicts"]


def mismatches(found, expected):
    """The names of the fields that differ, of each verdict."""
    after = corrected([each.p for each in expected])
    flips = corrected([{"lower": each.sign_flip()} if "lower" in each.p else each.p for each in expected])
    for verdict, each, p, flip in zip(found, expected, after, flips, strict=True):
        pairs = [("outcome", verdict["outcome"], each.outcome(p))]
        if each.difference is not None:
            pairs += [("difference", verdict["difference"], each.difference), ("low", verdict["low"], each.interval[0]),
                      ("high", verdict["high"], each.interval[1])]
            pairs += [("p", verdict["p"], p.get("lower", p.get("within")))] if each.is_tested else []
            has_flip = each.is_tested and "lower" in each.p
            pairs += [("sign_flip_p", verdict["sign_flip_p"], flip["lower"])] if has_flip else []
        for name, ours, theirs in pairs:
            same = ours == theirs if isinstance(ours, str) else math.isclose(ours, theirs, rel_tol=1e-6, abs_tol=PRECISE)
            if not same:
                yield f"{verdict['claim']} ({each.claim!r}): {name} is {ours}, by scipy and statsmodels {theirs}"


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    studies = int(sys.argv[2]) if len(sys.argv) > 2 else 120
    verdicts, wrong, outcomes = 0, [], {}
    with tempfile.TemporaryDirectory() as place:
        for number in range(studies):
            random = np.random.default_rng(number)
            seeds = int(random.integers(3, 13))
            losses = made_losses(random, seeds)
            expected = expectations(losses, seeds)
            found = judged(program, pathlib.Path(place), losses, [each.claim for each in expected], seeds)
            verdicts += len(found)
            for each in found:
                outcomes[each["outcome"]] = outcomes.get(each["outcome"], 0) + 1
            wrong += [f"study {number}, {seeds} seeds, {each}" for each in mismatches(found, expected)]
    print("\n".join(wrong[:20]))
    print(f"{studies} studies with {verdicts} verdicts ({outcomes}): {len(wrong)} mismatches")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
