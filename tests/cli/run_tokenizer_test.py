#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The copy of the tokenizer in a run folder, and the tokenizer that a command names."""
import json
import shutil

import program
from program import saved_steps, small
from token_files_test import remove_merge

OPTIONS = {"schedule_steps": 4, "checkpoint_every": 0, "log_every": 1}
EVAL = ("eval", "--run", "run", "--quiet", "--set", "data.validation=book.txt")
GENERATE = ("generate", "--run", "run", "--prompt", "The old", "--tokens", 8, "--temperature", 0)


class RunTokenizer(program.Case):
    """A run with the tokenizer tok/tokenizer.json. other.json and other.model have other ids and its vocabulary."""

    def prepare(self):
        self.succeed("tokenize", "book.txt", "--train-vocabulary", 280, "--output", "tok", "--quiet")
        for name in ("other.json", "other.model"):  # the first byte, not the name, says that a .model is JSON
            shutil.copy(self.folder / "tok/tokenizer.json", self.folder / name)
            remove_merge(self.folder / name)
        self.train("run", data_tokenizer="tok/tokenizer.json", train_steps=2, **OPTIONS)

    def copies(self):
        """The tokenizers in the run folder: content by name."""
        return {path.name: path.read_bytes() for path in (self.folder / "run").glob("tokenizer*")}

    def start_resume(self, tokenizer):
        """Resumes the run with another tokenizer, and waits until it has taken a step."""
        process = self.start("train", "--run", "run", "--override", "data",
                             *small(data_tokenizer=tokenizer, data_begin="false", train_steps=10**9, **OPTIONS))
        self.wait_for_steps(process, "run", 1)
        return process

    def loss(self, *arguments):
        return json.loads(self.succeed(*EVAL, "--json", *arguments)[0])["val_loss"]

    def check_earlier_checkpoint(self, before, losses, is_bytes):
        """Step 2 after a checkpoint of another tokenizer. \\param losses  of step 2 and of the newest step"""
        done = self.evenkeel(*EVAL, "--json", "--checkpoint", "all")
        found = [each["val_loss"] for each in json.loads(done.stdout)]
        if is_bytes:  # the copy is that of step 2
            self.assertEqual((done.returncode, found), (0, losses), done.stderr)
            return
        self.assertEqual((done.returncode, found), (77, losses[1:]), done.stderr)
        earlier, = (self.folder / "run").glob("earlier-tokenizer-*.json")
        self.assertEqual(earlier.read_bytes(), before["tokenizer.json"])
        name = f"run/{earlier.name}"
        advice = f"; name {name}, which has the earlier digest, with --set data.tokenizer={name}"
        self.assertRegex(done.stderr.decode(), f"step-00000002: run/tokenizer.*{advice}; left out\n")
        done = self.evenkeel(*EVAL, "--checkpoint", 2)
        self.assertEqual((done.returncode, done.stderr.decode().endswith(advice + "\n")), (78, True), done.stderr)
        named = ("--checkpoint", 2, "--set", f"data.tokenizer={name}", "--set", "data.begin=auto")
        self.assertEqual(self.loss(*named), losses[0])

    def check_is_unchanged_until_a_checkpoint(self, tokenizer, copies):
        """A kill before the first checkpoint leaves the run as it was. \\param copies  after a checkpoint"""
        before, wanted, loss = self.copies(), self.succeed(*GENERATE)[0], self.loss()
        if tokenizer == "tok/tokenizer.json":
            remove_merge(self.folder / tokenizer)
        process = self.start_resume(tokenizer)
        process.kill()
        process.wait()
        self.assertEqual(saved_steps(self.folder / "run")[-1], 2)
        self.assertEqual(self.copies(), before)
        self.assertEqual(self.succeed(*GENERATE)[0], wanted)
        self.succeed("eval", "--run", "run", "--quiet")
        self.assertEqual(self.loss(), loss)  # data.begin is that of the checkpoint, too
        self.succeed("export", "--run", "run", "--output", "killed", "--quiet")
        self.stop(self.start_resume(tokenizer))
        self.assertGreater(saved_steps(self.folder / "run")[-1], 2)
        self.assertEqual(self.copies(), {name: (self.folder / file).read_bytes() for name, file in copies.items()})
        for name in ("tok/tokenizer.json", "other.json", "other.model"):
            (self.folder / name).unlink()  # the run has a copy
        self.succeed(*GENERATE)
        self.succeed("eval", "--run", "run", "--quiet")
        self.check_earlier_checkpoint(before, [loss, self.loss()], tokenizer == "bytes")
        self.succeed("export", "--run", "run", "--output", "stopped", "--quiet")
        self.stop(self.start_resume(tokenizer))

    def test_a_file_that_is_edited_in_place_is_copied_after_a_checkpoint(self):
        self.check_is_unchanged_until_a_checkpoint("tok/tokenizer.json", {"tokenizer.json": "tok/tokenizer.json"})

    def test_another_file_is_copied_after_a_checkpoint(self):
        self.check_is_unchanged_until_a_checkpoint("other.json", {"tokenizer.json": "other.json"})

    def test_a_file_of_another_kind_replaces_the_copy_after_a_checkpoint(self):
        self.check_is_unchanged_until_a_checkpoint("other.model", {"tokenizer.model": "other.model"})

    def test_bytes_are_the_tokenizer_after_a_checkpoint(self):
        """The copy stays: earlier checkpoints are of it."""
        self.check_is_unchanged_until_a_checkpoint("bytes", {"tokenizer.json": "tok/tokenizer.json"})

    def test_a_copy_that_a_kill_left_behind_is_replaced_at_the_next_start(self):
        """A kill after the checkpoint and before the copy, or an earlier version, which left the first copy."""
        trained = self.copies()["tokenizer.json"]
        self.train("run", "--override", "data", data_tokenizer="other.model", train_steps=3, **OPTIONS)
        (self.folder / "run/tokenizer.json").write_bytes(trained)
        self.succeed(*GENERATE)
        self.succeed("export", "--run", "run", "--output", "both", "--quiet")
        (self.folder / "run/tokenizer.model").unlink()
        digest, old = (self.succeed("tokenize", "--show", name, given=b"")[0].split("digest")[1].split()[0]
                       for name in ("other.model", "tok"))
        self.refuse(78, f'run/tokenizer.json: the digest of the tokenizer was "{digest}" when the checkpoint was written, '
                    f'but is "{old}" now; copy the tokenizer with the earlier digest to run/tokenizer.model (`evenkeel '
                    "tokenize --show FILE` prints the digest of a file); a changed tokenizer belongs in the exported "
                    "folder", "export", "--run", "run", "--output", "none", "--quiet")
        self.succeed("train", "--quiet", "--run", "run")  # finished, and trains nothing
        self.assertEqual(self.copies(), {"tokenizer.model": (self.folder / "other.model").read_bytes(),
                                         "tokenizer.json": trained})  # as any file that is in no way
        self.succeed(*GENERATE)

    def test_a_finished_run_keeps_its_copy(self):
        """--override data trains nothing there."""
        before = self.copies()
        remove_merge(self.folder / "tok/tokenizer.json")
        self.succeed("train", "--quiet", "--run", "run", "--override", "data")
        self.assertEqual(self.copies(), before)
        self.succeed(*GENERATE)

    def test_a_named_tokenizer_is_the_file_in_each_form_of_a_setting(self):
        wanted = self.succeed(*GENERATE)[0]
        remove_merge(self.folder / "run/tokenizer.json")
        self.assertEqual(self.evenkeel(*GENERATE).returncode, 78)

        def forms(name):
            self.write("more.toml", f'[data]\ntokenizer = "{name}"\n')
            return (("--config", "more.toml"), ("--set", f'data={{ tokenizer = "{name}" }}'),
                    ("--set", f"data.tokenizer={name}"))
        for form in forms("tok/tokenizer.json"):  # that of run.toml
            with self.subTest(form=form):
                self.assertEqual(self.succeed(*GENERATE, *form)[0], wanted)
        (self.folder / "tok/tokenizer.json").unlink()
        for form in forms("tok/tokenizer.json"):
            with self.subTest(form=form):
                self.refuse(65, "tok/tokenizer.json: must be a tokenizer (tokenizer.json, .model, .tiktoken) or a folder "
                            'with one, but is missing; name one, or "bytes"', *GENERATE, *form)


if __name__ == "__main__":
    program.main()
