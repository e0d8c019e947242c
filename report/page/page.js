// SPDX-License-Identifier: MIT
// What the charts of every page share. Text from data goes into the page by textContent only, never as HTML.
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
  bubble: ["#c9ced6", "/"],
  wait: ["#c9ced6", "dots"],
  idle: ["#e6e9ed", "none"],
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
      tile.append("path").attr({d: PATHS[pattern], stroke: "#0008", fill: "none", "stroke-width": 1.2});
    patterns.set(kind, `url(#${id})`);
  }
  return patterns.get(kind);
}

function add(parent, tag, text, className) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
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

function picture(parent, width, height, about) {
  const svg = d3.select(parent).append("svg").attr(
      {viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": about});
  svg.append("title").text(about);
  return svg;
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

// Rows of cells: a number with its text as [number, text], or text. A click on a heading sorts.
function table(parent, heads, rows, caption) {
  const frame = add(parent, "div", undefined, "scroll");
  frame.tabIndex = 0;
  frame.setAttribute("role", "region");
  frame.setAttribute("aria-label", caption);
  const element = add(frame, "table");
  const line = add(add(element, "thead"), "tr");
  const body = add(element, "tbody");
  const value = (cell) => (Array.isArray(cell) ? cell[0] : cell);
  const fill = () => {
    body.replaceChildren();
    for (const row of rows) {
      const tr = add(body, "tr");
      for (const cell of row) add(tr, "td", Array.isArray(cell) ? cell[1] : cell);
    }
  };
  heads.forEach((head, column) => {
    const th = add(line, "th");
    th.scope = "col";
    add(th, "button", head).addEventListener("click", () => {
      const down = th.getAttribute("aria-sort") === "descending" ? 1 : -1;
      for (const other of line.children) other.removeAttribute("aria-sort");
      th.setAttribute("aria-sort", down < 0 ? "descending" : "ascending");
      rows.sort((a, b) => down * d3.ascending(value(a[column]), value(b[column])));
      fill();
    });
  });
  fill();
}

function asTable(parent, heads, rows, caption) {
  const details = add(parent, "details");
  add(details, "summary", "As a table");
  table(details, heads, rows, caption);
}

function scaled(value, units, base) {
  let unit = 0;
  while (Math.abs(value) >= base && unit + 1 < units.length) value /= base, ++unit;
  return `${Number(value.toPrecision(4))} ${units[unit]}`;
}
const bytesText = (bytes) => scaled(bytes, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"], 1024);
const bandwidthText = (rate) => scaled(rate, ["B/s", "KB/s", "MB/s", "GB/s", "TB/s"], 1000);
function timeText(seconds) {
  const size = Math.abs(seconds);
  if (size === 0) return "0";
  if (size >= 1) return `${Number(seconds.toPrecision(4))} s`;
  if (size >= 1e-3) return `${Number((seconds * 1e3).toPrecision(4))} ms`;
  if (size >= 1e-6) return `${Number((seconds * 1e6).toPrecision(4))} µs`;
  return `${Number((seconds * 1e9).toPrecision(4))} ns`;
}
function figureText(figure, value) {
  if (figure.unit === "s") return timeText(value);
  if (figure.unit === "share") return percent(value);
  if (figure.unit === "B") return bytesText(value);
  if (typeof value !== "number") return String(value);
  const number = figure.unit ? value.toFixed(1) : String(Number(value.toPrecision(4)));
  return figure.unit ? `${number} ${figure.unit}` : number;
}
// The cell of a table; empty, and the least, where there is no such figure.
const figureCell = (figure, value) => (value === undefined ? [-Infinity, ""] : [value, figureText(figure, value)]);
const timeCell = (seconds) => [seconds, timeText(seconds)];
const percent = (share) => `${(100 * share).toFixed(1)} %`;
const shareCell = (share) => [share, percent(share)];

function cards(items) {
  const grid = add(page.root, "div", undefined, "cards");
  for (const [name, value, note] of items) {
    const card = add(grid, "div", undefined, "card");
    add(card, "div", name, "name");
    add(card, "div", value, "value");
    if (note) add(card, "div", note, "note");
  }
}

// One bar for each row of {name, parts: [[kind, seconds]]}, on one scale.
function bars(parent, rows, end, about) {
  const width = 1130, left = 150, right = 80, high = 24;
  const svg = picture(parent, width, rows.length * high + 4, about);
  const x = d3.scale.linear().domain([0, end || 1]).range([left, width - right]);
  rows.forEach((row, i) => {
    const line = svg.append("g").attr("transform", `translate(0,${i * high})`);
    line.append("text").attr({x: left - 8, y: 16, "text-anchor": "end"}).text(row.name);
    let from = 0;
    for (const [kind, seconds] of row.parts) {
      const bar = line.append("rect").attr({
        x: x(from),
        y: 2,
        width: Math.max(0, x(from + seconds) - x(from)),
        height: 19,
        fill: fillOf(kind),
        stroke: "var(--paper)",
        "stroke-width": 0.5
      });
      bar.append("title").text(`${row.name}: ${kind} ${timeText(seconds)} (${percent(seconds / end)})`);
      from += seconds;
    }
    line.append("text").attr({x: x(from) + 6, y: 16, class: "faint"}).text(timeText(from));
  });
}
