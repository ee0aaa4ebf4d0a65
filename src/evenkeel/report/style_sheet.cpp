// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/style_sheet.h"

namespace evenkeel::report {

// A text, not code.  NOLINTNEXTLINE(readability-function-size)
std::string_view style_sheet() {
  return R"css(:root {
  --paper: #ffffff; --raised: #f6f7f9; --ink: #1b1f24; --muted: #5c6570; --rule: #d9dde3;
  --grid: #e8ebef; --axis: #8b94a0; --reference: #1b1f24;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #b8569a; --c4: #c98500; --c5: #3d9bd1;
  --c6: #4a4f57;
  --good: #17794f; --busy: #0b62a8; --warn: #8f5a00; --bad: #b3261e;
  --n-input: #cfe3f5; --n-heads: #cdeadd; --n-context: #e6d9f0; --n-output: #fde6b8;
  --n-residual: #f9d3c4; --n-other: #e3e6ea;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #14171b; --raised: #1c2026; --ink: #e6e9ed; --muted: #9aa4b0; --rule: #323841;
    --grid: #262b32; --axis: #6d7682; --reference: #e6e9ed;
    --c0: #56b4e9; --c1: #f08a45; --c2: #2fc498; --c3: #dd8fc0; --c4: #e8b339; --c5: #9ad0f2;
    --c6: #b4bac2;
    --n-input: #1d4468; --n-heads: #1d4f3b; --n-context: #46305c; --n-output: #5a450f;
    --n-residual: #662f1d; --n-other: #3a414b;
    --good: #56c896; --busy: #6db8f2; --warn: #e2ab4c; --bad: #ff8a80;
  }
}
* { box-sizing: border-box; }
html { background: var(--paper); color: var(--ink); -webkit-text-size-adjust: 100%; }
body {
  max-width: 932px; margin: 0 auto; padding: 40px 16px 64px;
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
}
h1 { font-size: 27px; line-height: 1.2; letter-spacing: -0.01em; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 18px; line-height: 1.3; margin: 44px 0 12px; padding-top: 14px;
  border-top: 1px solid var(--rule); }
p { margin: 0 0 12px; }
.muted { color: var(--muted); font-weight: 400; }
.about { color: var(--muted); margin: 6px 0 22px; }
.state { font-weight: 600; white-space: nowrap; }
.finished { color: var(--good); } .training { color: var(--busy); }
.stopped, .interrupted { color: var(--warn); } .diverged { color: var(--bad); }
.supported, .agrees { color: var(--good); } .contradicted, .disagrees, .failed { color: var(--bad); }
.inconclusive, .crashed { color: var(--warn); } .unmeasured, .unknown { color: var(--muted); }
.verdict { font-size: 18px; line-height: 1.5; margin: 10px 0 22px; }
.notice { border: 1px solid var(--warn); border-radius: 6px; padding: 10px 14px; }
.claims { list-style: none; margin: 0 0 12px; padding: 0; }
.claims > li { padding: 12px 0 10px; border-top: 1px solid var(--rule); break-inside: avoid; }
.claims > li:first-child { border-top: 0; padding-top: 0; }
.says { font-weight: 600; margin: 0 0 2px; }
.outcome { display: grid; grid-template-columns: 116px minmax(0, 1fr); column-gap: 8px; margin: 2px 0 0; }
.below { font-size: 13px; color: var(--muted); margin: 8px 0 0; }
.dense + p:not(.below), .below + p, .below + details { margin-top: 12px; }
.missing { color: var(--muted); border: 1px dashed var(--rule); border-radius: 6px;
  padding: 12px 14px; margin: 0 0 12px; }
.tiles { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: 1px;
  margin: 0; background: var(--rule); border: 1px solid var(--rule); border-radius: 8px;
  overflow: hidden; }
.tiles div { background: var(--paper); padding: 12px 16px 13px; }
.tiles dt { font-size: 13px; color: var(--muted); }
.tiles dd { margin: 0; font-size: 13px; color: var(--muted); }
.tiles dd.value { font-size: 24px; line-height: 1.3; color: var(--ink); font-weight: 600;
  font-variant-numeric: tabular-nums; letter-spacing: -0.01em; }
.tiles .lead dd.value { color: var(--c0); }
.figures { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 36px 28px; }
figure { margin: 0; min-width: 0; display: flex; flex-direction: column; }
figure.wide { grid-column: 1 / -1; }
.controls { display: flex; flex-wrap: wrap; gap: 6px 22px; margin: 0 0 14px; font-size: 13px; color: var(--muted); }
.controls label { display: flex; align-items: center; gap: 6px; }
.tools { display: flex; gap: 4px; margin-top: 4px; }
button, select { font: inherit; font-size: 12px; color: var(--muted); background: var(--paper); cursor: pointer;
  border: 1px solid var(--rule); border-radius: 4px; padding: 1px 7px; }
button:hover, button[aria-pressed="true"] { color: var(--ink); border-color: var(--axis); }
.legend [role="button"] { cursor: pointer; } .legend .off { opacity: 0.4; text-decoration: line-through; }
.tip { position: fixed; z-index: 2; pointer-events: none; background: var(--paper); color: var(--ink);
  border: 1px solid var(--axis); border-radius: 4px; padding: 4px 9px; font-size: 12px; max-width: 360px;
  font-variant-numeric: tabular-nums; }
.tip[hidden] { display: none; }
.live { position: fixed; right: 12px; bottom: 12px; background: var(--raised); border: 1px solid var(--axis);
  border-radius: 12px; padding: 2px 12px; font-size: 12px; }
svg .cross-hair { pointer-events: none; }
svg .flag { stroke: var(--bad); stroke-width: 1; opacity: 0.7; }
figcaption { margin: 0 0 6px; }
.spark { width: 110px; height: 24px; } a { color: var(--c0); }
.scheme-figure { margin: 0 0 14px; }
figcaption p { color: var(--muted); font-size: 13px; margin: 0; }
.scroll { overflow-x: auto; }
figure .scroll { margin-top: auto; }
.scroll > svg { display: block; width: 100%; height: auto; }
svg text { font-size: 12px; fill: var(--muted); font-variant-numeric: tabular-nums; }
svg .end { text-anchor: end; } svg .middle { text-anchor: middle; } svg .name { fill: var(--ink); }
svg path { fill: none; }
svg .grid { stroke: var(--grid); stroke-width: 1; }
svg .axis { stroke: var(--axis); stroke-width: 1; }
svg .reference { stroke: var(--reference); stroke-width: 1.2; stroke-dasharray: 2 3; }
svg .reference + text { fill: var(--ink); stroke: var(--paper); stroke-width: 4px;
  stroke-linejoin: round; paint-order: stroke; }
svg .line { stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
svg .faint { stroke-width: 1; opacity: 0.42; }
svg.key .faint { stroke-width: 1.5; opacity: 0.65; }
path.band { opacity: 0.17; }
rect.piece.faint { opacity: 0.45; }
rect.c0 { fill: var(--c0); } rect.c1 { fill: var(--c1); } rect.c2 { fill: var(--c2); }
rect.c3 { fill: var(--c3); } rect.c4 { fill: var(--c4); } rect.c5 { fill: var(--c5); }
rect.c6 { fill: var(--c6); }
path.bar { stroke-width: 1.3; opacity: 0.75; }
path.cross { stroke-width: 2; stroke-linecap: round; }
svg circle { stroke: var(--paper); stroke-width: 1; }
path.c0 { stroke: var(--c0); } path.c1 { stroke: var(--c1); } path.c2 { stroke: var(--c2); }
path.c3 { stroke: var(--c3); } path.c4 { stroke: var(--c4); } path.c5 { stroke: var(--c5); }
path.c6 { stroke: var(--c6); }
path.band { stroke: none; }
.band.c0 { fill: var(--c0); } .band.c1 { fill: var(--c1); } .band.c2 { fill: var(--c2); }
.band.c3 { fill: var(--c3); } .band.c4 { fill: var(--c4); } .band.c5 { fill: var(--c5); }
.band.c6 { fill: var(--c6); }
circle.c0 { fill: var(--c0); } circle.c1 { fill: var(--c1); } circle.c2 { fill: var(--c2); }
circle.c3 { fill: var(--c3); } circle.c4 { fill: var(--c4); } circle.c5 { fill: var(--c5); }
circle.c6 { fill: var(--c6); }
svg .d1 { stroke-dasharray: 8 4; } svg .d2 { stroke-dasharray: 2 4; }
svg .d3 { stroke-dasharray: 10 4 2 4; } svg .d4 { stroke-dasharray: 5 4 1 4 1 4; }
svg .d5 { stroke-dasharray: 16 4; }
.key { width: 28px; height: 10px; flex: none; vertical-align: 1px; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 18px; list-style: none; margin: 0 0 6px;
  padding: 0; font-size: 13px; color: var(--muted); }
.legend li { display: flex; align-items: center; gap: 7px; min-width: 0; overflow-wrap: anywhere; }
pre { font: 13px/1.5 var(--mono); background: var(--raised); border-radius: 8px; margin: 0;
  padding: 14px 16px; overflow-x: auto; tab-size: 4; }
pre.wrap { white-space: pre-wrap; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th, td { text-align: left; vertical-align: top; padding: 5px 14px 5px 0;
  border-bottom: 1px solid var(--rule); }
th { font-size: 13px; font-weight: 500; color: var(--muted); vertical-align: bottom; }
th:last-child, td:last-child { padding-right: 0; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.name { white-space: nowrap; }
.dense table { font-size: 13px; } .dense th.number { white-space: normal; }
.dense th:not(:last-child), .dense td:not(:last-child) { padding-right: 11px; }
.dense .number + :not(.number) { padding-left: 8px; } .dense .state { white-space: normal; }
.dense td.name { white-space: normal; min-width: 15em; overflow-wrap: anywhere; }
td.key-name { font: 13px/1.6 var(--mono); color: var(--muted); white-space: nowrap; width: 1%;
  padding-right: 28px; }
td.text { font: 13px/1.6 var(--mono); overflow-wrap: anywhere; min-width: 9em; }
tr.best td { font-weight: 600; }
details { margin: 0 0 12px; }
summary { cursor: pointer; color: var(--muted); margin-bottom: 8px; }
footer { margin-top: 48px; color: var(--muted); font-size: 13px; }
@media screen and (max-width: 720px) {
  body { padding: 24px 12px 48px; }
  .figures { grid-template-columns: minmax(0, 1fr); }
  .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .outcome { grid-template-columns: minmax(0, 1fr); margin-top: 8px; }
  svg[viewBox^="0 0 820 "] text { font-size: 18px; }
  svg[viewBox^="0 0 820 "] text.axis-name { display: none; }
  .scroll > svg[viewBox^="0 0 820 "] { width: calc(100% - 10px); overflow: visible; }
}
@media print {
  .tools, .controls, .tip, .live { display: none; }
  @page { size: A4; margin: 14mm; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  h1 { font-size: 18pt; } h2 { font-size: 13pt; margin-top: 20pt; padding-top: 8pt; }
  .verdict { font-size: 12pt; margin-bottom: 12pt; }
  .tiles div { padding: 7px 11px 8px; } .tiles dd.value { font-size: 15pt; }
  .tiles dt, .tiles dd, .legend, .below, figcaption p { font-size: 8.5pt; }
  figcaption { font-size: 9pt; }
  .figures { gap: 16pt 20px; }
  figure, .tiles, tr { break-inside: avoid; }
  h2, figcaption, .legend, summary { break-after: avoid; }
  .scroll { overflow: visible; }
  .scroll > svg { min-width: 0 !important; }
  table { font-size: 9pt; }
  th, td, td.name, td.key-name, td.text { font-size: 8.5pt; white-space: normal; min-width: 0;
    padding-right: 8px; overflow-wrap: break-word; }
  td.text { overflow-wrap: anywhere; }
  .dense th, .dense td, .dense td.name, .dense td.text { font-size: 7.5pt; }
  .dense th:not(:last-child), .dense td:not(:last-child) { padding-right: 6px; }
  .dense td.name { min-width: 15em; overflow-wrap: anywhere; }
  td.number { white-space: nowrap; }
  tr:first-child { break-after: avoid; }
  pre { font-size: 8.5pt; white-space: pre-wrap; overflow-wrap: anywhere;
    border: 1px solid var(--rule); }
  pre.diagram { font-size: 6.5pt; white-space: pre; break-inside: avoid; }
  details::details-content { display: block; content-visibility: visible; }
  summary { list-style: none; }
}
)css";
}

std::string without_variables(std::string_view text, std::string_view declarations) {
  constexpr std::string_view kVariable = "var(--";
  std::string out;
  std::size_t done = 0;
  for (auto at = text.find(kVariable); at != std::string_view::npos;
       at = text.find(kVariable, at + 1)) {
    const auto end = text.find(')', at);
    if (end == std::string_view::npos) break;
    const auto begin = at + kVariable.size();
    const auto key = "--" + std::string(text.substr(begin, end - begin)) + ": ";
    const auto found = declarations.find(key);
    if (found == std::string_view::npos) continue;
    const auto value = declarations.substr(found + key.size());
    out += text.substr(done, at - done);
    out += value.substr(0, value.find(';'));
    done = end + 1;
  }
  return out + std::string(text.substr(done));
}

}  // namespace evenkeel::report
