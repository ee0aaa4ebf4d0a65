#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""generate, eval and probe of a trained model; a model whose training diverges."""
import json
import re

import program
from program import folder_of, metrics, small


def lines_of_documents(documents):
    """JSON lines with a document each."""
    return "".join(json.dumps({"text": each}) + "\n" for each in documents)


class TrainedModel(program.Case):
    """One model for all of these: they only read."""

    def prepare(self):
        self.train("run", train_steps=60, schedule_peak=0.01, schedule_warmup=5, evaluate_sequences=0)

    def generate(self, *arguments, tokens=40, **options):
        return self.succeed("generate", "--run", "run", "--tokens", tokens, *arguments, **options)[0]

    def test_generate_depends_on_nothing_but_its_seed(self):
        text = self.generate("--seed", 3)
        self.assertEqual(self.generate("--seed", 3), text)
        self.assertNotEqual(self.generate("--seed", 4), text)

    def test_generate_from_one_token_takes_the_likeliest(self):
        hot = ["--prompt", "The old", "--temperature", 1]
        likeliest = self.generate("--prompt", "The old", "--temperature", 0)
        for seed in (1, 2):
            with self.subTest(seed=seed):
                self.assertNotEqual(self.generate(*hot, "--seed", seed), likeliest)
                self.assertEqual(self.generate(*hot, "--seed", seed, "--top-k", 1), likeliest)
                self.assertEqual(self.generate(*hot, "--seed", seed, "--top-p", "0.000001"), likeliest)

    def test_generate_gives_the_same_text_without_the_cache(self):
        for temperature in (0, 0.8):
            arguments = ["--prompt", "The old", "--temperature", temperature]
            self.assertEqual(self.generate(*arguments, "--no-cache"), self.generate(*arguments))

    def test_generate_past_the_context_works_without_the_cache_too(self):
        arguments = ["--prompt", "The old", "--temperature", 0]
        self.assertEqual(self.generate(*arguments, "--no-cache", tokens=80),
                         self.generate(*arguments, tokens=80))

    def test_generate_says_what_the_model_sees_of_a_long_prompt(self):
        for size, message in ((41, "the prompt has 42 tokens; the model sees at most the last 32\n"), (31, "")):
            error = self.succeed("generate", "--run", "run", "--tokens", 1, "--prompt", program.BOOK[:size])[1]
            self.assertEqual(error, message)  # a begin token, and a token per byte

    def test_generate_of_an_earlier_checkpoint(self):
        self.train("two", train_steps=6, checkpoint_every=3, evaluate_sequences=0, schedule_peak=0.1)
        arguments = ["generate", "--run", "two", "--tokens", 200]
        early, late = (self.succeed(*arguments, "--checkpoint", step)[0] for step in (3, "step-00000006"))
        self.assertNotEqual(early, late)
        self.assertEqual(self.succeed(*arguments)[0], late)
        self.refuse(64, '--checkpoint must be a step, as 200 or step-00000200, but is "best"', *arguments,
                    "--checkpoint", "best")
        self.assertEqual(self.evenkeel(*arguments, "--checkpoint", 5).returncode, 77)

    def test_generate_writes_no_raw_bytes_as_json(self):
        done = self.evenkeel("generate", "--run", "run", "--raw", "--json")
        self.assertEqual((done.returncode, done.stdout), (64, b""), done.stderr)

    def test_generate_takes_its_prompt_from_the_option_or_a_pipe(self):
        text = self.generate("--prompt", "The old")
        self.assertTrue(text.startswith("The old"), text)
        self.assertEqual(self.generate(given=b"The old\n"), text)

    def texts(self, count, *arguments, **options):
        """The texts of --count. In float32 a text does not depend on the number of others, up to eight."""
        return json.loads(self.generate("--set", "train.precision=float32", "--count", count, "--json", *arguments,
                                        **options))

    def test_generate_writes_several_texts(self):
        texts = self.texts(3)
        self.assertEqual(len(set(texts)), 3)
        self.assertEqual(self.generate("--set", "train.precision=float32", "--count", 3), "\n\n".join(texts) + "\n")
        self.assertEqual(self.texts(1), texts[:1])
        stop = re.search("[a-z]{2}", texts[1][5:]).group()
        self.assertEqual(self.texts(3, "--stop", stop), [text.split(stop)[0] for text in texts])

    def test_generate_writes_more_texts_than_a_batch_has(self):
        few, many = (self.texts(count, tokens=3) for count in (33, 34))
        self.assertEqual((few, len(many)), (many[:33], 34))

    def test_quantized_weights(self):
        plain, int8 = (json.loads(self.succeed("eval", "--run", "run", "--json", "--quiet", *arguments)[0])["val_loss"]
                       for arguments in ([], ["--quantize", "int8"]))
        self.assertNotEqual(int8, plain)
        self.assertAlmostEqual(int8, plain, delta=0.01)
        out = self.succeed("eval", "--run", "run", "--quiet", "--quantize", "int8")[0]
        self.assertIn(f"\nweights      int8\n", out)
        self.assertIn(f"\nloss         {int8:.4f} nats per token\n", out)
        arguments = ["--prompt", "The old", "--quantize", "int8", "--temperature", 0]
        text = self.generate(*arguments)
        self.assertTrue(text.startswith("The old"), text)
        self.assertEqual(self.generate("--no-cache", *arguments), text)
        hot = ["--prompt", "The old", "--temperature", 3, "--set", "train.precision=float32"]
        self.assertNotEqual(self.generate(*hot, tokens=400), self.generate(*hot, "--quantize", "int8", tokens=400))
        self.refuse(64, "--quantize: int4 not in {int8}; see `evenkeel generate --help`", "generate", "--run", "run",
                    "--quantize", "int4")

    def test_eval_gives_the_last_validation_of_the_run(self):
        result = json.loads(self.succeed("eval", "--run", "run", "--json", "--quiet")[0])
        last = metrics(self.folder / "run")[-1]
        self.assertEqual({key: result[key] for key in last}, last)
        out = self.succeed("eval", "--run", "run", "--quiet")[0]
        self.assertIn(f"\nloss         {last['val_loss']:.4f} nats per token\n", out)

    def test_eval_says_its_precision(self):
        for precision in ("float32", "bfloat16", "float64"):
            arguments = ["eval", "--run", "run", "--quiet", "--sequences", 1, "--set", f"train.precision={precision}"]
            self.assertEqual(json.loads(self.succeed(*arguments, "--json")[0])["precision"], precision)
            self.assertEqual(self.succeed(*arguments)[0].splitlines()[1], f"precision    {precision}")
        self.assertIn(json.loads(self.succeed("eval", "--run", "run", "--quiet", "--json")[0])["precision"],
                      ("float32", "bfloat16"))  # of "auto"

    def test_export_takes_small_units_of_sizes(self):
        sizes = {}
        for unit in "Kk":
            self.succeed("export", "--run", "run", "--output", unit, "--quiet", "--shard", f"3{unit}")
            sizes[unit] = {each.name: each.stat().st_size for each in (self.folder / unit).glob("*.safetensors")}
        self.assertGreater(len(sizes["K"]), 2)
        self.assertEqual(sizes["k"], sizes["K"])

    def loss_of(self, is_masked, *documents):
        """The loss of documents in one window, in nats, with or without data.mask_documents."""
        name = "_".join(documents).replace(" ", "") + ".jsonl"
        self.write(name, lines_of_documents(documents))
        result = json.loads(self.succeed(
            "eval", "--run", "run", "--json", "--quiet", "--set", f"data.validation={name}",
            "--set", "train.precision=float64", "--set", f"data.mask_documents={is_masked}")[0])
        self.assertEqual(result["tokens"], sum(len(each) + 1 for each in documents))  # with end-of-text
        return result["val_loss"] * result["tokens"]

    def test_eval_of_masked_documents_reads_each_alone(self):
        """Both last documents begin with one letter, which is predicted at the end of the document before."""
        def difference(is_masked, *before):
            return self.loss_of(is_masked, *before, "the moon") - self.loss_of(is_masked, *before, "two dogs")
        alone = difference("true")
        self.assertAlmostEqual(difference("true", "A red house"), alone, delta=1e-9)
        self.assertGreater(abs(difference("false", "A red house") - alone), 1e-6)

    def test_training_with_masked_documents(self):
        """A window of 32 tokens has parts of several documents. Both operators of attention mask alike."""
        self.write("lines.jsonl", lines_of_documents(program.BOOK.splitlines()))

        def losses(run, **changed):
            lines = metrics(self.train(run, train_steps=2, train_batch=4, train_precision="float64", log_every=1,
                                       evaluate_sequences=0, data_train="lines.jsonl", **changed))
            return [line["loss"] for line in lines if "loss" in line] + [lines[-1]["val_loss"]]
        whole = losses("whole")
        masked = losses("masked", data_mask_documents="true")
        explicit = losses("explicit", data_mask_documents="true", kernels_attention="explicit")
        self.assertEqual([len(whole), len(masked), len(explicit)], [3, 3, 3])
        for one, two, other in zip(masked, explicit, whole):
            self.assertAlmostEqual(one, two, delta=1e-9)
            self.assertGreater(abs(one - other), 1e-6)
        arguments = ["eval", "--run", "masked", "--json", "--quiet"]
        self.assertEqual(json.loads(self.succeed(*arguments)[0])["val_loss"], masked[-1])
        other = json.loads(self.succeed(*arguments, "--set", "data.mask_documents=false")[0])
        self.assertGreater(abs(other["val_loss"] - masked[-1]), 1e-6)

    def test_eval_of_as_many_sequences_as_in_training(self):
        run = self.train("few", train_steps=3, train_precision="float32", evaluate_sequences=1)
        arguments = ["eval", "--run", "few", "--json", "--quiet"]
        few, all_of_it = (json.loads(self.succeed(*arguments, *more)[0])
                          for more in (["--sequences", 1], []))
        self.assertEqual(few["val_loss"], metrics(run)[-1]["val_loss"])
        self.assertLess(few["tokens"], all_of_it["tokens"])
        self.assertNotEqual(few["val_loss"], all_of_it["val_loss"])
        self.refuse(64, "--sequences must be >= 0 (0: all of the text), but is -1", *arguments,
                    "--sequences", -1)
        self.refuse(78, "few: the model was trained with evaluate.sequences = 1, not 2; "
                    "leave it out", *arguments, "--set", "evaluate.sequences=2")

    def test_eval_of_another_text_beside_it(self):
        alone = json.loads(self.succeed("eval", "--run", "run", "--json", "--quiet")[0])
        self.write("other.txt", "zzz " * 40)
        arguments = ["eval", "--run", "run", "--set", "data.ood=other.txt"]
        result = json.loads(self.succeed(*arguments, "--json")[0])
        self.assertEqual({key: result[key] for key in alone}, alone)
        self.assertEqual(set(result) - set(alone), {"ood_loss", "ood_bits_per_byte"})
        self.assertGreater(result["ood_loss"], result["val_loss"])
        out, stderr_text = self.succeed(*arguments)
        self.assertRegex(out, rf"\nout of distribution\n.*\nloss +{result['ood_loss']:.4f} ")
        self.assertRegex(stderr_text, r"^text   the last 11 % of book.txt .*\nood    other.txt ")

    def test_eval_of_another_text_alone(self):
        self.write("other.txt", "zzz " * 40)
        (self.folder / "book.txt").rename(self.folder / "away.txt")
        stderr_text = self.succeed("eval", "--run", "run", "--set", "data.validation=other.txt")[1]
        self.assertEqual(stderr_text, "text   other.txt (1 text), 1 document, 160 B\n")
        self.refuse(65, f"book.txt: {program.MISSING_OF_RUN}", "eval", "--run", "run")

    def test_what_the_model_was_not_trained_with(self):
        file = self.folder / "run/run.toml"
        file.write_text(file.read_text().replace("rope_theta = 10000.0", "rope_theta = 1.0"))
        for verb in ("eval", "generate", "probe"):
            with self.subTest(verb=verb):
                self.refuse(78, "run/run.toml: model.rope_theta = 1.0, but the model was trained with "
                            "10000.0; put that back", verb, "--run", "run")

    def test_zero_bytes_are_text(self):
        shown = self.evenkeel("generate", "--run", "run", "--tokens", 2, given=b"a\0b").stdout
        self.assertTrue(shown.decode().startswith("a\ufffdb"), shown)
        raw = self.evenkeel("generate", "--run", "run", "--tokens", 2, "--raw", given=b"a\0b").stdout
        self.assertTrue(raw.startswith(b"a\0b"), raw)

    def test_eval_in_a_wider_precision(self):
        arguments = ["eval", "--run", "run", "--json"]
        wide = json.loads(self.succeed(*arguments, "--set", "train.precision=float64")[0])
        narrow = json.loads(self.succeed(*arguments)[0])
        self.assertNotEqual(wide["val_loss"], narrow["val_loss"])
        self.assertAlmostEqual(wide["val_loss"], narrow["val_loss"], delta=1e-4)

    def test_eval_refuses_what_the_weights_were_not_made_for(self):
        self.refuse(78, 'run: the model was trained with scheme = "hybrid_norm_star", not '
                    '"pre_norm"; leave it out', "eval", "--run", "run", "--set", "scheme=pre_norm")
        self.refuse(78, "run: the model was trained with model.rope_theta = 10000.0, not 500.0"
                    "; leave it out", "eval", "--run", "run", "--set", "model.rope_theta=500")

    def test_eval_of_a_scheme_that_changes_with_the_step(self):
        run = self.train("pro", train_steps=3, scheme="prores", evaluate_sequences=0)
        result = json.loads(self.succeed("eval", "--run", "pro", "--json", "--quiet")[0])
        self.assertEqual(result["val_loss"], metrics(run)[-1]["val_loss"])
        sample = (run / "sample.txt").read_bytes()
        self.succeed("train", "--quiet", "--run", "pro")  # finished: nothing is trained
        self.assertEqual((run / "sample.txt").read_bytes(), sample)

    def test_eval_of_another_text(self):
        self.write("other.txt", "zzzz qqqq " * 50)
        arguments = ["eval", "--run", "run", "--json"]
        other = json.loads(self.succeed(*arguments, "--set", "data.validation=other.txt")[0])
        self.assertGreater(other["val_loss"], json.loads(self.succeed(*arguments)[0])["val_loss"])

    def test_reading_verbs_report_a_damaged_checkpoint(self):
        (folder_of(self.folder / "run", 60) / "state.json").write_text("{}")
        error = self.succeed("generate", "--run", "run", "--tokens", 1)[1]
        self.assertRegex(error, r"^checkpoints/step-00000060: state\.json must have \d+ bytes, but has "
                         r"2; skipped\n$")


class Divergence(program.Case):
    def test_a_model_whose_loss_is_no_number(self):
        wild = small(train_steps=3, schedule_peak=1e38, schedule_warmup=0)
        for command in (["--run", "run", *wild], ["--run", "run"]):  # and once more, at its end
            done = self.evenkeel("train", "--quiet", *command)
            self.assertEqual(done.returncode, 76)
            self.assertEqual(
                done.stderr.decode().splitlines()[-1],
                "evenkeel: run: diverged: the weights of step 3 give no finite logits; health.jsonl "
                "has the events; try a lower schedule.peak or a longer schedule.warmup")
            status = json.loads((self.folder / "run" / "status.json").read_text())
            self.assertEqual((status["state"], status["step"]), ("diverged", 3))
            self.assertTrue((self.folder / "run" / "report.html").exists())
        done = self.evenkeel("train", "--quiet", "--json", "--run", "other", *wild)
        self.assertEqual(done.returncode, 76)
        answer = json.loads(done.stdout)
        self.assertEqual((answer["run"], answer["state"], answer["step"]), ("other", "diverged", 3))
        done = self.evenkeel("eval", "--run", "run", "--quiet")
        self.assertEqual(done.returncode, 76, done.stdout)
        self.assertRegex(done.stdout.decode(), r"\nloss +(nan|-?inf) nats per token\n")
        self.assertEqual(done.stderr.decode(), "evenkeel: run: the loss of step 3 is not finite: the "
                         "weights have diverged; start another run with a lower schedule.peak or a "
                         "longer schedule.warmup\n")


if __name__ == "__main__":
    program.main()
