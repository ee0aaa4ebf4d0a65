#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The scripts of a report page in node, with page_dom.js in place of a browser: charts drawn again, saved figures."""
import json
import pathlib
import re
import shutil
import subprocess
import unittest
import xml.etree.ElementTree

import program
from program import LIMIT

NODE = shutil.which("node") or shutil.which("nodejs")
SVG = "{http://www.w3.org/2000/svg}"


@unittest.skipUnless(NODE, "no node is installed")
class Script(program.Case):
    FLAT = {"title": "t", "unit": "", "x": "size", "zero": False, "logx": False, "frame": [48, 10, 386, 198],
            "legend": [], "ax": [0, 4, False]}

    def prepare(self):
        run = self.train("runs/a-1", train_steps=30, log_every=1, probe_every=10, evaluate_every=10)
        (run / "health.jsonl").write_text(json.dumps({"step": 12, "event": "spike", "detail": "d"}) + "\n")
        self.succeed("report", "runs/a-1")

    def act(self, figures, clocks, *actions, **page):
        """The marks of each figure after these actions. \\param page  style and theme of page_dom.js"""
        sources = pathlib.Path(__file__).parents[2] / "src/evenkeel/report"
        scripts = [sources / name for name in ("save_script.js", "page_script.js")]
        given = {"figures": [{"data": data, "names": names} for data, names in figures], "clocks": clocks,
                 "actions": actions, **page}
        done = subprocess.run([NODE, pathlib.Path(__file__).with_name("page_dom.js"), *scripts], timeout=LIMIT,
                              input=json.dumps(given), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def of_run(self):
        """The figures of the page of a run with their pictures, and its clocks."""
        page = (self.folder / "runs/a-1/report.html").read_text()
        figures, pictures = [], []
        for figure in re.findall(r"<figure.*?</figure>", page, re.DOTALL):
            if data := re.search(r'<script type="application/json">(.*?)</script>', figure):
                figures.append((data[1], figure.count("<li>")))
                pictures.append(figure)
        return figures, pictures, re.search(r'id="clocks">(.*?)</script>', page)[1]

    def themes(self, sheet):
        """The CSS variables of the page on light and on dark screens."""
        light, dark = (dict(re.findall(r"(--[\w-]+): ([^;]+);", rules))
                       for rules in re.findall(r":root \{(.*?)\}", sheet, re.DOTALL)[:2])
        return light, light | dark

    def test_a_saved_figure_has_the_colours_of_its_theme_and_no_variables(self):
        figures, _, clocks = self.of_run()
        sheet = re.search(r"<style>(.*?)</style>", (self.folder / "runs/a-1/report.html").read_text(), re.DOTALL)[1]
        light, dark = self.themes(sheet)
        self.assertNotEqual(light["--c0"], dark["--c0"])
        for theme, other in ((light, dark), (dark, light)):
            for changes in ((), (["log y", 0],)):  # the picture of the page, and one that the script draws
                saved = self.act(figures, clocks, *changes, ["SVG", 0], style=sheet, theme=theme)
                for piece in ("var(", "--c0", "@media", ":root"):
                    self.assertNotIn(piece, saved)
                root = xml.etree.ElementTree.fromstring(saved)
                self.assertEqual((root.tag, root.get("width"), root.get("height")), (SVG + "svg", "400", "240"))
                self.assertEqual([child.tag for child in root][:2], [SVG + "style", SVG + "rect"])
                self.assertEqual(root[1].attrib, {"width": "100%", "height": "100%", "fill": theme["--paper"]})
                self.assertIn(f"path.c0 {{ stroke: {theme['--c0']}; }}", root[0].text)
                self.assertIn(f"svg .name {{ fill: {theme['--ink']}; }}", root[0].text)
                self.assertNotIn(other["--c0"], saved)
                self.assertEqual(len(root) > 2, bool(changes))

    def test_the_values_of_a_figure_are_saved_as_csv(self):
        line = {"name": 'a, "b"', "run": 0, "style": "c0 d0", "x": [1, 2], "y": [0.5, None]}
        chart = self.FLAT | {"ay": [0, 1, False], "lines": [line]}
        heat_map = {"title": "m", "unit": "", "x": "step", "cells": [[1, None]], "steps": [10], "first": 1}
        figures = [(json.dumps(chart), 0), (json.dumps(heat_map), 0)]
        self.assertEqual(self.act(figures, "[]", ["CSV", 0]), 'series,size,value\n"a, ""b""",1,0.5\n"a, ""b""",2,\n')
        self.assertEqual(self.act(figures, "[]", ["CSV", 1]), "step,layer,value\n10,1,1\n10,2,\n")

    def test_every_control_works_on_a_page_with_heat_maps(self):
        figures, pictures, clocks = self.of_run()
        heat_maps = [at for at, (data, _) in enumerate(figures) if '"cells"' in data]
        self.assertTrue(heat_maps)
        for action in (["smoothing", 0.5], ["x axis", "tokens"], ["x axis", "FLOPs"]):
            with self.subTest(action=action):
                drawn = self.act(figures, clocks, action)
                for at in heat_maps:
                    self.assertIsNone(drawn[at])
                loss = drawn[0]
                for kind in ('class="flag"', "<circle", 'class="reference"'):
                    tag, name = ("circle", "") if kind == "<circle" else ("path", kind[7:-1])
                    count = sum(mark["tag"] == tag and name in mark["class"] for mark in loss)
                    self.assertEqual(count, pictures[0].count(kind), kind)
                self.assertGreater(pictures[0].count('class="flag"'), 0)
                self.assertGreater(pictures[0].count("<circle"), 0)

    def test_a_reference_line_stays_inside_the_frame(self):
        figures, _, clocks = self.of_run()
        at = next(at for at, (data, _) in enumerate(figures) if "clipped above" in data)
        marks = self.act(figures, clocks, ["log y", at])[at]
        line = next(mark for mark in marks if mark["class"] == "reference")
        self.assertTrue(10 <= float(line["d"].split()[1].split("H")[0]) <= 198, line["d"])
        self.assertTrue(any(mark["text"].startswith("clipped above") for mark in marks))

    def test_bounds_dots_crosses_and_lone_points_are_drawn_again(self):
        lines = [{"name": "a", "run": 0, "style": "c1 d0", "x": [1, 3], "y": [2, 3], "curve": False, "dots": True,
                  "bounds": "bars", "low": [1, 2], "high": [3, 5]},
                 {"name": "b", "run": 0, "style": "c2 d0", "x": [1, 2, 3], "y": [2, None, 3],
                  "bounds": "band", "low": [1, None, 2], "high": [3, None, None]}]
        data = self.FLAT | {"ay": [0, 6, False], "lines": lines, "ticks": [[1, "one"], [3, "three"]],
                            "crosses": [{"at": 2, "title": "diverged", "colour": 1}]}
        figures, _, clocks = self.of_run()
        marks = self.act([*figures, (json.dumps(data), 0)], clocks, ["log y", len(figures)])[-1]
        kinds = [mark["class"] for mark in marks]
        for kind in ("band c2", "bar c1", "cross c1"):
            self.assertEqual(kinds.count(kind), 1, kind)
        self.assertEqual([mark["tag"] for mark in marks].count("circle"), 2)
        curves = [mark["d"] for mark in marks if mark["class"].startswith("line")]
        self.assertEqual(len(curves), 1)  # the first line has points only
        self.assertEqual(curves[0].count("h0"), 2)
        self.assertTrue({"one", "three"} <= {mark["text"] for mark in marks})

    def test_a_constant_that_is_smoothed_has_few_ticks(self):
        line = {"name": "", "run": 0, "style": "c0 d0", "x": list(range(50)), "y": [1.25] * 50}
        data = self.FLAT | {"x": "step", "ax": [0, 50, False], "ay": [0, 2, False], "lines": [line]}
        figures, _, clocks = self.of_run()
        marks = self.act([*figures, (json.dumps(data), 0)], clocks, ["smoothing", "0.9"])[-1]
        self.assertTrue(2 <= [mark["class"] for mark in marks].count("grid") <= 8, marks)

    def test_ticks_of_many_decades_are_thinned(self):
        line = {"name": "", "run": 0, "style": "c0 d0", "x": [1, 2], "y": [1e-9, 1e31]}
        data = self.FLAT | {"ay": [0, 1e31, False], "lines": [line]}
        figures, _, clocks = self.of_run()
        marks = self.act([*figures, (json.dumps(data), 0)], clocks, ["log y", len(figures)])[-1]
        labels = [mark["text"] for mark in marks if mark["class"] == "end"]
        self.assertTrue(3 <= len(labels) <= 7, labels)
        for label in labels:
            self.assertLessEqual(len(label), 8)


if __name__ == "__main__":
    program.main()
