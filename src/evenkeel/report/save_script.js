// SPDX-License-Identifier: Apache-2.0
// Saves a figure of a report page as a file: its values as CSV, its picture as SVG or PNG. page_script.js calls it.
"use strict";
const saveFigure = (() => {
  const NS = "http://www.w3.org/2000/svg";
  const save = (blob, name) => {
    const link = document.createElement("a");
    link.setAttribute("href", URL.createObjectURL(blob));
    link.setAttribute("download", name);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const csv = (c) => {
    const quote = (s) => /[",\n]/.test(s) ? `"${s.replaceAll('"', '""')}"` : s, out = [];
    if (c.data.cells) {
      out.push(`${c.data.x},layer,value`);
      c.data.cells.forEach((v, i) => v.forEach((y, l) => out.push(`${c.data.steps[i]},${c.data.first + l},${y === null ? "" : y}`)));
    } else {
      out.push(`series,${quote(c.data.x)},value`);
      for (const l of c.data.lines) l.x.forEach((x, i) => out.push(`${quote(l.name || c.data.title)},${x},${l.y[i] === null ? "" : l.y[i]}`));
    }
    return out.join("\n") + "\n";
  };
  // A text with the values of the CSS variables in their place, in the theme of the screen.
  const withoutVariables = (text) => {
    const root = getComputedStyle(document.documentElement);
    return text.replace(/var\((--[\w-]+)\)/g, (whole, name) => root.getPropertyValue(name).trim() || whole);
  };
  // The rules of the page without those of themes, narrow screens and print, and without the variables.
  const pageRules = () => document.querySelector("style").textContent
    .replace(/@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}/g, "").replace(/:root\s*\{[^}]*\}/g, "");
  // The figure as a file for any program: with its rules and its background, without CSS variables.
  const svgText = (c) => {
    const copy = c.svg.cloneNode(true), view = c.svg.viewBox.baseVal;
    copy.setAttribute("xmlns", NS);
    copy.setAttribute("width", view.width); copy.setAttribute("height", view.height);
    const style = document.createElementNS(NS, "style"), paper = document.createElementNS(NS, "rect");
    style.textContent = pageRules() + "svg text{font-family:sans-serif}";
    for (const [key, value] of [["width", "100%"], ["height", "100%"], ["fill", "var(--paper)"]]) paper.setAttribute(key, value);
    copy.prepend(style, paper);
    return withoutVariables(new XMLSerializer().serializeToString(copy));
  };
  const png = (c, name) => {
    const image = new Image(), view = c.svg.viewBox.baseVal, scale = 3;
    image.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.setAttribute("width", view.width * scale);
      canvas.setAttribute("height", view.height * scale);
      const pen = canvas.getContext("2d");
      pen.fillStyle = getComputedStyle(document.documentElement).backgroundColor;
      pen.fillRect(0, 0, canvas.width, canvas.height);
      pen.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(blob, name));
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svgText(c));
  };
  return {
    csv: (c, name) => save(new Blob([csv(c)], { type: "text/csv" }), name),
    svg: (c, name) => save(new Blob([svgText(c)], { type: "image/svg+xml" }), name),
    png,
  };
})();
