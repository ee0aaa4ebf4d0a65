#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checks of the layout refuse trees that break one rule each, and pass one that keeps all."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import check_floors
import doc_commands
import text_rules
import unit_rules

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
EK = "#!/bin/sh\nprintf '  train      train a model\\n'\n"


def run(check, root):
    """Exit code and lines of a check of the tree at root."""
    done = subprocess.run([sys.executable, ROOT / "tools" / check, root], capture_output=True,
                          text=True, check=False)
    return done.returncode, done.stdout.splitlines() + done.stderr.splitlines()


class Checks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        subprocess.run(["git", "init", "-q", self.root], check=True)
        self.write("src/evenkeel/base/a.h", SPDX)
        self.write("src/evenkeel/base/a.cpp", SPDX + '#include "evenkeel/base/a.h"\n')
        self.write("src/evenkeel/base/CMakeLists.txt", "ek_floor(base SOURCES a.cpp)\n")
        self.write("README.md", "./ek train\n")
        self.write("ek", EK)
        (self.root / "ek").chmod(0o755)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def add_source(self, name, text):
        """A source that is built; text comes after the SPDX line."""
        path = pathlib.PurePath(name)
        self.write(name, SPDX + text)
        self.write(str(path.parent / "CMakeLists.txt"),
                   f"ek_floor({path.parent.name} SOURCES {path.name} a.cpp)\n")


class Floors(Checks):
    def expect(self, *lines):
        self.assertEqual(run("check_floors.py", self.root), (1, list(lines)))

    def test_a_good_tree_passes(self):
        self.assertEqual(run("check_floors.py", self.root), (0, ["every file stands on its floor"]))

    def test_a_floor_may_not_include_one_above_it(self):
        self.add_source("src/evenkeel/base/b.cpp",
                        '#include "evenkeel/base/a.h"\n#include "evenkeel/norm/scheme.h"\n')
        self.expect("src/evenkeel/base/b.cpp:3: floor base may not include norm")

    def test_report_may_include_store_but_not_torch(self):
        self.add_source("src/evenkeel/report/b.cpp",
                        '#include "evenkeel/store/run.h"\n#include <ATen/ATen.h>\n')
        self.expect("src/evenkeel/report/b.cpp:3: floor report may not include torch")

    def test_norm_reads_no_toml(self):
        self.add_source("src/evenkeel/norm/b.cpp", "#include <toml++/toml.h>\n")
        self.expect("src/evenkeel/norm/b.cpp:2: floor norm may not include toml")

    def test_a_folder_without_a_line_in_the_table_is_no_floor(self):
        self.add_source("src/evenkeel/cellar/b.cpp", "")
        self.expect("src/evenkeel/cellar/b.cpp: no floor is named cellar; "
                    "tools/check_floors.py lists them")

    def test_351_lines_are_too_many_and_350_are_not(self):
        self.add_source("src/evenkeel/base/b.cpp", "\n" * 349)
        self.assertEqual(run("check_floors.py", self.root)[0], 0)
        self.add_source("src/evenkeel/base/b.cpp", "\n" * 350)
        self.expect("src/evenkeel/base/b.cpp: 351 lines; split it by concept (350 at most)")

    def test_the_licence_stands_in_the_first_line(self):
        self.add_source("src/evenkeel/base/b.cpp", "")
        self.write("src/evenkeel/base/b.cpp", "\n" + SPDX)
        self.expect('src/evenkeel/base/b.cpp: the top must say "SPDX-License-Identifier: Apache-2.0"')

    def test_nobody_includes_all_of_torch(self):
        self.add_source("src/evenkeel/nn/b.cpp", "#include <torch/torch.h>\n")
        self.expect("src/evenkeel/nn/b.cpp:2: <torch/torch.h> is too large to include; "
                    "take the header of what is used")

    def test_a_source_that_nobody_builds_goes(self):
        self.write("src/evenkeel/base/data.cpp", SPDX)
        self.write("src/evenkeel/base/a.cpp", SPDX + '#include "evenkeel/base/a.h"\n')
        self.write("src/evenkeel/base/CMakeLists.txt", "ek_floor(base SOURCES a.cpp metadata.cpp)\n")
        self.expect("src/evenkeel/base/data.cpp: no CMakeLists.txt builds it")

    def test_a_header_that_nobody_includes_goes(self):
        self.write("src/evenkeel/base/b.h", SPDX)
        self.expect("src/evenkeel/base/b.h: nobody includes it")

    def test_a_hidden_name_that_another_source_uses_is_refused(self):
        hidden = 'namespace {\nint twice(int x) {\n  return 2 * x;\n}\n}  // namespace\n'
        both = "ek_floor(norm SOURCES b.cpp c.cpp)\n"
        self.write("src/evenkeel/norm/b.cpp", SPDX + hidden)
        for text in [hidden, "int four() { return twice(2); }\n"]:
            self.write("src/evenkeel/norm/c.cpp", SPDX + text)
            self.write("src/evenkeel/norm/CMakeLists.txt", both)
            code, lines = run("check_floors.py", self.root)
            self.assertEqual(code, 1)
            self.assertEqual(lines[0], "src/evenkeel/norm/b.cpp: twice() hides in a name that "
                                       "src/evenkeel/norm/c.cpp uses; both are in one unit")
        self.write("src/evenkeel/norm/c.cpp", SPDX + "int four() { return number.twice(2) + a::twice(2); }\n")
        self.assertEqual(run("check_floors.py", self.root)[0], 0)

    def test_long_chains_of_includes_are_refused(self):
        longest = unit_rules.MAX_CHAIN
        names = [f"h{i}.h" for i in range(longest + 1)]
        for name, after in zip(names, names[1:]):
            self.write(f"src/evenkeel/base/{name}", SPDX + f'#include "evenkeel/base/{after}"\n')
        self.write(f"src/evenkeel/base/{names[-1]}", SPDX)
        self.add_source("src/evenkeel/base/b.cpp", "")
        self.write("src/evenkeel/base/a.h", SPDX + '#include "evenkeel/base/h0.h"\n')
        code, lines = run("check_floors.py", self.root)
        self.assertEqual(code, 1)
        self.assertIn(f"a chain of {longest + 3} includes ({longest} at most)", lines[0])

    def test_long_lines_of_cmake_are_refused(self):
        self.write("src/evenkeel/base/CMakeLists.txt", "ek_floor(base SOURCES a.cpp" + " " * 100 + ")\n")
        self.expect("src/evenkeel/base/CMakeLists.txt:1: 128 characters (120 at most)")

    def test_an_edge_that_nobody_uses_is_refused(self):
        names = {f"src/evenkeel/{floor}/a.cpp": "".join(
            f'#include "evenkeel/{each}/a.h"\n' if each not in ("torch", "toml") else
            {"torch": "#include <ATen/ATen.h>\n", "toml": "#include <toml++/toml.h>\n"}[each]
            for each in allowed) for floor, allowed in check_floors.FLOORS.items()}
        self.assertEqual(list(check_floors.unused_complaints(names)), [])
        names["src/evenkeel/norm/a.cpp"] = ""
        self.assertEqual(list(check_floors.unused_complaints(names)), [
            "tools/check_floors.py: floor norm may include base, but does not; take it out"])

    def test_an_empty_tree_is_not_a_good_one(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(run("check_floors.py", folder),
                             (1, [f"{pathlib.Path(folder).resolve()}: no sources here"]))


class Texts(Checks):
    def expect(self, *lines):
        self.assertEqual(run("check_texts.py", self.root), (1, list(lines)))

    def test_a_good_tree_passes(self):
        self.assertEqual(run("check_texts.py", self.root), (0, ["every text is fit to be read"]))

    def test_paths_of_a_machine_are_refused(self):
        self.write("notes.md", "see `/ho" + "me/ann/x`\n")
        self.expect("notes.md:1: a path of somebody's machine: `/ho" + "me/")

    def test_hosts_of_registries_are_refused(self):
        self.write("notes.md", "\nfrom py" + "pi.org\n")
        self.expect("notes.md:2: a registry's host: py" + "pi.org")

    def test_unfinished_work_is_refused(self):
        self.write("notes.md", "TO" + "DO: all\n")
        self.expect("notes.md:1: a word for unfinished work: TO" + "DO")

    def test_the_readme_shows_every_verb(self):
        self.write("README.md", "nothing\n")
        self.expect("README.md: does not show ./ek train")

    def test_without_git_nothing_is_checked(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(run("check_texts.py", folder)[0], 77)

    def test_what_git_ignores_is_not_read(self):
        self.write(".gitignore", "/build/\n")
        self.write("build/notes.md", "FIX" + "ME\n")
        self.assertEqual(run("check_texts.py", self.root)[0], 0)


class Words(Checks):
    """tools/text_rules.py, through check_texts.py."""

    def setUp(self):
        super().setUp()
        self.write("docs/README.md", "# Index\n\n[page](page.md)\n")

    def expect(self, page, *lines):
        self.write("docs/page.md", page)
        self.assertEqual(run("check_texts.py", self.root), (1, [f"docs/page.md:{line}" for line in lines]))

    def pass_(self, page):
        self.write("docs/page.md", page)
        self.assertEqual(run("check_texts.py", self.root)[0], 0, page)

    def test_121_characters_are_too_many_and_120_are_not(self):
        self.pass_("x" * 120 + "\n")
        self.expect("x" * 121 + "\n", "1: 121 characters; at most 120 outside tables and code")

    def test_tables_code_and_lone_links_may_be_longer(self):
        long = "x" * 200
        self.pass_(f"| {long} |\n\n```\n{long}\n```\n\n    {long}\n\n- <https://{long}>\n\n"
                   f"[{long}](README.md)\n")
        self.expect(f"- text [{long}](README.md)\n",
                    "1: 220 characters; at most 120 outside tables and code")

    def test_what_a_program_wrote_may_have_longer_lines(self):
        self.pass_("<!-- Below: made from schemes/*.toml. -->\n\n" + "x" * 200 + "\n")

    def test_banned_phrases_are_found_in_prose_tables_and_headings_and_over_lines(self):
        self.expect("# Arms told apart\n\nA norm in\nfront of each sublayer.\n\n| the others | x |\n",
                    '1: "told": write "reported", "printed" or "distinguished"',
                    '3: "in front of": write "before"',
                    '6: "the others": write the noun')

    def test_each_banned_phrase_has_a_sample(self):
        samples = ("by hand of it", "it comes again", "memory is asked for", "whoever reads", "it is told",
                   "for who reads", "it listens to x", "it says the same", "it is little news",
                   "feed-forward halves", "a half block", "each half reads", "both halves read",
                   "written scores", "scores are written out", "the inner width", "a way of its own",
                   "it tells all", "it stands there", "it stood there", "x beside y", "x behind y",
                   "in front of x", "the others", "it looks at x", "kept for backward", "no other stands",
                   "they are no numbers", "the other way round", "so many seeds", "a claim is undecided",
                   "it comes to nothing")
        for sample in samples:
            with self.subTest(sample):
                self.assertEqual(len(list(text_rules.page_complaints("page.md", sample))), 1)
        for pattern, _ in text_rules.IN_PAGES:
            if "beside|behind" not in pattern.pattern:  # "stands beside" is two complaints
                self.assertTrue(any(map(pattern.search, samples)), pattern.pattern)

    def test_harmless_uses_are_no_complaint(self):
        self.pass_("B stands for batch; the standard lags behind. Another way besides is bold. The first\n"
                   "half of the steps. The code `x told apart` and [a page](README.md). Each half of it.\n")

    def test_a_sentence_starts_with_its_subject(self):
        at = 'a sentence starts with "{}": put its subject first'.format
        self.expect("Of all arms one fails.\nIt ends.\nThe same holds. What is left trains.\n\n"
                    "- **Those** are bad.\n",
                    "1: " + at("Of"), "3: " + at("The same"), "3: " + at("What"), "5: " + at("Those"))
        self.pass_("# What it is\n\n| What | Of |\n|---|---|\n\nIt lists\nWhat follows.\n\n"
                   "```\nOf it\n```\n")

    def test_comments_of_sources_have_the_shorter_list(self):
        self.add_source("src/evenkeel/base/b.cpp", "int a;  // x beside y\n")
        self.pass_("text\n")
        self.add_source("src/evenkeel/base/b.cpp", 'auto told = "told";  // written\n// it is\n// asked\n')
        self.assertEqual(run("check_texts.py", self.root),
                         (1, ['src/evenkeel/base/b.cpp:3: "is asked": write "requested" or "required"']))


class Links(Checks):
    def expect(self, *lines):
        self.assertEqual(run("check_texts.py", self.root), (1, list(lines)))

    def test_a_chain_of_links_from_the_index_will_do(self):
        self.write("docs/README.md", "# Index\n\n[a](a.md#its-part)\n")
        self.write("docs/a.md", "# A\n\n## Its part\n\n[b](deep/b.md), [up](../README.md), "
                   "[net](https://x.y)\n")
        self.write("docs/deep/b.md", "[a](../a.md) [folder](../deep) `[no](link.md)`\n")
        self.assertEqual(run("check_texts.py", self.root)[0], 0)

    def test_a_page_without_a_link_is_refused(self):
        self.write("docs/README.md", "# Index\n")
        self.write("docs/deep/b.md", "text\n")
        self.expect("docs/deep/b.md: no link from docs/README.md leads here")

    def test_pages_need_an_index(self):
        self.write("docs/a.md", "text\n")
        self.expect("docs/README.md: missing; it must lead to every page of docs/")

    def test_a_link_leads_to_a_file_and_to_a_heading(self):
        self.write("docs/README.md", "# Index\n\n[a](a.md)\n\n[b](#index) [c](#none) [d](/../../e.md)\n")
        self.expect("docs/README.md:3: the link a.md leads nowhere",
                    "docs/README.md:5: the link #none names no heading of docs/README.md",
                    "docs/README.md:5: the link /../../e.md leads nowhere")


class Commands(Checks):
    def test_a_command_in_a_code_block_names_a_verb(self):
        self.write("README.md", "./ek train, ./ek fly\n\n```\n./ek train --set a=b  # c\n./ek fly\n```\n\n"
                   "    evenkeel swim     a description\n")
        self.assertEqual(run("check_texts.py", self.root), (1, ["README.md:5: no verb is named fly",
                                                                "README.md:8: no verb is named swim"]))

    def test_the_words_are_those_of_the_shell(self):
        text = ("```\n./ek study [--seeds 5] --scheme NAME|FILE     # one\n"
                "EVENKEEL_ISA=avx2 evenkeel train --set 'a=[1, 2]' \\\n    --quiet > log.txt\n./ekx\n```\n")
        self.assertEqual([(command.line, command.words) for command in doc_commands.commands_of("p", text)],
                         [(2, ["study", "--scheme", "NAME"]), (3, ["train", "--set", "a=[1, 2]", "--quiet"])])


class Commits(Checks):
    def commit(self, subject):
        subprocess.run(["git", "-C", self.root, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q",
                        "--allow-empty", "-m", subject], check=True)

    def test_a_subject_has_at_most_72_characters(self):
        self.commit("first")
        self.commit("x" * 72)
        self.assertEqual(run("check_texts.py", self.root)[0], 0)
        self.commit("x" * 73)
        code, lines = run("check_texts.py", self.root)
        self.assertEqual((code, len(lines)), (1, 1))
        self.assertRegex(lines[0], r"^commit [0-9a-f]+: its subject has 73 characters, at most 72: x+$")

    def test_a_clone_of_one_commit_and_old_commits_are_free(self):
        self.commit("x" * 73)
        self.assertEqual(run("check_texts.py", self.root)[0], 0)
        for number in range(20):
            self.commit(str(number))
        self.assertEqual(run("check_texts.py", self.root)[0], 0)


if __name__ == "__main__":
    unittest.main()
