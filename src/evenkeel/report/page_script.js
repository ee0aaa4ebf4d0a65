// SPDX-License-Identifier: Apache-2.0
// Interaction of a report page. The page is complete without it: each figure has its picture, and its numbers as JSON.
// save_script.js comes first: it defines saveFigure.
"use strict";
(() => {
  const NS = "http://www.w3.org/2000/svg";
  const state = { x: "step", smooth: 0, log: {}, off: {} };  // by title of the figure
  let charts = [], clocks = [], tip = null;
  const make = (tag, attributes, text) => {
    const out = document.createElement(tag);
    for (const key in attributes) out.setAttribute(key, attributes[key]);
    if (text !== undefined) out.textContent = text;
    return out;
  };
  const mark = (parent, tag, attributes, text) => {
    const out = document.createElementNS(NS, tag);
    for (const key in attributes) out.setAttribute(key, attributes[key]);
    if (text !== undefined) out.textContent = text;
    parent.appendChild(out);
    return out;
  };
  const short = (v) => {
    const a = Math.abs(v);
    if (a >= 1e15) return (+v.toPrecision(4)).toExponential().replace("+", "");
    if (a >= 1e4) for (const [u, s] of [["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]])
      if (a >= s) return +(v / s).toPrecision(4) + u;
    return a > 0 && a < 1e-3 ? v.toExponential(2) : String(+v.toPrecision(5));
  };
  const read = (node) => JSON.parse(node.textContent);

  // x of a point on the chosen axis: tokens, seconds or FLOPs by linear interpolation over the steps.
  const clockOf = (line) => clocks[line.run || 0];
  const toAxis = (line, step) => {
    const clock = clockOf(line), values = clock && clock[state.x], steps = clock && clock.step;
    if (state.x === "step" || !values) return step;
    let at = steps.findIndex((s) => s >= step);
    if (at < 0) at = steps.length - 1;
    if (at === 0) return steps[0] > 0 ? values[0] * step / steps[0] : values[0];
    const part = (step - steps[at - 1]) / (steps[at] - steps[at - 1]);
    return values[at - 1] + part * (values[at] - values[at - 1]);
  };
  const canChange = (c) => c.data.x === "step" && !c.data.logx;
  // Exponential moving average, debiased as in TensorBoard.
  const ema = (ys, a) => {
    if (!(a > 0)) return ys;
    let sum = 0, weight = 0;
    return ys.map((y) => {
      if (y === null) return null;
      sum = a * sum + (1 - a) * y;
      weight = a * weight + (1 - a);
      return sum / weight;
    });
  };
  const linesOf = (c) => c.data.lines.filter((l, i) => !(state.off[c.key] || {})[l.name || i]).map((l) => {
    const smooth = (values) => canChange(c) ? ema(values, state.smooth) : values;
    return { ...l, shift: l.shift || 0, xs: canChange(c) ? l.x.map((x) => toAxis(l, x)) : l.x, ys: smooth(l.y),
      low: smooth(l.low || []), high: smooth(l.high || []) };
  });
  const place = (axis, v) => axis.log ? Math.log(v / axis.low) / Math.log(axis.high / axis.low)
    : (v - axis.low) / (axis.high - axis.low);
  const atX = (c, v) => c.data.frame[0] + place(c.ax, v) * (c.data.frame[2] - c.data.frame[0]);
  const atY = (c, v) => c.data.frame[3] - place(c.ay, v) * (c.data.frame[3] - c.data.frame[1]);
  const linearTicks = (axis, wanted) => {
    const out = [], least = (axis.high - axis.low) / wanted, decade = 10 ** Math.floor(Math.log10(least));
    const step = decade * [1, 2, 5, 10].find((m) => m * decade >= least * 0.999);
    for (let i = Math.ceil(axis.low / step - 1e-6); i * step <= axis.high + step * 1e-6; i++) out.push(i * step);
    return out;
  };
  // Multiples of every `stride`-th power of ten.
  const powerTicks = (axis, multiples, stride) => {
    const out = [];
    for (let p = Math.floor(Math.log10(axis.low)); p <= Math.floor(Math.log10(axis.high)); p++)
      if (p % stride === 0) for (const m of multiples) out.push(+`${m}e${p}`);
    return out.filter((v) => v >= axis.low * 0.999999 && v <= axis.high * 1.000001);
  };
  // As logarithmic_ticks() of axis.cpp.
  const ticks = (axis, wanted) => {
    if (!axis.log) return linearTicks(axis, wanted);
    const all = [[1, 2, 5], [1, 3], [1]].map((m) => powerTicks(axis, m, 1));
    const out = all.find((each) => each.length <= wanted + 1) || all[2];
    if (out.length < 3) return linearTicks(axis, wanted);
    const decades = Math.ceil(Math.log10(axis.high) - Math.log10(axis.low));
    return decades > wanted ? powerTicks(axis, [1], Math.ceil(decades / wanted)) : out;
  };
  const isLog = (c) => c.key in state.log ? state.log[c.key] : c.data.ay[2];
  const isDefault = (c) => isLog(c) === c.data.ay[2] && !Object.values(state.off[c.key] || {}).some(Boolean)
    && (!canChange(c) || (state.x === "step" && state.smooth === 0));
  const defaultAxes = (c) => {
    const axis = (a) => ({ low: a[0], high: a[1], log: a[2] });
    c.ax = axis(c.data.ax); c.ay = axis(c.data.ay);
  };
  const isShown = (v, log) => v !== null && v !== undefined && (!log || v > 0);
  // Whether a point has error bounds of this form.
  const hasBounds = (l, i, form, log) => l.bounds === form && isShown(l.high[i], log) && isShown(l.ys[i], log);
  const flagX = (c, flag) => canChange(c) ? toAxis({}, flag.at) : flag.at;
  const range = (v) => v.reduce((r, x) => [Math.min(r[0], x), Math.max(r[1], x)], [Infinity, -Infinity]);
  // The axes that contain all lines, their bounds, crosses and the reference; false without a point.
  const fitAxes = (c, lines, log) => {
    const xs = (c.data.crosses || []).map((cross) => cross.at), ys = [];
    for (const l of lines) l.ys.forEach((y, i) => { if (isShown(y, log)) { xs.push(l.xs[i]); ys.push(y); } });
    if (!ys.length) return false;
    const [least, most] = range(ys), [x0, x1] = range(xs), reach = most - least;
    for (const l of lines) for (const v of [...l.low, ...l.high])
      if (isShown(v, log)) ys.push(l.bounds === "bars" && !log && reach > 0 ? Math.max(least - reach, Math.min(most + reach, v)) : v);
    const reference = c.data.reference;
    if (reference && isShown(reference.at, log)) ys.push(reference.at);
    let [y0, y1] = range(ys);
    if (c.data.zero && !log) y0 = Math.min(0, y0);
    const size = Math.max(Math.abs(y0), Math.abs(y1)), one = y1 - y0 <= 1e-9 * size;  // equal but for roundings
    const pad = log ? (one ? 1 : (y1 / y0) ** 0.05) : (one ? size || 1 : y1 - y0) * 0.05, times = pad > 1 ? pad : 2;
    c.ay = log ? { low: y0 / times, high: y1 * times, log } : { low: c.data.zero ? y0 : y0 - pad, high: y1 + pad, log };
    if (!c.data.ax[2] && canChange(c)) c.ax = { low: x0 < 0.1 * x1 ? 0 : x0, high: x1 > x0 ? x1 : x0 + 1, log: false };
    return true;
  };
  const drawAxes = (c) => {
    const [left, , right, bottom] = c.data.frame;
    for (const v of ticks(c.ay, 6)) {
      mark(c.svg, "path", { class: "grid", d: `M${left} ${atY(c, v)}H${right}` });
      mark(c.svg, "text", { class: "end", x: left - 8, y: atY(c, v) + 4 }, short(v));
    }
    const across = c.data.ticks || ticks(c.ax, right - left > 500 ? 10 : 5).map((v) => [v, short(v)]);
    const ends = across.map(([v]) => `M${atX(c, v)} ${bottom}v5`).join("");
    mark(c.svg, "path", { class: "axis", d: `M${left} ${bottom}H${right}${ends}` });
    for (const [v, label] of across)
      mark(c.svg, "text", { class: "middle", x: Math.min(atX(c, v), right - 8), y: bottom + 19 }, label);
    const name = canChange(c) ? state.x : c.data.x, isLong = !canChange(c) && name.length > 6;
    mark(c.svg, "text", isLong ? { class: "middle", x: (left + right) / 2, y: bottom + 36 } : { x: 0, y: bottom + 19 }, name);
  };
  const drawFlags = (c) => {
    const [, top, , bottom] = c.data.frame;
    for (const flag of c.data.flags || []) {
      const v = flagX(c, flag);
      if (!(v >= c.ax.low && v <= c.ax.high)) continue;
      const out = mark(c.svg, "path", { class: "flag", d: `M${atX(c, v)} ${top}V${bottom}M${atX(c, v) - 4} ${top}h8` });
      mark(out, "title", {}, flag.title);
    }
  };
  const xOf = (c, l, i) => (atX(c, l.xs[i]) + l.shift).toFixed(1);
  const lowY = (c, l, i, log) => isShown(l.low[i], log) ? atY(c, l.low[i]) : c.data.frame[3];
  const colourOf = (l) => l.style.split(" ")[0];
  const drawBand = (c, l, log) => {
    let d = "";
    for (let i = 0; i < l.ys.length; i++) {
      let forth = "", back = "";
      for (; hasBounds(l, i, "band", log); i++) {
        forth += `${forth ? "L" : "M"}${xOf(c, l, i)} ${atY(c, l.high[i]).toFixed(1)}`;
        back = `L${xOf(c, l, i)} ${lowY(c, l, i, log).toFixed(1)}` + back;
      }
      if (forth) d += forth + back + "Z";
    }
    if (d) mark(c.svg, "path", { class: `band ${colourOf(l)}`, d });
  };
  const drawCurve = (c, l, log) => {
    if (l.curve === false) return;
    let d = "", down = false;
    l.ys.forEach((y, i) => {
      const shown = isShown(y, log);
      if (shown) d += `${down ? "L" : "M"}${xOf(c, l, i)} ${atY(c, y).toFixed(1)}`;
      if (shown && !down && !isShown(l.ys[i + 1], log)) d += "h0";  // a dot
      down = shown;
    });
    mark(c.svg, "path", { class: `line ${l.style}`, d });
  };
  const drawBars = (c, l, log) => {
    const [, top, , bottom] = c.data.frame;
    let d = "";
    l.ys.forEach((_, i) => {
      if (!hasBounds(l, i, "bars", log)) return;
      const x = xOf(c, l, i), high = atY(c, l.high[i]), low = lowY(c, l, i, log);
      d += `M${x} ${Math.max(high, top)}V${Math.min(low, bottom)}`;
      for (const y of [high, low]) if (y >= top && y < bottom) d += `M${x - 3} ${y}h6`;
    });
    if (d) mark(c.svg, "path", { class: `bar ${colourOf(l)}`, d });
  };
  const drawDots = (c, l, log) => {
    if (l.dots) l.ys.forEach((y, i) => {
      if (!isShown(y, log)) return;
      const out = mark(c.svg, "circle", { class: colourOf(l), cx: xOf(c, l, i), cy: atY(c, y).toFixed(1), r: 2.6 });
      mark(out, "title", {}, `${l.name ? l.name + ", " : ""}${canChange(c) ? state.x : c.data.x} ${short(l.xs[i])}: ${short(y)}`);
    });
  };
  const drawCrosses = (c) => {
    const all = c.data.crosses || [], y = c.data.frame[1] + 4;
    all.forEach((cross) => {  // those at one x side by side
      const same = all.filter((o) => o.at === cross.at), place = same.indexOf(cross) - (same.length - 1) / 2;
      const x = atX(c, cross.at) + 10 * place;
      const out = mark(c.svg, "path", { class: `cross c${cross.colour}`,
        d: `M${x - 4} ${y - 4}L${x + 4} ${y + 4}M${x + 4} ${y - 4}L${x - 4} ${y + 4}` });
      mark(out, "title", {}, cross.title);
    });
  };
  const drawReference = (c, log) => {
    const reference = c.data.reference, [left, , right, bottom] = c.data.frame;
    if (!reference || !isShown(reference.at, log)) return;
    const y = atY(c, reference.at);
    mark(c.svg, "path", { class: "reference", d: `M${left} ${y}H${right}` });
    mark(c.svg, "text", { class: "end", x: right, y: y + (y + 18 < bottom ? 14 : -5) }, reference.label);
  };
  // The chart as figure() of chart.cpp draws it, with the chosen axes and smoothing. A heat map has none.
  const draw = (c) => {
    if (c.data.cells) return;
    c.svg.innerHTML = c.original;
    defaultAxes(c);
    if (isDefault(c)) return;
    const log = isLog(c), lines = linesOf(c);
    if (!fitAxes(c, lines, log)) return;
    c.svg.innerHTML = "";
    drawAxes(c);
    drawFlags(c);
    for (const each of [drawBand, drawCurve, drawBars, drawDots]) for (const l of lines) each(c, l, log);
    drawCrosses(c);
    drawReference(c, log);
  };
  const hideTip = () => {
    if (tip) tip.hidden = true;
    for (const c of charts) if (c.cross) { c.cross.remove(); c.cross = null; }
  };
  const nearest = (xs, ys, v) => {
    let best = -1;
    xs.forEach((x, i) => { if (ys[i] !== null && (best < 0 || Math.abs(x - v) < Math.abs(xs[best] - v))) best = i; });
    return best;
  };
  const showTip = (event, rows) => {
    tip.replaceChildren(...rows.map((r) => make("div", {}, r)));
    tip.hidden = false;
    const width = document.documentElement.clientWidth, x = event.clientX + 14;
    tip.style.left = Math.max(4, Math.min(x, width - tip.offsetWidth - 4)) + "px";
    tip.style.top = event.clientY + 14 + "px";
  };
  const hover = (c, event) => {
    const box = c.svg.getBoundingClientRect(), view = c.svg.viewBox.baseVal;
    const px = (event.clientX - box.left) * view.width / box.width, py = (event.clientY - box.top) * view.height / box.height;
    hideTip();
    if (c.data.cells) return hoverCell(c, event, px, py);
    const [left, top, right, bottom] = c.data.frame;
    if (px < left || px > right || py < top || py > bottom) return;
    const part = (px - left) / (right - left);
    const v = c.ax.log ? c.ax.low * (c.ax.high / c.ax.low) ** part : c.ax.low + part * (c.ax.high - c.ax.low);
    const unit = canChange(c) ? state.x : c.data.x, rows = [];
    for (const l of linesOf(c)) {
      const i = nearest(l.xs, l.ys, v);
      if (i < 0) continue;
      if (!rows.length) rows.push(`${unit} ${short(l.xs[i])}`);
      rows.push(`${l.name || c.data.title}: ${short(l.ys[i])}`);
    }
    for (const o of charts) {
      if (o.data.cells || (canChange(o) ? state.x : o.data.x) !== unit || v < o.ax.low || v > o.ax.high) continue;
      o.cross = mark(o.svg, "path", { class: "axis cross-hair", d: `M${atX(o, v)} ${o.data.frame[1]}V${o.data.frame[3]}` });
    }
    if (rows.length) showTip(event, rows);
  };
  const hoverCell = (c, event, px, py) => {
    const at = c.data.edges.findIndex((e, i) => px >= e && px < c.data.edges[i + 1]);
    const row = Math.floor((c.data.bottom - py) / c.data.row), values = c.data.cells[at];
    if (at < 0 || row < 0 || !values || row >= values.length) return;
    const layer = c.data.first + row, v = values[row];
    showTip(event, [`${layer ? "block " + layer : "embedding"}, ${c.data.x} ${short(c.data.steps[at])}: ${v === null ? "not finite" : short(v)}`]);
  };
  const button = (parent, label, title, action) => {
    const out = make("button", { type: "button", title }, label);
    out.addEventListener("click", () => action(out));
    parent.appendChild(out);
    return out;
  };
  const addButtons = (c) => {
    const bar = make("div", { class: "tools" }), name = c.data.title.toLowerCase().replace(/[^a-z0-9]+/g, "_");
    if (!c.data.cells) button(bar, "log y", "Logarithmic y axis", (b) => {
      state.log[c.key] = !isLog(c); b.setAttribute("aria-pressed", isLog(c)); draw(c);
    }).setAttribute("aria-pressed", isLog(c));
    button(bar, "CSV", "Download the values as CSV", () => saveFigure.csv(c, name + ".csv"));
    button(bar, "SVG", "Download the figure as SVG", () => saveFigure.svg(c, name + ".svg"));
    button(bar, "PNG", "Download the figure as PNG", () => saveFigure.png(c, name + ".png"));
    c.figure.appendChild(bar);
    const off = state.off[c.key] = state.off[c.key] || {};
    (c.figure.querySelectorAll(".legend li") || []).forEach((item, i) => {
      const line = c.data.legend[i], at = c.data.lines[line].name || line, set = () => { item.classList.toggle("off", !!off[at]); item.setAttribute("aria-pressed", !off[at]); };
      const toggle = () => { off[at] = !off[at]; set(); draw(c); };
      item.setAttribute("role", "button"); item.tabIndex = 0; set();
      item.addEventListener("click", toggle);
      item.addEventListener("keydown", (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); toggle(); } });
    });
  };
  const addControls = () => {
    const place = document.querySelector(".controls");
    if (!place || !charts.some(canChange)) return;
    const axes = ["step", "tokens", "seconds", "FLOPs"].filter((a) => clocks.length && clocks.every((k) => k[a]));
    const select = make("select", { "aria-label": "x axis" });
    for (const a of axes) select.appendChild(make("option", { value: a }, a));
    select.value = state.x;
    select.addEventListener("change", () => { state.x = select.value; charts.forEach(draw); });
    const slider = make("input", { type: "range", min: 0, max: 0.99, step: 0.01, "aria-label": "smoothing" });
    slider.value = state.smooth;
    slider.addEventListener("input", () => { state.smooth = +slider.value; charts.forEach(draw); });
    const label = (text, node) => { const out = make("label", {}, text + " "); out.appendChild(node); return out; };
    place.replaceChildren(label("x axis", select), label("smoothing", slider));
  };
  const start = () => {
    const node = document.getElementById("clocks");
    clocks = node ? read(node) : [];
    if (tip) tip.remove();
    tip = document.body.appendChild(make("div", { class: "tip", role: "status", hidden: "" }));
    charts = [...document.querySelectorAll("figure script")].map((script) => {
      const figure = script.closest("figure"), svg = figure.querySelector(".scroll > svg"), data = read(script);
      return { figure, svg, data, original: svg.innerHTML, key: data.title + "|" + data.unit };
    });
    for (const c of charts) {
      addButtons(c);
      draw(c);
      c.svg.addEventListener("pointermove", (event) => hover(c, event));
      c.svg.addEventListener("pointerleave", hideTip);
    }
    addControls();
  };
  document.addEventListener("replaced", start);  // by watch_script.js
  start();
})();
