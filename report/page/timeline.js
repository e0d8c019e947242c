// SPDX-License-Identifier: MIT
// The timeline: a canvas for each rank, all of one scale, drawn only where it is seen. The mouse and the keyboard zoom
// and pan it.
"use strict";

const TRACK = 14;  // pixels

// What a track shows, as the breakdown calls it.
const kindOf = (track) => track.replace(/ (send|receive)( \d+)?$| \d+$/, "").replace(/^compute, .*/, "compute");

function unpack(track) {
  const slices = [];
  let at = 0;
  for (let i = 0; i < track.slices.length; i += 5) {
    const [gap, length, name, more, waiting] = track.slices.slice(i, i + 5);
    slices.push({start: at + gap, end: at + gap + length, name, more, waiting});
    at += gap + length;
  }
  return {name: track.name, kind: kindOf(track.name), slices};
}

const canvasPatterns = new Map();
function canvasFill(context, kind) {
  if (!canvasPatterns.has(kind)) {
    const [colour, pattern] = styleOf(kind);
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const pen = tile.getContext("2d");
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 8, 8);
    pen.strokeStyle = "#0006";
    if (pattern !== "none") pen.stroke(new Path2D(PATHS[pattern]));
    canvasPatterns.set(kind, context.createPattern(tile, "repeat"));
  }
  return canvasPatterns.get(kind);
}

function drawTimeline(timeline, result) {
  if (!timeline.ranks.length) return;
  const of =
      timeline.classes > timeline.ranks.length ? `, ${timeline.ranks.length} of ${timeline.classes} classes` : "";
  const merged =
      timeline.merged_s > 0 ? ` Operations of less than ${timeText(timeline.merged_s)} are drawn together.` : "";
  const element =
      section("Timeline", `What ranks do when, one of each class${of}. Pale: waiting for other ranks or for the host.${merged}`);
  const ranks = timeline.ranks.map((rank) => ({...rank, tracks: rank.tracks.map(unpack)}));
  legend(element, [...new Set(ranks.flatMap((rank) => rank.tracks.map((track) => track.kind)))]);
  const view = new Timeline(element, timeline, ranks);
  asTable(
      element, ["rank", "track", "slices", "operations", "busy"],
      ranks.flatMap(
          (rank) => rank.tracks.map(
              (track) => [
                  [rank.rank, `rank ${rank.rank}`], track.name, track.slices.length,
                  d3.sum(track.slices, (d) => d.more + 1),
                  timeCell(d3.sum(track.slices, (d) => d.end - d.start) * timeline.tick_s)])),
      "What ranks do, by track");
  page.timeline = view;
}

class Timeline {
  constructor(parent, timeline, ranks) {
    this.timeline = timeline;
    this.whole = Math.max(1, timeline.end_s / timeline.tick_s);
    this.tools(parent);
    this.frame = add(parent, "div", undefined, "timeline");
    this.frame.tabIndex = 0;
    this.frame.setAttribute("role", "application");
    this.frame.setAttribute(
        "aria-label",
        "Timeline. Left and right move, plus and minus zoom, up and down scroll, 0 shows all. " +
            "The same as numbers is in the table below.");
    this.width = Math.max(300, parent.clientWidth - 152);
    this.x = d3.scale.linear().domain([0, this.whole]).range([0, this.width]);
    const axis = add(this.frame, "div", undefined, "row");
    add(axis, "div", "time", "label");
    this.axis = d3.select(axis)
                    .append("svg")
                    .attr({width: this.width, height: 26, "aria-hidden": "true"})
                    .append("g")
                    .attr("class", "axis");
    this.rowsFrame = add(this.frame, "div", undefined, "rows");
    this.rows = ranks.map((rank) => this.row(rank));
    this.zoom =
        d3.behavior.zoom().x(this.x).scaleExtent([1, Math.max(2, this.whole / 50)]).on("zoom", () => this.moved());
    d3.select(this.rowsFrame).call(this.zoom).on("wheel.zoom", null);
    this.rowsFrame.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const at = event.clientX - this.rowsFrame.getBoundingClientRect().left - 150;
      this.scaleBy(event.deltaY < 0 ? 1.25 : 0.8, at);
    }, {passive: false});
    this.rowsFrame.addEventListener("scroll", () => this.draw());
    this.rowsFrame.addEventListener("mousemove", (event) => this.tell(event));
    this.frame.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("beforeprint", () => this.draw(true));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    this.readout = add(parent, "div", undefined, "readout");
    this.readout.setAttribute("aria-live", "polite");
    this.draw();
    this.say();
  }

  tools(parent) {
    const tools = add(parent, "div", undefined, "tools");
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
    add(tools, "small", "keys + − ← → ↑ ↓ 0; drag to move, Ctrl and the wheel to zoom");
  }

  row(rank) {
    const element = add(this.rowsFrame, "div", undefined, "row");
    const label = add(element, "div", undefined, "label");
    add(label, "div", rank.stands_for > 1 ? `rank ${rank.rank} × ${rank.stands_for}` : `rank ${rank.rank}`);
    for (const track of rank.tracks) add(label, "small", track.name).title = track.name;
    const canvas = add(element, "canvas");
    canvas.style.width = this.width + "px";
    canvas.style.height = rank.tracks.length * TRACK + 28 + "px";
    return {rank, element, canvas};
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
      ArrowUp: () => this.rowsFrame.scrollBy(0, -80),
      ArrowDown: () => this.rowsFrame.scrollBy(0, 80)
    };
    if (!Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  }

  moved() {
    const scale = this.zoom.scale();
    const left = Math.max(-this.width * (scale - 1), Math.min(0, this.zoom.translate()[0]));
    this.zoom.translate([left, 0]);
    this.draw();
    this.say();
  }

  say(text) {
    const [from, to] = this.x.domain().map((ticks) => timeText(ticks * this.timeline.tick_s));
    this.readout.textContent = text ?? `shown: ${from} to ${to}`;
  }

  tell(event) {
    const row = this.rows.find((one) => one.canvas === event.target);
    if (!row) return;
    const box = row.canvas.getBoundingClientRect();
    const track = row.rank.tracks[Math.floor((event.clientY - box.top - 24) / TRACK)];
    const at = this.x.invert(event.clientX - box.left);
    const slice = track?.slices.find((one) => one.start <= at && at <= one.end);
    if (!slice) return this.say();
    const waiting = slice.waiting ? `, ${timeText(slice.waiting * this.timeline.tick_s)} of it waiting` : "";
    this.say(
        `rank ${row.rank.rank}, ${track.name}: ${this.nameOf(track, slice)}, ` +
        `${timeText((slice.end - slice.start) * this.timeline.tick_s)} from ${
            timeText(slice.start * this.timeline.tick_s)}${waiting}`);
  }

  nameOf(track, slice) {
    const name = slice.name < 0 ? track.name : this.timeline.names[slice.name];
    return slice.more ? `${name} and ${slice.more} more` : name;
  }

  draw(all = false) {
    this.axis.call(d3.svg.axis().scale(this.x).orient("bottom").ticks(8).tickFormat(
        (ticks) => timeText(ticks * this.timeline.tick_s)));
    const top = this.rowsFrame.scrollTop, bottom = top + 560;
    for (const row of this.rows) {
      const at = row.element.offsetTop;
      if (all || (at < bottom && at + row.element.offsetHeight > top)) this.drawRow(row);
    }
  }

  drawRow({rank, canvas}) {
    const ratio = window.devicePixelRatio || 1;
    const high = rank.tracks.length * TRACK + 28;
    canvas.width = this.width * ratio;
    canvas.height = high * ratio;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.font = "10px system-ui, sans-serif";
    context.textBaseline = "middle";
    rank.tracks.forEach((track, i) => this.drawTrack(context, track, 24 + i * TRACK));
  }

  drawTrack(context, track, y) {
    const [from, to] = this.x.domain();
    const bisect = d3.bisector((slice) => slice.end).left;
    for (let i = bisect(track.slices, from); i < track.slices.length && track.slices[i].start <= to; ++i) {
      const slice = track.slices[i];
      const left = Math.max(-2, this.x(slice.start)), right = Math.min(this.width + 2, this.x(slice.end));
      const wide = Math.max(0.4, right - left);
      context.fillStyle = canvasFill(context, track.kind);
      context.fillRect(left, y, wide, TRACK - 2);
      if (slice.waiting) {
        context.fillStyle = "#ffffffb0";
        context.fillRect(left, y, Math.max(0, Math.min(right, this.x(slice.start + slice.waiting)) - left), TRACK - 2);
      }
      if (wide > 3) {
        context.strokeStyle = "#0007";
        context.strokeRect(left + 0.25, y + 0.25, wide - 0.5, TRACK - 2.5);
      }
      if (wide > 46) this.label(context, this.nameOf(track, slice), left, y, wide);
    }
  }

  label(context, name, left, y, wide) {
    const text = name.slice(0, Math.floor((wide - 8) / 5.6));
    if (text.length < 4) return;
    context.fillStyle = "#ffffffc8";
    context.fillRect(left + 3, y + 1, context.measureText(text).width + 3, TRACK - 4);
    context.fillStyle = "#101418";
    context.fillText(text, left + 4, y + TRACK / 2 - 1);
  }
}
