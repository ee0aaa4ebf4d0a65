#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails where a tracked text says what it should not, or the README leaves out a command of the program.

1. No absolute path of somebody's machine, no host of a package registry.
2. No words for unfinished work.
3. README.md has a row of every command in src/evenkeel/cli/verbs.txt, with the same words.
4. Pages: length of lines, banned phrases, starts of sentences; comments of src, tests and bench: banned
   phrases (tools/text_rules.py).
5. Pages: every link leads somewhere, docs/README.md leads to every page, every path of a source exists
   (tools/doc_links.py); experiments may name files that are gone.
6. Pages: every command in a code block names a verb of ./ek (tools/doc_commands.py).
7. Subjects of the newest commits have at most 72 characters.

Pages are README.md, CONTRIBUTING.md, CHANGELOG.md, SECURITY.md, tests/golden/README.md and all of docs/**/*.md.

Usage: tools/check_texts.py [ROOT]; 77 where ROOT is no git checkout.
"""
import pathlib
import re
import subprocess
import sys

import doc_commands
import doc_links
import text_rules

# Each pattern holds a class or an escape, so that it does not find its own line.
RULES = [
    (re.compile(r"(^|[\s\"'=(:`])/(home|root|work|Users|mnt|workspace)[/](?!\s)"),
     "a path of somebody's machine"),
    (re.compile(r"\b(pypi|download\.pytorch|files\.pythonhosted|deb\.debian|archive\.ubuntu)"
                r"[.](org|com)\b"),
     "a registry's host"),
    (re.compile(r"\b(TO[D]O|FIX[M]E|XX[X]|HA[C]K)\b"), "a word for unfinished work"),
    (re.compile(r"\b(not [i]mplemented|place[h]older|coming [s]oon)\b", re.IGNORECASE),
     "a word for unfinished work"),
]
FREE = {"LICENSE"}  # a text that is not ours
COMMANDS = re.compile(r"^  ([a-z]+)  ", re.MULTILINE)
PAGE = re.compile(r"(README|CONTRIBUTING|CHANGELOG|SECURITY)\.md|tests/golden/README\.md|docs/.*\.md")
HISTORY = re.compile(r"CHANGELOG\.md|docs/experiments/.*")
VERBS = "src/evenkeel/cli/verbs.txt"
VERB = re.compile(r"^([a-z]+) +(.*)$", re.MULTILINE)
HIDDEN_VERB = re.compile(r"^\.([a-z]+) ", re.MULTILINE)  # the help does not list it
SOURCE = re.compile(r"(src|tests|bench)/.*\.(c|h|cpp|cu|cuh)")
NEWEST, MOST_OF_A_SUBJECT = 20, 72


def tracked(root):
    """Names of the files that git tracks, or would (new and not ignored); None without git."""
    git = subprocess.run(["git", "-C", root, "ls-files", "-coz", "--exclude-standard"],
                         check=False, capture_output=True, text=True)
    if git.returncode != 0:
        return None
    return sorted(name for name in git.stdout.split("\0") if name and (root / name).is_file())


def text_complaints(name, text):
    """Rules 1 and 2 for one file."""
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, what in RULES:
            match = pattern.search(line)
            if match:
                yield f"{name}:{number}: {what}: {match[0].strip()}"


def readme_complaints(readme, verbs):
    """Rule 3. verbs: the text of verbs.txt."""
    readme = readme.replace("`", "")
    for name, summary in VERB.findall(verbs):
        row = f"| ./ek {name} | {summary} |"
        if row not in readme:
            yield f"README.md: its table of commands lacks the row {row} of {VERBS}"


def page_complaints(root, pages, names, ek_help):
    """Rules 4 to 6 for the pages, {name: text}; names: of all files."""
    verbs = COMMANDS.findall(ek_help) + HIDDEN_VERB.findall((root / VERBS).read_text())
    for name, text in pages.items():
        yield from text_rules.page_complaints(name, text)
        yield from doc_links.link_complaints(root, name, text)
        if not HISTORY.fullmatch(name):
            yield from doc_links.path_complaints(name, text, names)
        yield from doc_commands.complaints(name, text, verbs)
    yield from doc_links.unreachable(pages)


def commit_complaints(root):
    """Rule 7. A merge has a subject of git's; a clone of a single commit may be that of such a merge."""
    git = subprocess.run(["git", "-C", root, "log", "--no-merges", f"-{NEWEST}", "--format=%h %s"],
                         check=False, capture_output=True, text=True)
    commits = git.stdout.splitlines() if git.returncode == 0 else []
    if len(commits) < 2:
        return
    for commit in commits:
        name, _, subject = commit.partition(" ")
        if len(subject) > MOST_OF_A_SUBJECT:
            yield (f"commit {name}: its subject has {len(subject)} characters, at most "
                   f"{MOST_OF_A_SUBJECT}: {subject}")


def complaints(root, names):
    """Everything that is wrong with these files of the tree, as lines."""
    pages = {}
    for name in names:
        data = (root / name).read_bytes()
        if name in FREE or b"\0" in data:
            continue
        text = data.decode(errors="replace")
        yield from text_complaints(name, text)
        if PAGE.fullmatch(name):
            pages[name] = text
        if SOURCE.fullmatch(name):
            yield from text_rules.source_complaints(name, text)
    ek_help = subprocess.run([root / "ek"], check=True, capture_output=True, text=True).stdout
    yield from readme_complaints((root / "README.md").read_text(), (root / VERBS).read_text())
    yield from page_complaints(root, pages, names, ek_help)
    yield from commit_complaints(root)


def main(arguments):
    root = pathlib.Path(*arguments).resolve()
    names = tracked(root)
    if names is None:
        print(f"{root} is no git checkout; the texts were not checked")
        return 77
    found = list(complaints(root, names))
    print("\n".join(found) or "every text is fit to be read")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
