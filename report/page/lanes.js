// SPDX-License-Identifier: MIT
// Rows of boxes over time: a canvas for each row, all of one scale, drawn only where it is seen. The mouse, fingers and
// the keyboard zoom, pan and read them. The timeline and the passes of a pipeline are such rows.
"use strict";

// A colour of the page's style sheet in the theme that is shown.
const themed = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

// Draws boxes on a canvas; SvgPen draws the same into a file.
class CanvasPen {
  constructor(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    this.context = canvas.getContext("2d");
    this.context.scale(ratio, ratio);
    this.context.font = `10px ${getComputedStyle(document.body).fontFamily}`;
    this.context.textBaseline = "middle";
    this.fills = new Map();
  }

  fillOf(kind) {
    if (!this.fills.has(kind)) {
      const [name, pattern] = styleOf(kind), colour = /^var\(--(\w+)\)$/.exec(name);
      const tile = document.createElement("canvas");
      tile.width = tile.height = 8;
      const pen = tile.getContext("2d");
      pen.fillStyle = colour ? themed(colour[1]) : name;
      pen.fillRect(0, 0, 8, 8);
      pen.strokeStyle = PATTERN_INK;
      pen.lineWidth = PATTERN_WIDTH;
      if (pattern !== "none") pen.stroke(new Path2D(PATHS[pattern]));
      this.fills.set(kind, this.context.createPattern(tile, "repeat"));
    }
    return this.fills.get(kind);
  }

  box(x, y, width, height, kind, opacity = 1) {
    this.context.globalAlpha = opacity;
    this.context.fillStyle = this.fillOf(kind);
    this.context.fillRect(x, y, width, height);
    this.context.globalAlpha = 1;
  }

  // Tints what is there.
  tint(x, y, width, height, colour, opacity) {
    this.context.globalCompositeOperation = "source-atop";
    this.context.globalAlpha = opacity;
    this.context.fillStyle = colour;
    this.context.fillRect(x, y, width, height);
    this.context.globalAlpha = 1;
    this.context.globalCompositeOperation = "source-over";
  }

  outline(x, y, width, height, colour, thick = 1) {
    this.context.strokeStyle = colour;
    this.context.lineWidth = thick;
    this.context.strokeRect(x + thick / 2, y + thick / 2, Math.max(0, width - thick), Math.max(0, height - thick));
  }

  widthOf(text) { return this.context.measureText(text).width; }

  text(x, y, text, colour) {
    this.context.fillStyle = colour;
    this.context.fillText(text, x, y);
  }
}

class SvgPen {
  constructor(group, measure) {
    this.group = group;
    this.measure = measure;
  }

  box(x, y, width, height, kind, opacity = 1) {
    this.group.append("rect").attr({x, y, width, height, fill: fillOf(kind), opacity: opacity < 1 ? opacity : null});
  }

  tint(x, y, width, height, colour, opacity) {
    this.group.append("rect").attr({x, y, width, height, fill: colour, opacity});
  }

  outline(x, y, width, height, colour, thick = 1) {
    const half = thick / 2;
    this.group.append("rect").attr({
      x: x + half, y: y + half, width: Math.max(0, width - thick), height: Math.max(0, height - thick), fill: "none",
      stroke: colour, "stroke-width": thick
    });
  }

  widthOf(text) { return this.measure.widthOf(text); }

  text(x, y, text, colour) {
    this.group.append("text").attr({x, y: y + 3.5, fill: colour}).style({fill: colour, "font-size": "10px"}).text(text);
  }
}

// Rows of boxes. Of a kind of rows: `high(row)`, `drawRow(pen, row)`, `items(row)` by start, each of {start, end} in
// ticks, `placeOf(row, item)` as [y, height], `tellOf(row, item)`, `itemAt(row, at, y)`, `captionOf(row)` and
// `linesOf(row)`, the first line of a row's label and the others as [text, y], `cells(row, item)` and `heads` of its
// data.
class Lanes {
  constructor(parent, {tick, whole, about, rows, name}) {
    this.tick = tick;
    this.whole = Math.max(1, whole);
    this.about = about;
    this.parent = parent;
    this.tools();
    this.frame = add(parent, "div", undefined, "timeline");
    this.frame.tabIndex = 0;
    this.frame.setAttribute("role", "application");
    this.frame.setAttribute(
        "aria-label",
        `${name}. Left and right move, plus and minus zoom, 0 shows all, up and down choose a row, n and p its next ` +
            "and previous box, which is told below. The same as numbers is in the table below.");
    this.x = d3.scale.linear().domain([0, this.whole]);
    const axis = add(this.frame, "div", undefined, "row");
    add(axis, "div", "time", "label");
    this.axisFrame = d3.select(axis).append("svg").attr({height: 26, "aria-hidden": "true"});
    this.axis = this.axisFrame.append("g").attr("class", "axis");
    this.rowsFrame = add(this.frame, "div", undefined, "rows");
    this.rows = rows.map((row) => this.makeRow(row));
    this.zoom =
        d3.behavior.zoom().x(this.x).scaleExtent([1, Math.max(2, this.whole / 50)]).on("zoom", () => this.moved());
    this.listen();
    this.readout = add(parent, "div", undefined, "readout");
    this.readout.setAttribute("aria-live", "polite");
    saveButtons(parent, about, () => this.svg(), () => this.data());
  }

  // Called when a kind of rows has all that it needs to draw.
  begin() {
    this.fit();
    new ResizeObserver(() => this.fit()).observe(this.parent);
  }

  listen() {
    d3.selectAll(this.rows.map((one) => one.canvas)).call(this.zoom).on("wheel.zoom", null);
    this.rowsFrame.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const at = event.clientX - this.rowsFrame.getBoundingClientRect().left - this.labels;
      this.scaleBy(event.deltaY < 0 ? 1.25 : 0.8, at);
    }, {passive: false});
    this.rowsFrame.addEventListener("scroll", () => this.draw());
    this.rowsFrame.addEventListener("mousemove", (event) => this.point(event));
    this.rowsFrame.addEventListener("click", (event) => this.point(event));
    this.frame.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("beforeprint", () => this.draw(true));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  // Takes the width that there is; on a telephone names get less of it.
  fit() {
    const all = this.parent.clientWidth - 2;
    if (all <= 0 || all === this.all) return;
    const [from, to] = this.x.domain();
    this.all = all;
    this.labels = all < 560 ? 104 : 150;
    this.width = Math.max(160, all - this.labels);
    this.frame.style.setProperty("--labels", this.labels + "px");
    this.axisFrame.attr("width", this.width);
    this.x.range([0, this.width]);
    this.zoom.x(this.x.domain([0, this.whole]));
    this.show(from, to);
  }

  tools() {
    const tools = add(this.parent, "div", undefined, "tools");
    const button = (text, about, action) => {
      const element = add(tools, "button", text);
      element.setAttribute("aria-label", about);
      element.addEventListener("click", action);
    };
    button("+", "Zoom in", () => this.scaleBy(2));
    button("−", "Zoom out", () => this.scaleBy(0.5));
    button("←", "Earlier", () => this.pan(-0.25));
    button("→", "Later", () => this.pan(0.25));
    button("all", "Show all", () => this.show(0, this.whole));
    const touch = matchMedia("(pointer: coarse)").matches;
    add(tools, "small", touch ? "drag to move, two fingers zoom, a tap reads"
                              : "keys + − ← → 0, ↑ ↓ n p to read; drag to move, Ctrl and the wheel to zoom");
  }

  makeRow(row) {
    const element = add(this.rowsFrame, "div", undefined, "row");
    const label = add(element, "div", undefined, "label");
    add(label, "div", this.captionOf(row)).title = this.captionOf(row);
    for (const [text] of this.linesOf(row)) add(label, "small", text).title = text;
    const canvas = add(element, "canvas", undefined, this.hasLanes ? "lanes" : undefined);
    return {row, element, canvas};
  }

  show(from, to) {
    const scale = Math.min(this.whole / (to - from), this.zoom.scaleExtent()[1]);
    const length = this.whole / scale;
    from = Math.max(0, Math.min(from, this.whole - length));
    this.zoom.scale(scale).translate([-from / this.whole * scale * this.width, 0]);
    this.moved();
  }

  scaleBy(factor, at = this.width / 2) {
    const [from, to] = this.x.domain();
    const fixed = this.x.invert(at), length = Math.min(this.whole, (to - from) / factor);
    const start = fixed - (fixed - from) * length / (to - from);
    this.show(start, start + length);
  }

  pan(share) {
    const [from, to] = this.x.domain();
    this.show(from + share * (to - from), to + share * (to - from));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      "+": () => this.scaleBy(2),
      "=": () => this.scaleBy(2),
      "-": () => this.scaleBy(0.5),
      ArrowLeft: () => this.pan(-0.25),
      ArrowRight: () => this.pan(0.25),
      0: () => this.show(0, this.whole),
      ArrowUp: () => this.choose(-1, 0),
      ArrowDown: () => this.choose(1, 0),
      n: () => this.choose(0, 1),
      p: () => this.choose(0, -1)
    };
    if (!Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  }

  // Chooses another row or another box of the row, and shows it.
  choose(rows, boxes) {
    const last = this.chosen;
    const number = last ? Math.max(0, Math.min(this.rows.length - 1, last.number + rows)) : 0;
    const row = this.rows[number].row, items = this.items(row);
    if (!items.length) return;
    let index = last && last.number === number ? last.index + boxes : 0;
    if (last && last.number !== number) {
      const at = this.items(this.rows[last.number].row)[last.index].start;
      index = d3.bisector((item) => item.start).left(items, at);
    }
    index = Math.max(0, Math.min(items.length - 1, index));
    this.chosen = {number, index};
    const [from, to] = this.x.domain(), {start, end} = items[index];
    if (end > to || start < from) this.show(start - (to - from) / 2, start + (to - from) / 2);
    const element = this.rows[number].element;
    if (element.offsetTop < this.rowsFrame.scrollTop) this.rowsFrame.scrollTop = element.offsetTop;
    const under = element.offsetTop + element.offsetHeight - this.rowsFrame.clientHeight;
    if (under > this.rowsFrame.scrollTop) this.rowsFrame.scrollTop = under;
    this.draw();
    this.say(this.tellOf(row, items[index]));
  }

  moved() {
    const scale = this.zoom.scale();
    const left = Math.max(-this.width * (scale - 1), Math.min(0, this.zoom.translate()[0]));
    this.zoom.translate([left, 0]);
    this.draw();
    this.say();
  }

  timeOf(ticks) { return timeText(ticks * this.tick); }

  say(text) {
    const [from, to] = this.x.domain().map((ticks) => this.timeOf(ticks));
    this.readout.textContent = text ?? `shown: ${from} to ${to}`;
  }

  point(event) {
    const found = this.rows.find((one) => one.canvas === event.target);
    if (!found) return;
    const box = found.canvas.getBoundingClientRect();
    const item = this.itemAt(found.row, this.x.invert(event.clientX - box.left), event.clientY - box.top);
    this.say(item && this.tellOf(found.row, item));
  }

  drawAxis(group) {
    const most = Math.max(3, Math.floor(this.width / 90));
    group.call(d3.svg.axis().scale(this.x).orient("bottom").ticks(most).tickFormat(
        ofOneUnit(timeText, this.x.domain().map((ticks) => ticks * this.tick), this.tick)));
    const {width, x} = this;
    group.selectAll(".tick text").style("text-anchor", function(tick) {  // so that none is cut
      const half = this.getComputedTextLength() / 2;
      return x(tick) < half ? "start" : x(tick) > width - half ? "end" : "middle";
    });
  }

  draw(all = false) {
    if (!this.width) return;
    this.drawAxis(this.axis);
    const top = this.rowsFrame.scrollTop, bottom = top + this.rowsFrame.clientHeight;
    this.rows.forEach((one, number) => {
      const at = one.element.offsetTop, high = this.high(one.row);
      one.canvas.style.width = this.width + "px";
      one.canvas.style.height = high + "px";
      if (!all && (at >= bottom || at + one.element.offsetHeight <= top)) return;
      const pen = this.pen = new CanvasPen(one.canvas, this.width, high);
      this.drawRow(pen, one.row);
      if (this.chosen?.number !== number) return;
      const item = this.items(one.row)[this.chosen.index], [y, tall] = this.placeOf(one.row, item);
      const left = this.x(item.start) - 2;
      pen.outline(left, y - 1, Math.max(4, this.x(item.end) - left + 2), tall + 2, themed("ink"), 2);
    });
  }

  // Draws what is shown, as a picture for a file.
  svg() {
    const heights = this.rows.map(({row}) => this.high(row)), all = this.labels + this.width;
    const svg = d3.select(document.createElementNS("http://www.w3.org/2000/svg", "svg"));
    svg.attr({viewBox: `0 0 ${all} ${d3.sum(heights) + 30}`});
    this.parent.append(svg.node());  // so that styles hold
    this.drawAxis(svg.append("g").attr({class: "axis", transform: `translate(${this.labels},0)`}));
    let y = 30;
    this.rows.forEach(({row}, i) => {
      const line = svg.append("g").attr("transform", `translate(0,${y})`);
      line.append("line").attr({x1: 0, x2: all, y1: -0.5, y2: -0.5, class: "rule"});
      line.append("text").attr({x: 4, y: 14}).text(this.captionOf(row));
      for (const [text, at] of this.linesOf(row))
        line.append("text").attr({x: 4, y: at, class: "faint"}).style("font-size", "10px").text(text);
      const boxes = line.append("svg");
      boxes.attr({x: this.labels, width: this.width, height: heights[i], overflow: "hidden"});
      this.drawRow(new SvgPen(boxes, this.pen), row);
      y += heights[i];
    });
    return svg.node();
  }

  // Every box as a line of a table.
  data() {
    const rows = this.rows.flatMap(({row}) => this.items(row).map((item) => this.cells(row, item)));
    return {heads: this.heads, rows};
  }
}
