// SPDX-License-Identifier: Apache-2.0
// Runs the scripts of a report page without a browser, on the few parts of a document that they use.
//
// Usage: node page_dom.js SCRIPT ... < {"figures": [{"data": JSON, "names": N}], "clocks": JSON, "actions": [...],
//                                      "style": the style sheet, "theme": {"--c0": the value of a CSS variable}}
// The scripts run in this order, as those of a page.
// An action is ["smoothing", value], ["x axis", name], ["log y", figure], ["legend", figure, entry],
// ["SVG", figure] or ["CSV", figure].
// Prints the marks of each figure, {tag, class, d, text}, after all actions; null for a picture that the script left as
// it was. After ["SVG", figure] or ["CSV", figure] it prints the saved file instead.
"use strict";
const fs = require("fs"), vm = require("vm");

class Node {
  constructor(tag, content = "") {
    Object.assign(this, { tag, content, attributes: {}, children: [], listeners: {}, style: {}, found: {} });
    this.classList = { toggle: () => {} };
  }
  set innerHTML(html) { this.html = html; this.children = []; }
  get innerHTML() { return this.html || ""; }
  set textContent(text) { this.content = text; }
  get textContent() { return this.content; }
  setAttribute(name, value) { this.attributes[name] = String(value); }
  appendChild(node) { this.children.push(node); return node; }
  prepend(...nodes) { this.children.unshift(...nodes); }
  cloneNode() {
    const out = new Node(this.tag, this.content);
    Object.assign(out, { html: this.html, attributes: { ...this.attributes } });
    out.children = this.children.map((each) => each.cloneNode());
    return out;
  }
  click() { (this.listeners.click || (() => {}))(); }
  replaceChildren(...nodes) { this.children = nodes; }
  remove() {}
  addEventListener(name, action) { this.listeners[name] = action; }
  closest() { return this.parent; }
  querySelector(name) { return this.found[name]; }
  querySelectorAll(name) { return this.found[name] || []; }
}

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
const serialized = (node) => {
  const names = Object.entries(node.attributes).map(([name, value]) => ` ${name}="${escaped(value)}"`).join("");
  return `<${node.tag}${names}>${node.html || ""}${escaped(node.content)}${node.children.map(serialized).join("")}</${node.tag}>`;
};

const given = JSON.parse(fs.readFileSync(0, "utf8"));
const figures = given.figures.map(({ data, names }) => {
  const figure = new Node("figure"), svg = new Node("svg"), script = new Node("script", data);
  svg.innerHTML = "the picture of the page";
  svg.viewBox = { baseVal: { width: 400, height: 240 } };
  figure.found = { ".scroll > svg": svg, ".legend li": Array.from({ length: names }, () => new Node("li")) };
  return Object.assign(script, { parent: figure });
});
const controls = new Node("div"), body = new Node("body");
const document = Object.assign(new Node("document"), {
  body, createElement: (tag) => new Node(tag), createElementNS: (_, tag) => new Node(tag),
  getElementById: () => new Node("script", given.clocks) });
document.found = { ".controls": controls, "figure script": figures, "style": new Node("style", given.style) };
let saved = null;
const browser = {
  document, setTimeout: () => 0,
  Blob: class { constructor(parts) { this.text = parts.join(""); } },
  URL: { createObjectURL: (blob) => { saved = blob.text; return "blob:"; }, revokeObjectURL: () => {} },
  XMLSerializer: class { serializeToString(node) { return serialized(node); } },
  getComputedStyle: () => ({ getPropertyValue: (name) => ` ${given.theme[name] || ""}` }) };
vm.createContext(browser);
for (const script of process.argv.slice(2)) vm.runInContext(fs.readFileSync(script, "utf8"), browser);

const control = (name) => controls.children.find((label) => label.content.startsWith(name)).children[0];
const change = (node, event, value) => { node.value = value; node.listeners[event](); };
const press = (at, name) => figures[at].parent.children[0].children.find((each) => each.content === name).click();
const actions = {
  "smoothing": (value) => change(control("smoothing"), "input", value),
  "x axis": (value) => change(control("x axis"), "change", value),
  "log y": (at) => figures[at].parent.children[0].children[0].click(),
  "SVG": (at) => press(at, "SVG"),
  "CSV": (at) => press(at, "CSV"),
  "legend": (at, entry) => figures[at].parent.found[".legend li"][entry].listeners.click(),
};
for (const [name, ...values] of given.actions) actions[name](...values);
const marks = (svg) => svg.html ? null : svg.children.map((each) => (
  { tag: each.tag, class: each.attributes.class || "", d: each.attributes.d || "", text: each.content }));
console.log(JSON.stringify(saved !== null ? saved : figures.map((each) => marks(each.parent.found[".scroll > svg"]))));
