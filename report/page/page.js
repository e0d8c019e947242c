// SPDX-License-Identifier: MIT
// Code that the charts of every page share. Text from data goes into the page by textContent only, never as HTML.
"use strict";

const page = {
  data: JSON.parse(document.getElementById("data").textContent),
  figures: JSON.parse(document.getElementById("figures").textContent),  // as report/figures.h declares them
  root: document.getElementById("page"),
  kinds: {},
};

// Colours that differ in lightness, too (Okabe and Ito), each with a pattern of its own: no meaning hangs on colour
// alone.
const STYLES = {
  compute: ["#56b4e9", "none"],
  host: ["#8da0b5", "none"],
  memory: ["#8da0b5", "dots"],
  tensor: ["#e69f00", "/"],
  data: ["#009e73", "\\"],
  pipeline: ["#cc79a7", "|"],
  expert: ["#d55e00", "x"],
  context: ["#b8a900", "-"],
  embedding: ["#7b6fd0", "dots"],
  forward: ["#76a6d6", "none"],
  backward: ["#822a0a", "/"],
  "weight gradient": ["#f2dd88", "dots"],
  bubble: ["var(--bubble)", "/"],
  "stage wait": ["var(--bubble)", "/"],
  wait: ["var(--bubble)", "dots"],
  idle: ["var(--idle)", "none"],
  slowed: ["#b0706b", "\\"],
  "slowed by communication": ["#b0706b", "\\"],
  more: ["#d55e00", "none"],
  less: ["#009e73", "/"],
};
const OTHER_STYLES = [["#d55e00", "-"], ["#7b6fd0", "/"], ["#b8a900", "x"], ["#4c9a8a", "|"], ["#b0706b", "\\"]];
const others = new Map();

function styleOf(kind) {
  if (Object.hasOwn(STYLES, kind)) return STYLES[kind];
  if (!others.has(kind)) others.set(kind, OTHER_STYLES[others.size % OTHER_STYLES.length]);
  return others.get(kind);
}

const PATHS = {
  "/": "M-2,8 L8,-2 M2,12 L12,2",
  "\\": "M-2,0 L10,12 M2,-4 L14,8",
  "|": "M4,0 V8",
  "-": "M0,4 H8",
  x: "M0,0 L8,8 M8,0 L0,8",
  dots: "M3,3 h2 v2 h-2 z"
};
const PATTERN_INK = "#0006", PATTERN_WIDTH = 1.2;  // of the signs of kinds, in all pictures
const patterns = new Map();

// The fill of a kind in pictures; its pattern is made when it is first asked for.
function fillOf(kind) {
  if (!patterns.has(kind)) {
    const [colour, pattern] = styleOf(kind);
    const id = "pattern" + patterns.size;
    if (!page.defs)
      page.defs = d3.select(page.root)
                      .append("svg")
                      .attr({width: 0, height: 0, "aria-hidden": "true"})
                      .style("position", "absolute")
                      .append("defs");
    const tile = page.defs.append("pattern").attr({id, width: 8, height: 8, patternUnits: "userSpaceOnUse"});
    tile.append("rect").attr({width: 8, height: 8, fill: colour});
    if (pattern !== "none")
      tile.append("path").attr({d: PATHS[pattern], stroke: PATTERN_INK, fill: "none", "stroke-width": PATTERN_WIDTH});
    patterns.set(kind, `url(#${id})`);
  }
  return patterns.get(kind);
}

// Text in which paths and keys may break behind their parts, and no per cent sign stands alone on a line.
function fluent(text) {
  const pieces = String(text).replace(/ %/g, "\u00a0%").split(/(?<=[/\\](?=\w{3})|[._](?=[a-z]{2}))/);
  return pieces.flatMap((piece, i) => (i ? [document.createElement("wbr"), piece] : [piece]));
}

const FLUENT = ["h1", "h2", "p", "div"];

function add(parent, tag, text, className) {
  const element = document.createElement(tag);
  if (text !== undefined) element.append(...(FLUENT.includes(tag) ? fluent(text) : [text]));
  if (className) element.className = className;
  parent.append(element);
  return element;
}

function section(title, about) {
  const element = add(page.root, "section");
  const id = "section" + document.querySelectorAll("section").length;
  add(element, "h2", title).id = id;
  element.setAttribute("aria-labelledby", id);
  if (about) add(element, "p", about);
  return element;
}

function legend(parent, kinds) {
  const list = add(parent, "div", undefined, "legend");
  for (const kind of kinds) {
    const item = add(list, "span");
    d3.select(item).append("svg").attr({width: 22, height: 14, "aria-hidden": "true"}).append("rect").attr({
      width: 22,
      height: 14,
      fill: fillOf(kind)
    });
    item.append(kind);
  }
}

const SHOWN_ROWS = 12;  // of a longer table, until it is asked for all
const LONG_TEXT = 36, LONG_NAME = 20;  // characters: what is longer breaks into lines, names only on a telephone

const cellValue = (cell) => (Array.isArray(cell) ? cell[0] : cell);
const isNumber = (cell) => Array.isArray(cell) || typeof cell === "number";

// Rows of cells: a number with its text as [number, text], or text. A click on a heading sorts.
function table(parent, heads, rows, caption) {
  const frame = add(parent, "div", undefined, "scroll");
  frame.tabIndex = 0;
  frame.setAttribute("role", "region");
  frame.setAttribute("aria-label", caption);
  const element = add(frame, "table");
  const line = add(add(element, "thead"), "tr");
  const body = add(element, "tbody");
  const ofNumbers = heads.map(
      (_, i) => rows.some((row) => isNumber(row[i])) && rows.every((row) => isNumber(row[i]) || row[i] === ""));
  const fill = () => {
    body.replaceChildren();
    for (const row of rows) {
      const tr = add(body, "tr");
      row.forEach((cell, column) => {
        const text = Array.isArray(cell) ? cell[1] : cell;
        const isLong = String(text).length > LONG_TEXT, isName = column === 0 && String(text).length > LONG_NAME;
        const td = add(tr, "td", isLong || isName ? undefined : text, ofNumbers[column] ? "number" : undefined);
        if (!isLong && !isName) return;
        td.append(...fluent(text));
        td.classList.add(isLong ? "long" : "name");
      });
    }
  };
  heads.forEach((head, column) => {
    const th = add(line, "th", undefined, ofNumbers[column] ? "number" : undefined);
    th.scope = "col";
    add(th, "button", head).addEventListener("click", () => {
      const down = th.getAttribute("aria-sort") === "descending" ? 1 : -1;
      for (const other of line.children) other.removeAttribute("aria-sort");
      th.setAttribute("aria-sort", down < 0 ? "descending" : "ascending");
      rows.sort((a, b) => down * d3.ascending(cellValue(a[column]), cellValue(b[column])));
      fill();
    });
  });
  fill();
  underTable(parent, frame, rows.length, caption, () => ({heads, rows: rows.map((row) => row.map(cellValue))}));
}

// Writes what stands below a table: that it goes on to the right, the button for all of its rows, and the one that saves it.
function underTable(parent, frame, count, caption, data) {
  const under = add(parent, "div", undefined, "under");
  const hint = add(under, "span", "scrolls →", "hint");
  const fit = () => { hint.hidden = frame.scrollWidth <= frame.clientWidth + 1; };
  new ResizeObserver(fit).observe(frame);
  fit();
  if (count > SHOWN_ROWS) {
    frame.classList.add("short");
    const more = add(under, "button", `all ${count} rows`);
    more.setAttribute("aria-expanded", "false");
    more.addEventListener("click", () => {
      const isShort = frame.classList.toggle("short");
      more.setAttribute("aria-expanded", String(!isShort));
      more.textContent = isShort ? `all ${count} rows` : `the first ${SHOWN_ROWS}`;
      fit();
    });
  }
  if (count) saveButtons(under, caption, null, data);
}

function asTable(parent, heads, rows, caption) {
  const details = add(parent, "details");
  add(details, "summary", "As a table");
  table(details, heads, rows, caption);
}

// Units by size, the largest first, as [size, name].
const TIMES = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];
const BYTES = ["PiB", "TiB", "GiB", "MiB", "KiB", "B"].map((name, i) => [1024 ** (5 - i), name]);
const RATES = ["EB/s", "PB/s", "TB/s", "GB/s", "MB/s", "KB/s", "B/s"].map((name, i) => [1000 ** (6 - i), name]);
const unitOf = (units, value) => units.find(([size]) => Math.abs(value) >= size) ?? units[units.length - 1];

function inUnits(units, value) {
  if (value === 0) return "0";
  const [size, name] = unitOf(units, value);
  return `${Number((value / size).toPrecision(4))} ${name}`;
}
const bytesText = (bytes) => inUnits(BYTES, bytes);
const bandwidthText = (rate) => inUnits(RATES, rate);
const timeText = (seconds) => inUnits(TIMES, seconds);

// The same, in the unit of the largest of a domain and with as many digits as tell its parts apart: for axes. Numbers
// are `factor` of what `text` takes.
function ofOneUnit(text, [low, high], factor = 1) {
  const units = new Map([[timeText, TIMES], [bytesText, BYTES], [bandwidthText, RATES]]).get(text);
  if (!units) return text;
  const [size, name] = unitOf(units, Math.max(Math.abs(low), Math.abs(high)));
  const digits = Math.max(0, Math.min(12, Math.ceil(1 - Math.log10((high - low) / size / 4 || 1))));
  return (value) => (value === 0 ? "0" : `${Number((value * factor / size).toFixed(digits))} ${name}`);
}

// Four digits, and all of those before the point.
const numberText = (value) => (Math.abs(value) >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(4))));
function figureText(figure, value) {
  if (figure.unit === "s") return timeText(value);
  if (figure.unit === "share") return percent(value);
  if (figure.unit === "B") return bytesText(value);
  if (typeof value !== "number") return String(value);
  return figure.unit ? `${numberText(value)} ${figure.unit}` : numberText(value);
}
// The cell of a table; empty, and the least, where there is no such figure.
const figureCell = (figure, value) => (value === undefined ? [-Infinity, ""] : [value, figureText(figure, value)]);
const timeCell = (seconds) => [seconds, timeText(seconds)];
const percent = (share) => (share === 0 || share === 1 ? `${100 * share} %` : `${(100 * share).toFixed(1)} %`);
const shareCell = (share) => [share, percent(share)];

function cards(items) {
  const grid = add(page.root, "div", undefined, "cards");
  grid.classList.toggle("few", items.length < 4);
  for (const [name, value, note] of items) {
    const card = add(grid, "div", undefined, "card");
    add(card, "div", name, "name");
    add(card, "div", value, "value");
    if (note) add(card, "div", note, "note");
  }
}
