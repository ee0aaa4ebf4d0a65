#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Completion in shells and the manual page.

bash completes for real: it sources the script and calls the function as readline does. zsh and fish check the syntax
of their scripts where they are installed.
"""
import os
import pty
import re
import shutil
import subprocess

import program

HIDDEN = ["completion", "man"]
COMPLETE = r"""
source ./script
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
previous=${COMP_WORDS[COMP_CWORD-1]}
_evenkeel evenkeel "${COMP_WORDS[COMP_CWORD]}" "$previous"
printf '%s\n' "${COMPREPLY[@]}"
"""


class Completion(program.Case):
    def complete(self, *words):
        """What bash offers for the last of these words."""
        script = self.folder / "script"
        if not script.exists():
            script.write_text(self.succeed("completion", "bash")[0])
        done = subprocess.run(["bash", "--norc", "-c", COMPLETE, "bash", "evenkeel", *words], cwd=self.folder,
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return sorted(done.stdout.split())

    def test_of_commands(self):
        self.assertEqual(self.complete(""), program.VERBS)
        self.assertEqual(self.complete("tra"), ["train"])
        self.assertEqual(self.complete("schemes", ""), ["check", "diff", "new", "show"])
        self.assertEqual(self.complete("probe", "th"), ["theory"])

    def test_of_options(self):
        self.assertEqual(self.complete("train", "--sc"), ["--scheme"])
        self.assertEqual(self.complete("runs", "--"), ["--help", "--json", "--sort"])
        self.assertEqual(self.complete("--v"), ["--version"])

    def test_of_values(self):
        self.assertEqual(self.complete("train", "--preset", "na"), ["nano"])
        self.assertEqual(self.complete("train", "--scheme", "hybrid_norm_s"), ["hybrid_norm_star"])
        self.assertEqual(self.complete("schemes", "show", "pre_norm_o"), ["pre_norm_outside"])
        self.assertEqual(self.complete("train", "--set", "train.st"), ["train.steps="])
        self.assertEqual(self.complete("train", "--set", "log."), ["log.csv=", "log.every=", "log.tensorboard="])
        self.assertEqual(self.complete("runs", "--sort", ""), ["age", "loss", "name"])
        self.assertEqual(self.complete("completion", ""), ["bash", "fish", "zsh"])
        self.assertIn("placement", self.complete("study", "pla"))
        self.assertEqual(self.complete("train", "--set", "data.train", "=", "bo"), ["book.txt"], "after =")

    def test_of_run_folders(self):
        for run in ("runs/pre_norm-tiny-1", "runs/study/a"):
            (self.folder / run).mkdir(parents=True)
            (self.folder / run / "run.toml").write_text("")
        self.assertEqual(self.complete("train", "--run", "runs/"),
                         ["runs/pre_norm-tiny-1", "runs/pre_norm-tiny-1", "runs/study", "runs/study/a"])
        self.assertIn("runs/study/a", self.complete("report", ""))

    def add_run(self, name):
        (self.folder / "runs" / name).mkdir(parents=True)
        (self.folder / "runs" / name / "run.toml").write_text("")

    def test_evaluates_no_name_of_a_folder(self):
        self.add_run("x$(touch PWNED)")
        self.assertEqual(self.complete("report", "runs/x"), ["PWNED)", "PWNED)", "runs/x$(touch", "runs/x$(touch"])
        self.add_run("[ab]*")
        self.add_run("it's")
        self.assertEqual(self.complete("report", "runs/i"), ["runs/it's", "runs/it's"])
        self.assertEqual(self.complete("report", "runs/["), ["runs/[ab]*", "runs/[ab]*"])
        self.assertEqual(self.complete("train", "--config", "runs/x"), ["PWNED)", "runs/x$(touch"])
        self.assertFalse((self.folder / "PWNED").exists())

    def typed(self, line):
        """The arguments that `evenkeel` gets from an interactive bash for a line that ends with Tab and Enter."""
        self.complete("")  # writes the script
        setup = self.write("setup", 'source ./script\nevenkeel() { printf "%s\\n" "$@" > got; }\nPS1="ready> "\n')
        terminal, end = pty.openpty()
        with subprocess.Popen(["bash", "--noprofile", "--rcfile", setup, "-i"], cwd=self.folder, stdin=end, stdout=end,
                              stderr=end, start_new_session=True, env=os.environ | {"TERM": "dumb"}) as bash:
            os.close(end)
            shown = b""
            while b"ready> " not in shown:
                shown += os.read(terminal, 4096)
            os.write(terminal, f"{line}\t\nexit\n".encode())
            try:
                while os.read(terminal, 4096):
                    pass
            except OSError:  # bash has ended
                pass
            bash.wait(timeout=program.LIMIT)
        os.close(terminal)
        return (self.folder / "got").read_text().splitlines()

    def test_quotes_what_it_inserts(self):
        for name in ("my run", "it's", "x$(touch PWNED)"):
            self.add_run(name)
        self.assertEqual(self.typed("evenkeel report runs/m"), ["report", "runs/my run/"])
        self.assertEqual(self.typed("evenkeel report runs/my\\ r"), ["report", "runs/my run/"])
        self.assertEqual(self.typed("evenkeel report runs/i"), ["report", "runs/it's/"])
        self.assertEqual(self.typed("evenkeel report runs/x"), ["report", "runs/x$(touch PWNED)/"])
        self.assertFalse((self.folder / "PWNED").exists())

    def test_scripts_have_no_errors(self):
        for shell in ("bash", "zsh", "fish"):
            script = self.write(f"script.{shell}", self.succeed("completion", shell)[0])
            if not shutil.which(shell):
                continue
            done = subprocess.run([shell, "-n", script], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), shell)

    def test_scripts_have_every_option(self):
        bash, zsh, fish = (self.succeed("completion", shell)[0] for shell in ("bash", "zsh", "fish"))
        for verb in program.VERBS:
            for option in options_of(self.succeed(verb, "--help")[0]):
                self.assertIn(option, bash)
                self.assertIn(f"{option}:", zsh)
                self.assertIn(f" -l {option[2:]} ", fish)

    def test_of_an_unknown_shell(self):
        done = self.evenkeel("completion", "csh")
        self.assertEqual((done.returncode, done.stdout), (64, b""))


def options_of(help_text):
    return re.findall(r"^ +(?:-\w,)?(--[\w-]+)", help_text, re.MULTILINE)


class Manual(program.Case):
    def test_has_every_option_of_every_command(self):
        page = self.succeed("man")[0].replace("\\-", "-")
        sections = dict(re.findall(r"^\.SS (evenkeel [\w ]+)\n(.*?)(?=^\.S[SH])", page, re.MULTILINE | re.DOTALL))
        for verb in program.VERBS + HIDDEN:
            found = options_of(self.succeed(verb, "--help")[0])
            self.assertIn("--help", found)
            for option in found:
                self.assertIn(option, sections[f"evenkeel {verb}"], verb)
        self.assertIn("evenkeel probe theory", sections)

    def test_is_valid_roff(self):
        if not shutil.which("groff"):
            self.skipTest("groff is not installed")
        page = self.write("evenkeel.1", self.succeed("man")[0])
        done = subprocess.run(["groff", "-man", "-ww", "-z", page], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        shown = subprocess.run(["groff", "-man", "-Tascii", "-P-c", page], capture_output=True, text=True,
                               check=True).stdout
        self.assertIn("--set KEY=VALUE", re.sub(".\b", "", shown))

    def test_the_help_of_the_program_does_not_list_them(self):
        out = self.succeed("--help")[0]
        for verb in HIDDEN:
            self.assertNotRegex(out, rf"(?m)^  {verb}")


if __name__ == "__main__":
    program.main()
