#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps docs/experiments/verdicts.md and its figures current: what `evenkeel study --from` says about each CSV file
of docs/experiments.

Usage: tools/verdicts_page.py PROGRAM [--check]
The name of a CSV file is STUDY-SIZE.csv or STUDY-TEXT-SIZE.csv. With --check nothing is written; the exit code is 1
if the page or a figure is out of date.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
DATA = ROOT / "docs/experiments"
PAGE = DATA / "verdicts.md"
FIGURES = ROOT / "docs/figures/experiments"
TEXTS = {"": "built-in text", "fresh": "built-in text, unseen seeds", "shakespeare": "tinyshakespeare"}
HEAD = """# Verdicts of the recorded runs

Each section is what this version of the program says about a CSV file of this folder: `evenkeel study --from`.
`tools/verdicts_page.py` writes the page and its figures, and a test compares them with the program.
Which of the claims are confirmatory is in [findings.md](../findings.md).
"""


def judged(program, file, folder):
    """(what the program says as JSON, columns that the file lacks) of a CSV file; its figures are written to the
    folder."""
    study, size = file.stem.split("-")[0], file.stem.split("-")[-1]
    done = subprocess.run([program, "study", study, "--size", size, "--from", file, "--json", "--figures", folder],
                          check=True, capture_output=True, text=True)
    missing = [line.split(" has no column ")[1].strip('"') for line in done.stderr.splitlines() if " has no column " in line]
    return json.loads(done.stdout), missing


def cell(text):
    return text.replace("|", "\\|").replace("*", "\\*")


def sweep_table(answer):
    """The lines of the table of a study with `compare`: a row for each arm, in the order of the program."""
    compared = {each["arm"]: each for each in answer["comparisons"]}
    lines = ["", "| arm | best value | loss | difference to the baseline | shrunken | p | sensitivity |",
             "| --- | --- | --- | --- | --- | --- | --- |"]
    for each in answer["sweeps"]:
        edge = ", at the edge" if each["is_at_edge"] else ""
        found = compared.get(each["arm"], {})
        difference = "{difference:+.4f} [{low:+.4f}, {high:+.4f}]".format(**found) if "difference" in found else ""
        if not each["is_causal"]:
            difference = "not causal"
        shrunken = f"{found['shrunken']:+.4f}" if "shrunken" in found else ""
        p = f"{found['p']:.3f}" if "p" in found else ""
        lines.append(f"| {cell(each['arm'])} | {each['best']}{edge} | {each['loss']:.4f} | {difference} | {shrunken} "
                     f"| {p} | {each['sensitivity']:.4f} |")
    return lines


def section(file, answer, missing, figures):
    """The part of the page about one CSV file."""
    study, *text, size = file.stem.split("-")
    lines = [f"## `{study}`, {size}, {TEXTS[text[0] if text else '']}", "",
             f"`evenkeel study {study} --size {size} --from docs/experiments/{file.name}`", ""]
    lines += ["The file does not have:", "", *(f"- {each}" for each in missing), ""] if missing else []
    lines += ["| verdict | claim | result |", "| --- | --- | --- |"]
    for each in answer["verdicts"]:
        where = f" ({each['where']})" if each["where"] else ""
        lines.append(f"| {each['outcome']} | {cell(each['claim'] + where)} | {cell(each['sentence'])} |")
    lines += sweep_table(answer) if "sweeps" in answer else []
    for name, content in figures.items():
        title = content.partition("<title>")[2].partition("</title>")[0]
        image = f"![{title}](../figures/experiments/{name})"
        at = title.rfind(" ", 0, 60) if len(image) > 120 else -1  # a line of the page has at most 120 characters
        lines += ["", image if at < 0 else image.replace(title, f"{title[:at]}\n{title[at + 1:]}")]
    return "\n".join(lines) + "\n"


def made(program):
    """The files of the page and of its figures, with their contents."""
    files, page = {}, HEAD
    for file in sorted(DATA.glob("*.csv")):
        if file.stem.endswith("-searches"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            answer, missing = judged(program, file, folder)
            figures = {f"{file.stem}-{number}.svg": each.read_text()
                       for number, each in enumerate(sorted(pathlib.Path(folder).iterdir()), 1)}
        files |= {FIGURES / name: content for name, content in figures.items()}
        page += "\n" + section(file, answer, missing, figures)
    return files | {PAGE: page}


def main(program, *options):
    files = made(str(pathlib.Path(program).resolve()))
    known = {PAGE, *FIGURES.glob("*")}
    stale = [path for path, content in files.items() if not path.exists() or path.read_text() != content]
    stale += sorted(known - set(files))
    if not stale:
        print(f"docs/experiments/verdicts.md and {len(files) - 1} figures are current")
        return 0
    if "--check" in options:
        print(f"out of date: {', '.join(str(path.relative_to(ROOT)) for path in stale)}\n"
              f"to renew: python3 tools/verdicts_page.py {program}")
        return 1
    FIGURES.mkdir(parents=True, exist_ok=True)
    for path in known - set(files):
        path.unlink()
    for path, content in files.items():
        path.write_text(content)
    print(f"{len(stale)} files are written anew")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    sys.exit(main(*sys.argv[1:]))
