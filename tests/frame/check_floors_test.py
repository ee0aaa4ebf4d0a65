#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/check_floors.py refuses trees that break one rule each, and passes one that keeps all."""
import pathlib
import tempfile
import unittest

from check_case import GOOD_TREE, ROOT, SPDX, Checks, run

import check_floors
import unit_rules


class Floors(Checks):
    def expect(self, *lines):
        self.assertEqual(run("check_floors.py", self.root), (1, list(lines)))

    def test_a_good_tree_passes(self):
        self.assertEqual(run("check_floors.py", self.root), (0, [GOOD_TREE]))

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
        for header in ["torch/torch.h", "torch/all.h"]:
            self.add_source("src/evenkeel/nn/b.cpp", f"#include <{header}>\n")
            self.expect(f"src/evenkeel/nn/b.cpp:2: <{header}> is too large to include; "
                        "take the header of what is used")

    def test_a_relative_include_is_refused(self):
        self.add_source("src/evenkeel/base/b.cpp", '#include "../nn/model.h"\n')
        self.expect("src/evenkeel/base/b.cpp:2: an include of ours begins with evenkeel/, but this one is "
                    "../nn/model.h")

    def test_no_floor_includes_itself_through_others(self):
        self.assertEqual(list(check_floors.order_complaints(check_floors.FLOORS)), [])
        circle = {"base": [], "norm": ["base", "config"], "config": ["norm"]}
        self.assertEqual(list(check_floors.order_complaints(circle)),
                         ["tools/check_floors.py: floor norm may not include config, which is no lower floor"])

    def test_a_floor_needs_what_it_includes(self):
        self.write("src/evenkeel/norm/CMakeLists.txt", "ek_floor(norm SOURCES a.cpp NEEDS ek_base ek_nn)\n")
        self.expect("src/evenkeel/norm/CMakeLists.txt: NEEDS must name base, but names base nn")

    def test_a_source_that_nobody_builds_goes(self):
        self.write("src/evenkeel/base/data.cpp", SPDX)
        self.write("src/evenkeel/base/a.cpp", SPDX + '#include "evenkeel/base/a.h"\n')
        self.write("src/evenkeel/base/CMakeLists.txt", "ek_floor(base SOURCES a.cpp metadata.cpp)\n")
        self.expect("src/evenkeel/base/data.cpp: no CMakeLists.txt builds it")

    def test_a_study_is_in_the_program(self):
        self.write("studies/depth.toml", "")
        self.write("studies/depth_two.toml", "")
        self.write("src/evenkeel/study/CMakeLists.txt", "ek_embed(${STUDIES}/depth_two.toml)\n")
        self.expect("studies/depth.toml: src/evenkeel/study/CMakeLists.txt does not name it")

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
            self.assertEqual(lines[0], "src/evenkeel/norm/b.cpp: twice() in an anonymous namespace: "
                                       "src/evenkeel/norm/c.cpp uses the name, too; both are in one unit")
        self.write("src/evenkeel/norm/c.cpp", SPDX + "int four() { return number.twice(2) + a::twice(2); }\n")
        self.assertEqual(run("check_floors.py", self.root)[0], 0)

    def test_sources_for_cuda_are_a_unit_of_their_own(self):
        hidden = SPDX + 'namespace {\nint twice(int x) {\n  return 2 * x;\n}\n}  // namespace\n'
        self.write("src/evenkeel/norm/CMakeLists.txt", "ek_floor(norm SOURCES b.cpp b_cuda.cpp c_cuda.cpp)\n")
        self.write("src/evenkeel/norm/b.h", SPDX)
        self.write("src/evenkeel/norm/b.cpp", '#include "evenkeel/norm/b.h"\n' + hidden)
        self.write("src/evenkeel/norm/b_cuda.cpp", hidden)
        self.assertNotIn("twice", "".join(run("check_floors.py", self.root)[1]))
        self.write("src/evenkeel/norm/c_cuda.cpp", hidden)
        self.assertIn("src/evenkeel/norm/b_cuda.cpp: twice() in an anonymous namespace: src/evenkeel/norm/c_cuda.cpp "
                      "uses the name, too; both are in one unit", run("check_floors.py", self.root)[1])

    def test_a_hidden_type_of_a_name_in_use_is_refused(self):
        hidden = "namespace {\nstruct Row {\n  int x;\n};\n}  // namespace\n"
        self.write("src/evenkeel/norm/CMakeLists.txt", "ek_floor(norm SOURCES b.cpp c.cpp)\n")
        self.write("src/evenkeel/norm/b.cpp", SPDX + hidden)
        for text in [hidden, "namespace {\nusing Row = int;\n}  // namespace\n"]:
            self.write("src/evenkeel/norm/c.cpp", SPDX + text)
            code, lines = run("check_floors.py", self.root)
            self.assertEqual(code, 1)
            self.assertIn("src/evenkeel/norm/b.cpp: Row in an anonymous namespace: src/evenkeel/norm/c.cpp "
                          "gives the name to another type", lines)
        self.write("src/evenkeel/norm/c.cpp", SPDX + "struct Row;\n")
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

    def test_parsers_and_prints_have_one_door(self):
        for call, door in [("nlohmann::json::parse(text)", "parse_json() of base/json_parser.h"),
                           ("toml::parse(text)", "parse_toml() of config/toml_parser.h"),
                           ("std::fprintf(stderr, text)", "print() or print_message() of base/print.h")]:
            self.add_source("src/evenkeel/base/b.cpp", f"auto a = {call};\n")
            self.expect(f"src/evenkeel/base/b.cpp:2: {call[:call.index('(')]} is not allowed here; call {door}")

    def test_a_source_without_a_header_is_refused(self):
        names = {f"src/evenkeel/{floor}/a{end}" for floor in check_floors.FLOORS for end in (".h", ".cpp", "_cpu.cpp")}
        names.add("src/evenkeel/cli/main.cpp")
        self.assertEqual(list(check_floors.header_complaints(names)), [])
        names |= {"src/evenkeel/nn/ab.cpp", "src/evenkeel/ops/x/a.cpp", "tests/nn/a_test.cpp"}
        self.assertEqual(list(check_floors.header_complaints(names)), [
            f"src/evenkeel/{each}.cpp: no header has its name or the first words of it"
            for each in ("nn/ab", "ops/x/a")])

    def test_an_empty_tree_is_not_a_good_one(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(run("check_floors.py", folder),
                             (1, [f"{pathlib.Path(folder).resolve()}: no sources here"]))


if __name__ == "__main__":
    unittest.main()
