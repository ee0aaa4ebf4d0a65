#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands that the documentation shows: lines of code blocks that begin with ./ek or evenkeel.

tools/check_texts.py checks that each names a verb; tests/cli/doc_commands_test.py runs them.

Usage: tools/doc_commands.py [ROOT] prints them.
"""
import pathlib
import re
import shlex
import sys
from dataclasses import dataclass

import doc_markdown

BEGINS = re.compile(r"^\s*(?:\$ )?(?:[A-Z_]+=\S+ +)*(?:\./ek|(?:build/release/)?evenkeel)(?= |$)")
OPTIONAL = re.compile(r" ?\[--?[a-z][^\]]*\]")     # [--seeds 5], of a synopsis
CHOICE = re.compile(r"\b([A-Z]+)(?:\|[A-Z]+)+\b")  # NAME|FILE
DESCRIPTION = re.compile(r"\s{2,}(?!-).*$")        # a second column


@dataclass
class Command:
    page: str
    line: int
    text: str    # without comment and description
    words: list  # what the shell would pass on, up to a pipe or a redirection

    @property
    def verb(self):
        return self.words[0] if self.words else ""


def words_of(text):
    """The words after the program; what follows a pipe, a semicolon or a redirection is left out."""
    lexer = shlex.shlex(CHOICE.sub(r"\1", OPTIONAL.sub("", text)), posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    words = []
    for word in lexer:
        if set(word) <= set("|&;<>"):
            break
        words.append(word)
    return words


def commands_of(page, text):
    """The commands of one page, in its order."""
    out, whole, first = [], "", 0
    for line in doc_markdown.lines_of(text):
        if line.kind != "code":
            whole = ""
            continue
        if not whole:
            begins = BEGINS.match(line.text)
            if not begins:
                continue
            whole, first = line.text[begins.end():], line.number
        else:
            whole = whole[:-1].rstrip() + " " + line.text.strip()
        if whole.endswith("\\"):
            continue
        plain = DESCRIPTION.sub("", whole.split(" #")[0].rstrip()).strip()
        out.append(Command(page, first, plain, words_of(plain)))
        whole = ""
    return out


def complaints(page, text, verbs):
    """Commands of a page whose verb the program does not have."""
    for command in commands_of(page, text):
        verb = command.verb
        if verb not in verbs and verb not in ("", "VERB") and not verb.startswith("-"):
            yield f"{page}:{command.line}: no verb is named {verb}"


def pages(root):
    """The pages whose commands a test runs."""
    return [root / "README.md", root / "CONTRIBUTING.md", *sorted(root.glob("docs/*.md"))]


def main(arguments):
    root = pathlib.Path(*arguments).resolve()
    for page in pages(root):
        for command in commands_of(str(page.relative_to(root)), page.read_text()):
            print(f"{command.page}:{command.line}: {shlex.join(command.words)}")


if __name__ == "__main__":
    main(sys.argv[1:])
