#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dockerfile and evenkeel.def, without a daemon: what they copy exists, and the packages are known."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECTION = re.compile(r'\$0 == "\[(\w+)\]"')
NEEDED = ["CMakeLists.txt", "CMakePresets.json", "bench", "cmake", "ek", "machines", "presets", "python", "schemes", "src", "studies", "tools"]


def packages():
    """{section: names} of tools/packages.txt."""
    out, section = {}, None
    for line in (ROOT / "tools/packages.txt").read_text().splitlines():
        if line.startswith("["):
            section = out.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            section.append(line)
    return out


def instructions():
    """(word, arguments) of the Dockerfile; a line that ends with a backslash goes on."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            word, _, arguments = line.partition(" ")
            yield word, arguments.strip()


def sections():
    """[(stage, name, lines)] of evenkeel.def."""
    out, stage, lines = [], None, None
    for line in (ROOT / "evenkeel.def").read_text().splitlines():
        if line.startswith("Bootstrap:"):
            lines = None
        elif line.startswith("Stage:"):
            stage = line.split()[1]
        elif line.startswith("%"):
            lines = []
            out.append((stage, line[1:], lines))
        elif line.strip() and not line.startswith("#") and lines is not None:
            lines.append(line.strip())
    return out


def installed_packages(commands):
    """The words after `apt-get install` that are no options, and the sections that awk reads."""
    for command in re.findall(r"apt-get install (.*)", commands.replace("\\\n", " ")):
        names = re.sub(r"\$\(.*?\)", "", command).split("&&")[0].split()
        yield [name for name in names if not name.startswith("-")], SECTION.findall(command)


def folders_of_cmake():
    """Folders of the checkout that files of CMake name: what they embed or read."""
    found = set()
    for file in [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake"), *(ROOT / "src").rglob("CMakeLists.txt")]:
        found |= set(re.findall(r"(?:PROJECT|CMAKE)_SOURCE_DIR}/([A-Za-z_]+)", file.read_text()))
    return {name for name in found if (ROOT / name).is_dir() and name not in ("tests", "build")}


class Containers(unittest.TestCase):
    def test_what_cmake_reads_is_copied(self):
        self.assertIn("python", folders_of_cmake())
        self.assertLessEqual(folders_of_cmake(), set(NEEDED))

    def check_packages(self, commands):
        known = packages()
        found = list(installed_packages(commands))
        self.assertTrue(found)
        for names, used in found:
            self.assertTrue(used)
            self.assertLessEqual(set(used), set(known))
            self.assertLessEqual(set(names), {name for each in known.values() for name in each})

    def test_the_dockerfile_has_two_stages_and_a_user(self):
        lines = list(instructions())
        bases = [arguments.split()[0] for word, arguments in lines if word == "FROM"]
        self.assertEqual(bases, ["debian:12-slim"] * 2)
        users = [arguments for word, arguments in lines if word == "USER"]
        self.assertEqual(len(users), 1)
        self.assertNotIn(users[0], ("root", "0"))
        self.assertLess([word for word, _ in lines].index("USER"), [word for word, _ in lines].index("ENTRYPOINT"))
        self.assertLessEqual({word for word, _ in lines},
                             {"FROM", "WORKDIR", "COPY", "RUN", "USER", "ENTRYPOINT", "CMD"})

    def test_what_the_dockerfile_copies_exists(self):
        ignored = (ROOT / ".dockerignore").read_text().split("\n")[1:]
        for name in NEEDED:
            self.assertNotIn(name, ignored)
        stages = []
        for word, arguments in instructions():
            if word == "FROM" and " AS " in arguments:
                stages.append(arguments.split(" AS ")[1])
            if word != "COPY":
                continue
            source = arguments.split()
            if source[0].startswith("--from="):
                self.assertIn(source[0][7:], stages)
                continue
            for name in source[:-1]:
                self.assertTrue((ROOT / name).exists(), name)

    def test_what_the_definition_copies_exists(self):
        copied = []
        for stage, name, lines in sections():
            if name == "files":
                for line in lines:
                    source = line.split()[0]
                    self.assertTrue((ROOT / source).exists(), source)
                    copied += [source] if stage == "build" else []
            if name.startswith("files from"):
                self.assertEqual(name.split()[2], "build")
        self.assertEqual(sorted(set(copied) - {"LICENSE"}), NEEDED)

    def test_packages_are_those_of_the_list(self):
        self.check_packages((ROOT / "Dockerfile").read_text())
        self.check_packages((ROOT / "evenkeel.def").read_text())

    def test_installed_files_come_from_where_cmake_puts_them(self):
        prefix = re.compile(r"cmake --install build/release --prefix (\S+)")
        for name in ("Dockerfile", "evenkeel.def"):
            text = (ROOT / name).read_text()
            self.assertGreaterEqual(text.count(prefix.search(text)[1]), 3, name)


if __name__ == "__main__":
    unittest.main()
