#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The catalogue, and a scheme of one's own from the first line to the first step, with no rebuild."""
import json
import re
from xml.etree import ElementTree

import program
from program import metrics, small

KINDS = ", ".join(program.NORM_KINDS)
SVG = "{http://www.w3.org/2000/svg}"
NEXT = """{0}: written; without changes it equals {1}. Edit it, then run
  evenkeel schemes check {0}
  evenkeel schemes show {0}
  evenkeel train --scheme {0}
  evenkeel probe --scheme {0}
"""


class List(program.Case):
    def names(self, *arguments):
        return [scheme["name"] for scheme in json.loads(self.succeed("schemes", "--json", *arguments)[0])]

    def test_of_one_family(self):
        everything = json.loads(self.succeed("schemes", "--json")[0])
        hybrid = [scheme["name"] for scheme in everything if scheme["family"] == "hybrid"]
        self.assertIn("hybrid_norm_star", hybrid)
        self.assertEqual(self.names("--family", "hybrid"), hybrid)
        out = self.succeed("schemes", "--family", "hybrid")[0]
        self.assertEqual(re.findall(r"^  (\w+) +\S", out, re.MULTILINE), hybrid)
        self.assertRegex(out, rf"\n{len(hybrid)} schemes; ")

    def test_of_one_kind_in_any_place(self):
        self.assertIn("batch_norm", self.names("--kind", "batch_norm"))
        self.assertIn("gemma4", self.names("--kind", "rms_norm"))
        self.assertIn("norm_former", self.names("--kind", "scale"))  # only on its context
        self.assertNotIn("pre_norm", self.names("--kind", "layer_norm"))

    def test_of_a_family_and_a_kind(self):
        both = self.names("--family", "kinds", "--kind", "dyt")
        self.assertEqual(both, ["dyt"])
        self.assertEqual(self.names("--family", "hybrid", "--kind", "dyt"), [])
        self.assertEqual(self.succeed("schemes", "--family", "hybrid", "--kind", "dyt")[0],
                         "no scheme of this family has a norm of this kind\n")

    def test_unknown_words(self):
        self.refuse(64, f'--kind: no norm kind is named "rmsnorm"; did you mean "rms_norm"? known: {KINDS}',
                    "schemes", "--kind", "rmsnorm")
        families = sorted({scheme["family"] for scheme in json.loads(self.succeed("schemes", "--json")[0])})
        self.refuse(64, '--family: no family is named "hybird"; did you mean "hybrid"? known: '
                    + ", ".join(families), "schemes", "--family", "hybird")

    def test_a_filter_means_nothing_to_a_part(self):
        for option, part in [(["--family", "hybrid"], ["show", "keel"]),
                             (["--kind", "dyt"], ["check", "keel"]),
                             (["--markdown"], ["diff", "keel", "pre_norm"]),
                             (["--json"], ["new", "mine"])]:
            with self.subTest(part=part):
                self.refuse(64, f"{part[0]} excludes {option[0]}; see `evenkeel schemes {part[0]} --help`",
                            "schemes", *option, *part)


class Show(program.Case):
    def test_a_leak_is_named_with_its_places(self):
        out = self.succeed("schemes", "show", "batch_norm")[0]
        self.assertRegex(out, r"\nleak +batch_norm in attention\.input, feed_forward\.input, final: in "
                         r"training a token depends on other tokens, also later ones")
        self.assertEqual(json.loads(self.succeed("schemes", "show", "pre_norm", "--json")[0])["leaks"], [])
        bound = json.loads(self.succeed("schemes", "show", "gemma2", "--json", "--set", "model.layers=3")[0])["bound"]
        self.assertEqual((bound["layers"], bound["embedding"]["scale"]), ([0, 0, 0], 128**0.5))
        self.assertEqual(bound["blocks"][0]["attention"]["output"]["gain_form"], "1+w")

    def test_an_expected_warning_is_marked(self):
        self.assertRegex(self.succeed("schemes", "show", "qk_post")[0],
                         r"\nwarning +bare_value_path \(expected\): attention reads a stream")
        arguments = ["schemes", "show", "post_norm", "--set", "model.layers=17"]
        self.assertRegex(self.succeed(*arguments)[0], r"\nwarning +deep_post_norm: more than 16 blocks")
        warning = json.loads(self.succeed(*arguments, "--json")[0])["warnings"][0]
        self.assertEqual((warning["code"], warning["expected"]), ("deep_post_norm", False))


class Figure(program.Case):
    """The file of `schemes show --svg`: each norm once, at its place between the other operations."""
    ATTENTION = ["Q", "K", "V", "Attention", "Output"]
    FEED_FORWARD = ["Gate", "Up", "SwiGLU", "Down"]

    def boxes(self, scheme):
        """The boxes from the embedding upwards, each row from the left: norms by their place, others by their text."""
        self.succeed("schemes", "show", scheme, "--svg", "figure.svg")
        boxes = []
        for group in ElementTree.parse(self.folder / "figure.svg").iter(f"{SVG}g"):
            title, label = group.findtext(f"{SVG}title", ""), group.findtext(f"{SVG}text", "")
            box = group.find(f"{SVG}rect")
            if box is None:
                circle = group.find(f"{SVG}circle")
                boxes.append((-float(circle.get("cy")), float(circle.get("cx")), title))
                continue
            middle = float(box.get("y")) + float(box.get("height")) / 2
            is_norm = "norm" in box.get("class").split()
            self.assertEqual(label == "RMSNorm", is_norm, title)
            boxes.append((-middle, float(box.get("x")), title if is_norm else label))
        return [name for _, _, name in sorted(boxes)]

    def test_of_norms_before_each_sublayer(self):
        self.assertEqual(self.boxes("pre_norm"), [
            "Embedding", "attention.input: RMSNorm", *self.ATTENTION, "sum",
            "feed_forward.input: RMSNorm", *self.FEED_FORWARD, "sum", "final: RMSNorm", "Head"])

    def test_of_norms_after_each_sum(self):
        self.assertEqual(self.boxes("post_norm"), [
            "Embedding", *self.ATTENTION, "sum", "attention.residual: RMSNorm",
            *self.FEED_FORWARD, "sum", "feed_forward.residual: RMSNorm", "Head"])

    def test_of_norms_around_each_branch(self):
        self.assertEqual(self.boxes("peri_ln"), [
            "Embedding", "embedding_norm: RMSNorm",
            "attention.input: RMSNorm", *self.ATTENTION, "attention.output: RMSNorm", "sum",
            "feed_forward.input: RMSNorm", *self.FEED_FORWARD, "feed_forward.output: RMSNorm", "sum",
            "final: RMSNorm", "Head"])

    def test_of_norms_of_queries_keys_and_values(self):
        self.assertEqual(self.boxes("hybrid_norm"), [
            "Embedding", "Q", "K", "V", *(f"attention.{part}: RMSNorm per head" for part in "qkv"),
            "Attention", "Output", "sum", "feed_forward.input: RMSNorm", *self.FEED_FORWARD, "sum",
            "final: RMSNorm", "Head"])


class Diff(program.Case):
    def test_two_schemes(self):
        self.assertEqual(self.succeed("schemes", "diff", "hybrid_norm", "hybrid_norm_star")[0],
                         "in a model of preset tiny: 4 layers, width 128, 4 heads\n\n"
                         "                            hybrid_norm  hybrid_norm_star\n"
                         "block 1  attention.input    -            rms_norm\n"
                         "         feed_forward.skip  normed       stream\n"
                         "norms    parameters         1,024        1,152\n")

    def test_blocks_in_a_model_of_another_depth(self):
        out = self.succeed("schemes", "diff", "pre_norm", "hybrid_norm_star", "--set", "model.layers=9")[0]
        self.assertIn("\nblocks 2-9  attention.input", out)
        self.assertIn("\nstart       base_init", out)

    def test_a_file_and_one_name_of_it(self):
        self.write("mine.toml", 'extends = "hybrid_norm"\nattention = { branch_scale = "N/N" }\n')
        out = self.succeed("schemes", "diff", "mine.toml", "qkv_post")[0]
        self.assertIn("\nthe same function\n", out)
        result = json.loads(self.succeed("schemes", "diff", "mine.toml", "qkv_post", "--json")[0])
        self.assertEqual((result["relation"], result["norms_moved"], result["differences"]), ("same", [False, False], []))

    def test_norms_that_are_written_in_other_places(self):
        self.write("mine.toml", 'extends = "post_norm"\nnorm_parameters = "2*N*d + d"\n'
                   '[embedding]\nnorm = "norm"\n')
        out = self.succeed("schemes", "diff", "mine.toml", "post_norm_entry")[0]
        self.assertNotIn("embedding.norm", out)
        self.assertIn("\nnorms on a sum are shown as the input norm of the sublayer that reads it, in mine.toml\n"
                      "the same function\n", out)

    def test_in_the_form_in_which_a_patch_stays_in_its_block(self):
        result = json.loads(self.succeed("schemes", "diff", "post_norm", "post_norm_entry", "--json")[0])
        self.assertEqual([(each["blocks"], each["place"]) for each in result["differences"]],
                         [([1, 1], "attention.input"), ([1, 1], "attention.skip")])
        self.assertEqual((result["relation"], result["norms_moved"]), ("different", [True, False]))

    def test_one_function_until_gains_are_trained(self):
        self.write("fixed.toml", 'extends = "hybrid_norm"\nnorm = { kind = "rms_norm", out_scale = 0.5 }\n')
        self.write("gain.toml", 'extends = "hybrid_norm"\nnorm = { kind = "rms_norm", gain_init = 0.5 }\n')
        out = self.succeed("schemes", "diff", "fixed.toml", "gain.toml")[0]
        self.assertIn("\nthe same function at the first step, and different after it\n",
                      out)

    def test_other_initial_weights(self):
        out = self.succeed("schemes", "diff", "qkv_norm", "qkv_pre")[0]
        self.assertIn("\nthe same function from other initial weights\n", out)

    def test_as_json(self):
        result = json.loads(self.succeed("schemes", "--json", "diff", "hybrid_norm", "hybrid_norm_star")[0])
        self.assertEqual(result["norm_parameters"], [1024, 1152])
        self.assertEqual(result["differences"][0], {
            "blocks": [1, 1], "place": "attention.input", "left": "-", "right": "rms_norm",
            "only_at_start": False})
        self.assertEqual(result["relation"], "different")

    def test_a_name_that_the_catalogue_lacks(self):
        self.refuse(64, 'the catalogue has no scheme "keal"; a file is named by its path, '
                    'which ends in .toml; did you mean "keel"? `evenkeel schemes` lists all',
                    "schemes", "diff", "pre_norm", "keal")


class Check(program.Case):
    def check_says(self, code, *names):
        done = self.evenkeel("schemes", "check", *names)
        self.assertEqual((done.returncode, done.stderr), (code, b""), done)
        return done.stdout.decode()

    def test_a_sound_file(self):
        self.write("mine.toml", 'extends = "hybrid_norm"\nequation = { attention = "y = x + A(x)" }\n')
        self.assertEqual(self.check_says(0, "mine.toml"),
                         "mine.toml: fine\n"
                         "  attention     y = x + A(x)\n"
                         "  kinds         rms_norm\n"
                         "  parameters    N*(d + 3*dk) + d in the norms\n"
                         "  same as       hybrid_norm, qkv_post\n")

    def test_values_that_no_run_can_start_with(self):
        for line, found in (
                ('attention.branch_scale = { learned = "vector", init = -0.5, through = "silu" }',
                 "init must be 0 under silu(), but is -0.5"),
                ("norm = { gain_init = 1e39 }",
                 "must start with a number that float32 can hold, but with 1e+39")):
            with self.subTest(line=line):
                self.write("mine.toml", f'extends = "pre_norm"\n{line}\n')
                self.assertIn(found, self.check_says(1, "mine.toml"))

    def test_leaks_and_warnings(self):
        out = self.check_says(0, "batch_norm", "post_norm", "qk_post")
        self.assertRegex(out, r"\n  leak +batch_norm in attention\.input, feed_forward\.input, final: in t")
        self.assertRegex(out, r"\n  warning +deep_post_norm: more than 16 blocks .* "
                         r"\(of 1, 2, 4, 12, 29 blocks: at 29\)\n")
        self.assertRegex(out, r"\n  warning +bare_value_path \(expected\): attention reads")

    def test_a_misspelt_word(self):
        self.write("mine.toml", 'extends = "keel"\n[attention]\nimput = "norm"\n')
        self.assertEqual(self.check_says(1, "mine.toml"),
                         'mine.toml:3, attention: unknown_key: there is no key "imput" here; did you mean '
                         '"input"? known: angle_decay, branch_scale, context, input, k, output, q, '
                         "residual, score_scale, skip, skip_scale, softcap, update, v\n")

    def test_a_broken_rule_names_file_and_place(self):
        self.write("mine.toml", 'extends = "hybrid_norm"\n[feed_forward]\ninput = "none"\n')
        self.assertEqual(self.check_says(1, "mine.toml"),
                         "mine.toml: scheme mine, block 1, feed_forward.skip: normed_without_input: "
                         '"normed" is what the input norm gives, but feed_forward.input is empty here; '
                         'fill it, or take "stream"\n')

    def test_a_stale_formula_is_answered_with_the_right_one(self):
        self.write("mine.toml", 'extends = "pre_norm"\n[attention]\noutput = "norm"\n')
        self.assertEqual(self.check_says(1, "mine.toml"),
                         "mine.toml: scheme mine, norm_parameters: norm_parameters: the norms have 4736 "
                         'parameters, but "2*N*d + d" gives 3200; a scheme that changes its parent\'s '
                         "count states its own formula; here that is norm_parameters = "
                         '"3*N*d + d"\n')

    def test_what_goes_wrong_at_one_depth_only(self):
        self.write("mine.toml", 'extends = "pre_norm"\n[attention]\nbranch_scale = "1/(N - 29)"\n')
        self.assertRegex(self.check_says(1, "mine.toml"),
                         r"^mine\.toml: scheme mine, block 1, attention\.branch_scale: bad_expression: .*; "
                         r"in a model of 29 blocks of width 128, 4 heads and 2 key heads\n$")

    def test_one_that_is_wrong_does_not_stop_the_others(self):
        self.write("wrong.toml", "seed = 1\n")
        self.write("mine.toml", 'extends = "keel"\n')
        out = self.check_says(1, "wrong.toml", "mine.toml", "none.toml")
        self.assertRegex(out, r'^wrong\.toml:1: unknown_key: there is no key "seed" here; ')
        self.assertIn("\nmine.toml: fine\n", out)
        self.assertTrue(out.endswith("\nnone.toml: cannot open: No such file or directory\n"), out)

    def test_a_file_that_is_missing_is_no_verdict(self):
        self.assertEqual(self.check_says(74, "none.toml"),
                         "none.toml: cannot open: No such file or directory\n")

    def test_a_name_that_the_catalogue_lacks_is_no_verdict(self):
        self.assertRegex(self.check_says(64, "keal"), r'^keal: the catalogue has no scheme .*; did you mean "keel"\? ')

    def test_as_json(self):
        self.write("wrong.toml", "seed = 1\n")
        done = self.evenkeel("schemes", "check", "mix_ln", "wrong.toml", "--json")
        self.assertEqual(done.returncode, 1)
        fine, wrong = json.loads(done.stdout)
        self.assertEqual((fine["scheme"], fine["fine"], fine["kinds"]), ("mix_ln", True, ["rms_norm"]))
        self.assertEqual((wrong["scheme"], wrong["fine"]), ("wrong.toml", False))
        self.assertIn("unknown_key", wrong["error"])

    def test_the_whole_catalogue(self):
        names = [scheme["name"] for scheme in json.loads(self.succeed("schemes", "--json")[0])]
        self.assertEqual(re.findall(r"^(\w+): fine$", self.check_says(0, *names), re.MULTILINE), names)


class New(program.Case):
    def test_a_file_of_ones_own_from_the_first_line_to_the_first_step(self):
        self.assertEqual(self.succeed("schemes", "new", "mine", "--extends", "hybrid_norm"),
                         (NEXT.format("mine.toml", "hybrid_norm"), ""))
        checked = self.succeed("schemes", "check", "mine.toml")[0]
        self.assertIn("\n  same as       hybrid_norm, qkv_post\n", checked)
        self.assertRegex(self.succeed("schemes", "show", "mine.toml")[0], "^scheme +mine: mine\n")
        file = self.folder / "mine.toml"
        text = file.read_text().replace('#output = "norm"', 'output = "norm"')
        formula = 'norm_parameters = "N*(3*d + 3*dk) + d"'
        text, changed = re.subn(r'(?m)^#norm_parameters = ".*"', formula, text)
        self.assertEqual(changed, 1)
        file.write_text(text)
        self.assertIn("mine.toml: fine", self.succeed("schemes", "check", "mine.toml")[0])
        run = self.train("run", "--scheme", "mine.toml", train_steps=2)
        self.assertIn("attention -> rms_norm -> + stream", (run / "scheme.txt").read_text())
        self.assertEqual(metrics(run)[-1]["step"], 2)
        self.assertIn("mine", self.succeed("probe", "--scheme", "mine.toml", *small())[0])

    def test_elsewhere_and_from_a_file(self):
        (self.folder / "schemes").mkdir()
        self.succeed("schemes", "new", "first.toml", "--extends", "keel", "--output", "schemes/first.toml")
        self.assertEqual(self.succeed("schemes", "new", "second", "--extends", "first")[0],
                         NEXT.format("second.toml", "first"))
        self.assertIn("\n  same as       keel\n", self.succeed("schemes", "check", "second.toml")[0])

    def test_nothing_is_overwritten(self):
        self.write("mine.toml", "precious")
        self.refuse(64, "mine.toml: exists already and is not overwritten; name another file with --output",
                    "schemes", "new", "mine")
        self.assertEqual((self.folder / "mine.toml").read_text(), "precious")

    def test_names_that_cannot_be(self):
        for name in ("", "a/b", "my scheme", ".hidden"):
            self.refuse(64, "schemes new: a name must be of letters, digits and ._+-, but is "
                        f'"{name}"; a folder goes into --output', "schemes", "new", name)
        self.refuse(64, "--output mine.txt: the file of a scheme must end in .toml; its stem is the scheme's "
                    "name", "schemes", "new", "mine", "--output", "mine.txt")
        self.assertEqual(self.evenkeel("schemes", "new", "mine", "--out", "other.toml").returncode, 64)
        for arguments in (("pre_norm",), ("mine", "--output", "pre_norm.toml")):
            self.refuse(64, "schemes new: pre_norm is a scheme of the catalogue, which a file of this "
                        "name would hide; choose another name", "schemes", "new", *arguments)
        self.assertEqual(list(self.folder.glob("*.toml")), [])

    def test_a_family_of_models_is_a_parent(self):
        self.succeed("schemes", "new", "mine", "--extends", "llama")
        self.succeed("schemes", "check", "mine.toml")
        self.succeed("config", "--scheme", "qwen3", "--set", "scheme.norm=layer_norm")

    def test_a_parent_that_is_not_there(self):
        self.refuse(64, '--extends hybrid_nrom: there is no scheme "hybrid_nrom" in the folder of this one, in '
                    './schemes or in the catalogue; did you mean "hybrid_norm"? `evenkeel schemes` lists '
                    "those of the catalogue", "schemes", "new", "mine", "--extends", "hybrid_nrom")


if __name__ == "__main__":
    program.main()
