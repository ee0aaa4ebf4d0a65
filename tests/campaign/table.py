# SPDX-License-Identifier: Apache-2.0
"""The table of a campaign, as text and in a page."""
import platform
import re
import subprocess
import time

HEAD = ["part", "cases", "failed", "file system", "seconds", "what"]


def file_system(folder):
    """The type of the file system of a folder: "ext4"."""
    done = subprocess.run(["stat", "-f", "-c", "%T", folder], capture_output=True, text=True, check=False)
    return done.stdout.strip().replace("ext2/ext3", "ext4") or "unknown"


def cells(row):
    """One row of the table."""
    if row.skipped:
        return [row.part, "skipped", "", "", "", row.skipped]
    lack = "" if row.tried >= row.wanted else f" of {row.wanted:,}"
    note = "".join(f"; {note}" for note in dict.fromkeys(row.notes))
    return [row.part, f"{row.tried:,}{lack}", str(len(row.failures)), row.file_system, f"{row.seconds:.0f}",
            row.what + note]


def text(rows):
    """The table in Markdown."""
    lines = [HEAD, ["---"] * len(HEAD), *map(cells, rows)]
    return "\n".join("| " + " | ".join(cell.replace("|", "/") for cell in line) + " |" for line in lines)


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        found = re.search(r"model name\s*: (.*)", info.read())
    return found[1] if found else platform.machine()


def write(page, rows, context):
    """Replaces the table of this level in a page, between its two marks."""
    version = subprocess.run([context.evenkeel, "--version"], capture_output=True, text=True, check=True).stdout
    head = (f"{version.strip()}, {time.strftime('%Y-%m-%d', time.gmtime())}, seed {context.seed}.\n"
            f"{platform.system()} {platform.release().split('-')[0]}, {processor()}.\n")
    begin, end = f"<!-- campaign {context.level} -->", f"<!-- end of campaign {context.level} -->"
    old = page.read_text()
    if begin not in old or end not in old:
        raise SystemExit(f"{page}: must have the lines {begin} and {end}")
    before, after = old.split(begin)[0], old.split(end)[1]
    page.write_text(f"{before}{begin}\n{head}\n{text(rows)}\n\n{failures(rows)}{end}{after}")


def failures(rows):
    """What failed, one line each; at most 20 lines."""
    lines = [f"- {row.part}: {failure}"[:118] for row in rows for failure in row.failures]
    if not lines:
        return "Nothing failed.\n"
    more = f"- and {len(lines) - 20} more\n" if len(lines) > 20 else ""
    return "Failures:\n\n" + "".join(f"{line}\n" for line in lines[:20]) + more
