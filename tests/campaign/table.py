# SPDX-License-Identifier: Apache-2.0
"""The table of a campaign, as text and in a page."""
import platform
import re
import subprocess
import time

HEAD = ["part", "cases", "failed", "file system", "seconds", "version", "what"]
ROW = re.compile(r"^\| (\w+) \| .*$", re.MULTILINE)
FAILURE = re.compile(r"^- (\w+): .*$", re.MULTILINE)
MOST_FAILURES = 20  # lines in a page


def file_system(folder):
    """The type of the file system of a folder: "ext4"."""
    done = subprocess.run(["stat", "-f", "-c", "%T", folder], capture_output=True, text=True, check=False)
    return done.stdout.strip().replace("ext2/ext3", "ext4") or "unknown"


def cells(row, version):
    """One row of the table."""
    if row.skipped:
        return [row.part, "skipped", "", "", "", "", row.skipped]
    lack = "" if row.tried >= row.wanted else f" of {row.wanted:,}"
    note = "".join(f"; {note}" for note in dict.fromkeys(row.notes))
    return [row.part, f"{row.tried:,}{lack}", str(len(row.failures)), row.file_system, f"{row.seconds:.0f}", version,
            row.what + note]


def line(words):
    return "| " + " | ".join(word.replace("|", "/") for word in words) + " |"


def text(rows, version):
    """The table in Markdown."""
    return "\n".join([line(HEAD), line(["---"] * len(HEAD)), *(line(cells(row, version)) for row in rows)])


def version_of(context):
    """The version of the program under test: the commit, if it knows it."""
    done = subprocess.run([context.evenkeel, "--version"], capture_output=True, text=True, check=True)
    commit = re.search(r"\((\w+)(-dirty)?\)", done.stdout)
    return f"{commit[1][:7]}{' with changes' if commit[2] else ''}" if commit else done.stdout.split()[1]


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        found = re.search(r"model name\s*: (.*)", info.read())
    return found[1] if found else platform.machine()


def write(page, rows, context, parts):
    """Writes the rows into the table of this level, between its two marks; other parts keep their rows.

    \param parts  all parts, in the order of the table
    """
    begin, end = f"<!-- campaign {context.level} -->", f"<!-- end of campaign {context.level} -->"
    old = page.read_text()
    if begin not in old or end not in old:
        raise SystemExit(f"{page}: must have the lines {begin} and {end}")
    before, rest = old.split(begin)
    inside, after = rest.split(end)
    version = version_of(context)
    lines = {found[1]: found[0] for found in ROW.finditer(inside) if found[1] in parts}
    lines |= {row.part: line(cells(row, version)) for row in rows}
    table = [line(HEAD), line(["---"] * len(HEAD)), *(lines[part] for part in parts if part in lines)]
    head = (f"Last run {time.strftime('%Y-%m-%d', time.gmtime())}, seed {context.seed}; "
            f"{platform.system()} {platform.release().split('-')[0]}, {processor()}.")
    content = [begin, head, "", *table, "", *failures(rows, inside), end]
    page.write_text(before + "\n".join(content) + after)


def failures(rows, inside):
    """What failed, a line each: of these rows, and of the parts of the page that were not run."""
    run = {row.part for row in rows if not row.skipped}
    lines = [found[0] for found in FAILURE.finditer(inside) if found[1] not in run]
    lines += [f"- {row.part}: {failure}"[:118] for row in rows for failure in row.failures]
    if not lines:
        return ["Nothing failed."]
    more = [f"- and {len(lines) - MOST_FAILURES} more"] if len(lines) > MOST_FAILURES else []
    return ["Failures:", "", *lines[:MOST_FAILURES], *more]
