#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/check_texts.py refuses trees that break one rule each."""
import subprocess
import tempfile
import unittest

from check_case import Checks, run

import doc_commands
import text_rules


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
        self.expect("README.md: its table of commands lacks the row | ./ek train | trains a model | of "
                    "src/evenkeel/cli/verbs.txt")

    def test_paths_of_sources_lead_to_files(self):
        self.write("CONTRIBUTING.md", "See base/a.h and `torch/torch.h`.\n")
        self.assertEqual(run("check_texts.py", self.root)[0], 0)
        self.write("CONTRIBUTING.md", "See `base/b.h`.\n")
        self.expect("CONTRIBUTING.md:1: names base/b.h, which is no file here")

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
        for pattern, _ in text_rules.BANNED:
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

    def test_comments_of_sources_have_the_same_list(self):
        self.write("docs/page.md", "text\n")
        self.add_source("tests/base/b.cpp", "int a;  // x beside y\n")
        self.assertEqual(run("check_texts.py", self.root),
                         (1, ['tests/base/b.cpp:2: "beside": write "with", "next to" or "compared with"']))
        self.add_source("tests/base/b.cpp", "int beside;  // not of the comment\n")
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
        self.write("README.md", "| `./ek train` | trains a model |\n\n```\n./ek train --set a=b  # c\n./ek fly\n```\n\n"
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
