#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tasks and texts by name: in training, in eval, in the report, in studies."""
import gzip
import json
import re
import math
import struct

import program
from program import folder_of, lines_of, metrics

QUESTIONS = [  # context, choices, index of the right one
    ("The old baker sees", [" the river", " xq zv kj"], 0),
    ("A cat paints", [" qqqq zzzz", " two dogs", " jjjj vvvv"], 1),
    ("Nobody follows", [" an empty street", " zzz xxx qqq"], 0),
    ("My neighbour sells", [" the moon", " wvwv kzkz"], 0),
]


def request(document, choice, context, continuation, gold):
    return {"request_type": "loglikelihood", "doc": {}, "doc_id": document, "idx": choice, "label": gold,
            "request": {"context": context, "continuation": continuation}}


def requests():
    return [request(number, choice, context, text, gold) for number, (context, choices, gold) in enumerate(QUESTIONS)
            for choice, text in enumerate(choices)]


def is_bfloat16(value):
    """Whether bfloat16 has this number: the lower half of its float32 is 0."""
    low, high = struct.unpack("<HH", struct.pack("<f", value))
    return low == 0 and struct.unpack("<f", struct.pack("<HH", 0, high))[0] == value


class Tasks(program.Case):
    """One model and one task of four questions, of which the trained words are the right choices."""

    def prepare(self):
        self.write_task("quiz.jsonl", requests())
        self.train("run", train_steps=60, schedule_peak=0.01, schedule_warmup=5, checkpoint_every=30,
                   evaluate_task_every=30, evaluate_tasks="quiz.jsonl",
                   evaluate_texts='{ again = "book.txt" }')

    def write_task(self, name, rows):
        self.write(name, "".join(json.dumps(row) + "\n" for row in rows))

    def eval(self, *arguments):
        return json.loads(self.succeed("eval", "--run", "run", "--json", *arguments)[0])

    def test_training_records_tasks_and_texts(self):
        lines = lines_of(self.folder / "run/evaluations.jsonl")
        self.assertEqual(sorted({line["step"] for line in lines}), [30, 60])
        last = {line["metric"]: line for line in lines if line["step"] == 60}
        self.assertEqual(list(last), ["acc", "len_norm", "ce_loss", "bpb", "soft", "soft_log"])
        self.assertEqual((last["acc"]["value"], last["acc"]["n"], last["acc"]["correct"]), (1, 4, "f"))
        self.assertAlmostEqual(last["acc"]["chance"], (0.5 + 1 / 3 + 0.5 + 0.5) / 4)
        texts = [line["texts"]["again"]["text_loss"] for line in metrics(self.folder / "run") if "texts" in line]
        self.assertTrue(texts and all(0 < loss < 10 for loss in texts))

    def test_eval_has_the_scores_of_the_training(self):
        recorded = [line for line in lines_of(self.folder / "run/evaluations.jsonl") if line["step"] == 60]
        wanted = [line | {"command": "eval"} for line in recorded[:6]]
        self.assertEqual(self.eval("--task", "quiz.jsonl")["tasks"], wanted)

    def test_eval_of_all_checkpoints(self):
        results = self.eval("--task", "quiz.jsonl", "--checkpoint", "all")
        self.assertEqual([each["step"] for each in results], [30, 60])
        self.assertNotIn("val_loss", results[0])
        self.assertEqual(self.eval("--task", "quiz.jsonl", "--checkpoint", "step-00000030")["step"], 30)
        self.assertEqual(self.eval("--checkpoint", 30)["step"], 30)

    def test_a_damaged_checkpoint_is_left_out_of_all(self):
        damaged = folder_of(self.folder / "run", 30) / "model.safetensors"
        damaged.write_bytes(damaged.read_bytes()[:-1])
        done = self.evenkeel("eval", "--run", "run", "--json", "--task", "quiz.jsonl", "--checkpoint", "all")
        self.assertEqual(done.returncode, 77)
        self.assertEqual([each["step"] for each in json.loads(done.stdout)], [60])
        self.assertRegex(done.stderr.decode(), r"step-00000030.*model\.safetensors.*; left out\n")

    def test_scores_are_those_of_the_loss(self):
        """The text of a row alone has the log-probability of its tokens: -loss * tokens."""
        self.write_task("alone.jsonl", [request(0, 0, "", "The old baker", 0), request(0, 1, "", "zzz", 0)])
        self.eval("--task", "alone.jsonl", "--rows", "rows.jsonl", "--set", "train.precision=float64")
        row = lines_of(self.folder / "rows.jsonl")[0]
        self.write("one.txt", "The old baker")
        text = self.eval("--set", "data.validation=one.txt", "--set", "train.precision=float64")
        # The text ends with an end-of-text token, which the row does not have.
        self.assertEqual(row["tokens"], text["tokens"] - 1)
        self.assertLess(-row["log_probability"], text["val_loss"] * text["tokens"])
        self.write_task("whole.jsonl", [request(0, 0, "The old", " baker", 0), request(0, 1, "The old", " zzz", 0)])
        self.eval("--task", "whole.jsonl", "--rows", "parts.jsonl", "--set", "train.precision=float64")
        self.write_task("first.jsonl", [request(0, 0, "", "The old", 0), request(0, 1, "", " zzz", 0)])
        self.eval("--task", "first.jsonl", "--rows", "first_rows.jsonl", "--set", "train.precision=float64")
        parts = [lines_of(self.folder / name)[0]["log_probability"] for name in ("parts.jsonl", "first_rows.jsonl")]
        self.assertAlmostEqual(sum(parts), row["log_probability"], delta=1e-9)

    def test_rules_have_their_metrics(self):
        lengths = self.eval("--task", "quiz.jsonl", "--set", "evaluate.rule=olmo_v2")["tasks"]
        first = self.eval("--task", "quiz.jsonl")["tasks"]
        value = {(line["rule"], line["metric"]): line["value"] for line in lengths + first}
        self.assertLess(value["olmo_v2", "bpb"], value["olmo", "bpb"])
        names = [line["metric"] for line in self.eval("--task", "quiz.jsonl", "--set", "evaluate.rule=lm_eval")["tasks"]]
        self.assertEqual(names, ["acc", "acc_norm", "acc_bytes", "brier", "bpb"])

    def test_the_precision_of_scores(self):
        """evaluate.score_precision rounds log-probabilities of rows, and quotients of them, or does not."""
        def scores(precision):
            lines = self.eval("--task", "one.jsonl", "--rows", precision, "--set",
                              f"evaluate.score_precision={precision}")["tasks"]
            self.assertEqual({line["score_precision"] for line in lines}, {precision})
            rows = [row["log_probability"] for row in lines_of(self.folder / precision)]
            return rows, {line["metric"]: line["value"] for line in lines}
        self.write_task("one.jsonl", requests()[:2])  # the mean over one document is its own value
        (wide, of_wide), (narrow, of_narrow) = scores("float32"), scores("bfloat16")
        self.assertEqual([len(wide), len(narrow)], [2, 2])
        for one, two in zip(wide, narrow):
            self.assertEqual((is_bfloat16(one), is_bfloat16(two)), (False, True), (one, two))
            self.assertAlmostEqual(one, two, delta=0.1 * abs(one))
        for metric in ("ce_loss", "bpb"):
            self.assertTrue(is_bfloat16(of_narrow[metric]), of_narrow)
            self.assertFalse(is_bfloat16(of_wide[metric]), of_wide)

    def test_first_documents_and_truncated_contexts(self):
        result = self.eval("--task", "quiz.jsonl", "--set", "evaluate.task_documents=2",
                           "--set", "evaluate.max_context=12")["tasks"][0]
        self.assertEqual((result["n"], result["max_context"]), (2, 12))
        self.assertGreater(result["truncated"], 0)

    def test_the_table_and_the_report(self):
        table = self.succeed("eval", "--run", "run", "--task", "quiz.jsonl")[0]
        self.assertRegex(table, r"quiz\.jsonl +acc +100\.00 % +0\.00 % +45\.83 % +\d+\.\d{4} +4\n")
        page = (self.folder / "run/report.html").read_text()
        self.assertIn("Accuracy by task", page)
        self.assertIn("Loss by text", page)

    def test_a_task_of_letters_is_refused_before_training(self):
        self.write_task("letters.jsonl", [request(0, 0, "a", "A", 0), request(0, 1, "a", "B", 0)])
        self.refuse(65, 'letters.jsonl: document 0 has a choice of one character, and the rule "olmo" does not count the '
                    'first one; begin choices with a space, or set evaluate.rule = "olmo_v2"',
                    "train", "--quiet", "--run", "letters", *program.small(evaluate_tasks="letters.jsonl"))

    def test_rows_that_cannot_be_written_are_refused_first(self):
        done = self.evenkeel("eval", "--run", "run", "--task", "quiz.jsonl", "--rows", "none/rows.jsonl")
        self.assertEqual((done.returncode, done.stdout), (74, b""))
        self.assertEqual(done.stderr.count(b"\n"), 1)

    def test_a_mean_of_several_accuracies(self):
        self.write_task("other.jsonl", requests())
        table = self.succeed("eval", "--run", "run", "--task", "quiz.jsonl", "--task", "other.jsonl")[0]
        self.assertIn("mean of 2 accuracies: 100.00 %", table)

    def test_one_document_has_no_standard_error(self):
        self.write_task("one.jsonl", requests()[:2])
        table = self.succeed("eval", "--run", "run", "--task", "one.jsonl")[0]
        self.assertRegex(table, r"one\.jsonl +acc +100\.00 % +- ")
        lines = [line for line in lines_of(self.folder / "run/evaluations.jsonl") if line["label"] == "one.jsonl"]
        self.assertEqual({line["stderr"] for line in lines}, {None})

    def test_rows_are_no_task_and_need_one(self):
        before = (self.folder / "quiz.jsonl").read_bytes()
        self.refuse(64, "--rows must be another file than the task quiz.jsonl; name a new file", "eval", "--run", "run",
                    "--task", "quiz.jsonl", "--rows", "quiz.jsonl")
        self.assertEqual((self.folder / "quiz.jsonl").read_bytes(), before)
        self.write("mine.jsonl", "mine")
        self.refuse(64, "--rows needs a task; set --task or evaluate.tasks", "eval", "--run", "run", "--quiet",
                    "--set", "evaluate.tasks=none", "--rows", "mine.jsonl")
        self.assertEqual((self.folder / "mine.jsonl").read_text(), "mine")

    def test_labels_are_listed(self):
        lines = self.succeed("eval", "--list-tasks")[0].splitlines()
        self.assertEqual(lines[0].split(), ["name", "metric"])
        self.assertIn("(group of 10 labels)", next(line for line in lines if line.startswith("core ")))
        found = json.loads(self.succeed("eval", "--list-tasks", "--json")[0])
        self.assertEqual(len(found), 252)
        self.assertIn({"label": "mrpc", "metric": "f1"}, found)

    def test_texts_by_name(self):
        result = self.eval("--set", "evaluate.tasks=none")["texts"]["again"]
        self.assertTrue(math.isfinite(result["text_loss"]))
        self.assertEqual(result["documents"], 1)

    def test_what_cannot_be_scored(self):
        self.write_task("twice.jsonl", requests() + [request(0, 0, "x", " other", 0)])
        self.write_task("hole.jsonl", [row for row in requests() if (row["doc_id"], row["idx"]) != (1, 0)])
        self.write_task("long.jsonl", [request(7, 0, "a", " b" * 40, 0), request(7, 1, "a", " b", 0)])
        (self.folder / "cut.jsonl.gz").write_bytes(gzip.compress(json.dumps(requests()[0]).encode() * 50, mtime=0)[:-20])
        self.refuse_each([
            (65, "twice.jsonl:10: document 0: choice 0 must have the text of line 1, but has another; give every "
                 'row its own "doc_id" and "idx"', "eval", "--run", "run", "--task", "twice.jsonl"),
            (65, "hole.jsonl:3: document 1: choice 0 is missing before choice 1", "eval", "--run", "run", "--task", "hole.jsonl"),
            (65, "long.jsonl: document 7 has a continuation of 80 tokens, but at most 32 fit; raise "
                 "evaluate.max_context", "eval", "--run", "run", "--task", "long.jsonl"),
            (65, "cut.jsonl.gz: the gzip data end too early, after 156 bytes; copy or download the file again", "eval", "--run", "run", "--task", "cut.jsonl.gz"),
            (64, 'no task is named "hellaswog", and the folder of tasks nowhere is missing; set evaluate.task_folder or '
                 'EVENKEEL_TASKS to a folder of tasks; did you mean "hellaswag"? `evenkeel eval --list-tasks` '
                 'lists all',
             "eval", "--run", "run", "--task", "hellaswog", "--set", "evaluate.task_folder=nowhere"),
            (77, "run: has no checkpoint of step 31, but of: 30, 60",
             "eval", "--run", "run", "--checkpoint", "31"),
            (64, '--checkpoint must be "all" or a step, as 200 or step-00000200, but is "last"',
             "eval", "--run", "run", "--checkpoint", "last"),
        ])

    def test_a_resumed_run_has_each_score_once(self):
        self.train("two", train_steps=20, checkpoint_every=10, evaluate_task_every=10, evaluate_tasks="quiz.jsonl")
        self.succeed("train", "--quiet", "--run", "two", "--set", "train.steps=30")
        steps = [line["step"] for line in lines_of(self.folder / "two/evaluations.jsonl") if line["metric"] == "acc"]
        self.assertEqual(steps, [10, 20, 30])

    def refuse_resume(self, command, what, word):
        done = self.evenkeel(*command)
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertRegex(done.stderr.decode().splitlines()[-1],
                         rf'^evenkeel: two: the digest of {what} was "\w{{32}}" when '
                         r'provenance\.json was written, but is "\w{32}" now; '
                         rf"restore it, or allow it with --override {re.escape(word)}$")

    def test_a_resumed_run_compares_its_texts_and_tasks(self):
        self.write("other.txt", program.BOOK)
        run = self.train("two", train_steps=2, evaluate_tasks="quiz.jsonl", evaluate_texts='{ other = "other.txt" }')
        more = ("train", "--quiet", "--run", "two", "--set", "train.steps=4")
        for name, what in (("other.txt", r"texts other \(other\.txt\)"), ("quiz.jsonl", r"tasks quiz\.jsonl")):
            before = (self.folder / name).read_bytes()
            self.write(name, before.replace(b"cat", b"dog"))
            self.refuse_resume(more, rf"evaluate\.{what}", "data")
            self.write(name, before)
        self.succeed(*more)
        self.write("other.txt", program.BOOK.upper())
        self.succeed(*more[:-1], "train.steps=6", "--override", "data")
        self.succeed(*more[:-1], "train.steps=8")  # the digest of the override is now that of the run
        change, = [each for each in json.loads((run / "provenance.json").read_text())["changes"]
                   if each["what"] == "evaluate.texts other (other.txt)"]
        self.assertEqual(change["step"], 4)
        self.assertNotIn("Settings changed", (run / "report.html").read_text())

    def test_a_resumed_run_compares_data_ood(self):
        self.write("other.txt", program.BOOK)
        self.write("new.txt", program.BOOK)
        run = self.train("two", train_steps=2, data_ood="other.txt")
        more = ("train", "--quiet", "--run", "two", "--set", "train.steps=4")
        self.write("other.txt", program.BOOK.upper())
        self.refuse_resume(more, r"data\.ood other\.txt", "data.ood")
        self.succeed(*more, "--override", "data.ood")
        change, = [each for each in json.loads((run / "provenance.json").read_text())["changes"]
                   if each["what"].startswith("data.ood")]
        self.assertEqual((change["step"], change["what"]), (2, "data.ood other.txt"))
        self.succeed(*more[:-1], "train.steps=6", "--set", "data.ood=new.txt", "--override", "data.ood")
        self.assertNotIn("Settings changed", (run / "report.html").read_text())

    def test_eval_warns_of_texts_and_tasks_that_have_changed(self):
        self.write("other.txt", program.BOOK)
        self.train("two", train_steps=2, evaluate_tasks="quiz.jsonl", evaluate_texts='{ other = "other.txt" }')
        command = ["eval", "--run", "two", "--quiet"]
        self.assertEqual(self.succeed(*command)[1], "")
        quiz = (self.folder / "quiz.jsonl").read_bytes()
        self.write("quiz.jsonl", quiz.replace(b"cat", b"dog"))
        of_quiz = (r'warning: two: the digest of evaluate\.tasks quiz\.jsonl was "\w{32}" when provenance\.json was '
                   r'written, but is "\w{32}" now; the results do not compare with those of the run\n')
        self.assertRegex(self.succeed(*command, "--task", "quiz.jsonl")[1], f"^{of_quiz}$")
        self.write("other.txt", program.BOOK.upper())
        of_other = of_quiz.replace(r"tasks quiz\.jsonl", r"texts other \(other\.txt\)")
        self.assertRegex(self.succeed(*command)[1], f"^{of_other}{of_quiz}$")
        self.write("quiz.jsonl", quiz)
        self.write("new.txt", program.BOOK)
        self.assertEqual(self.succeed(*command, "--set", 'evaluate.texts={ other = "new.txt" }')[1], "")

    def test_a_resumed_run_takes_other_texts_and_tasks(self):
        self.write("other.txt", program.BOOK.upper())
        self.train("two", train_steps=2, evaluate_tasks="quiz.jsonl", evaluate_texts='{ other = "book.txt" }')
        self.write_task("more.jsonl", requests()[:2])
        self.succeed("train", "--quiet", "--run", "two", *program.settings({
            "train.steps": 4, "evaluate.tasks": "more.jsonl", "evaluate.texts": '{ other = "other.txt" }'}))

    def test_a_change_of_a_text_that_no_checkpoint_has_stays_recorded(self):
        self.write("other.txt", program.BOOK)
        run = self.train("two", train_steps=2, checkpoint_every=0, evaluate_texts='{ other = "other.txt" }')
        changes = [{"step": 2, "what": "evaluate.texts other (other.txt)", "before": "a", "after": "b"}]
        provenance = json.loads((run / "provenance.json").read_text())  # as a resume that was killed left it
        (run / "provenance.json").write_text(json.dumps(provenance | {"changes": changes}))
        self.succeed("train", "--quiet", "--run", "two", "--set", "train.steps=4")
        after = json.loads((run / "provenance.json").read_text())["changes"]
        self.assertEqual([each for each in after if each["what"].startswith("evaluate")], changes)

    def test_a_signal_ends_the_scoring(self):
        self.write_task("long.jsonl", [request(number, choice, f"question {number}", f" answer {choice} of {number}", 0)
                                       for number in range(20000) for choice in range(2)])
        process = self.start("train", "--run", "long", *program.small(
            train_steps=12, log_every=1, checkpoint_every=1, evaluate_task_every=10, evaluate_tasks="long.jsonl"))
        metrics_file = self.folder / "long/metrics.jsonl"
        self.until(lambda: any(line["step"] == 10 for line in lines_of(metrics_file)), process)
        error = self.stop(process)
        self.assertIn("step 10: the tasks are not scored; the next start does it", error)
        self.write_task("long.jsonl", requests())  # the rest of the test is fast
        self.succeed("train", "--quiet", "--run", "long", "--override", "data")
        lines = lines_of(self.folder / "long/evaluations.jsonl")
        self.assertEqual([line["step"] for line in lines if line["metric"] == "acc"], [10, 12])


if __name__ == "__main__":
    program.main()
