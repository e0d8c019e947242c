// SPDX-License-Identifier: MIT
// Charts of numbers. Each takes the width that there is, and is drawn anew when that changes; buttons beside it save it
// and its numbers.
"use strict";

const NARROW = 560;  // pixels: below that, names stand above bars
const LEAST_WIDTH = 280;

// Styles of each series: a colour (Okabe and Ito's, of which dark pages have lighter ones), a dash and a mark: no meaning hangs
// on colour alone.
const SERIES = [
  [null, "circle"], ["7 4", "square"], ["2 3", "triangle-up"], ["9 3 2 3", "diamond"], ["4 2", "cross"],
  ["1 3", "triangle-down"], ["12 4", "circle"], ["5 2 1 2", "square"]
].map((style, i) => [`var(--series${i})`, ...style]);
const seriesStyle = (number) => SERIES[number % SERIES.length];

// `joined`: by series, if a line joins its points.
function seriesLegend(parent, names, joined = []) {
  const list = add(parent, "div", undefined, "legend");
  names.forEach((name, number) => {
    const [colour, dash, mark] = seriesStyle(number);
    const item = add(list, "span");
    const svg = d3.select(item).append("svg").attr({width: 30, height: 14, "aria-hidden": "true"});
    if (joined[number] ?? true)
      svg.append("line").attr(
          {x1: 0, x2: 30, y1: 7, y2: 7, stroke: colour, "stroke-width": 2, "stroke-dasharray": dash});
    svg.append("path").attr({d: d3.svg.symbol().type(mark).size(40)(), transform: "translate(15,7)", fill: colour});
    item.append(name);
  });
}

// Place of a picture: draw(frame, width) makes it, first now and again for another width. `data` as saveButtons() has
// it.
function figure(parent, about, draw, data) {
  const frame = add(parent, "div", undefined, "figure");
  let drawn = 0;
  const fit = () => {
    const width = Math.max(LEAST_WIDTH, frame.clientWidth || drawn || page.root.clientWidth - 48);
    if (width === drawn) return;
    drawn = width;
    frame.querySelector(":scope > svg")?.remove();
    draw(frame, width);
    frame.prepend(frame.querySelector(":scope > svg"));
  };
  fit();
  saveButtons(frame, about, () => frame.querySelector(":scope > svg"), data);
  new ResizeObserver(fit).observe(frame);
}

// An empty picture; one outside of a figure gets the button that saves it.
function picture(parent, width, height, about) {
  const inFigure = parent.classList.contains("figure");
  const frame = inFigure ? parent : add(parent, "div", undefined, "figure");
  const svg = d3.select(frame).append("svg").attr(
      {viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": about});
  svg.append("title").text(about);
  if (!inFigure) saveButtons(frame, about, () => svg.node());
  return svg;
}

function extent(values, log) {
  let [low, high] = d3.extent(values.filter((value) => Number.isFinite(value) && (!log || value > 0)));
  if (low === undefined) [low, high] = [log ? 1 : 0, 1];
  if (log) return low === high ? [low / 2, high * 2] : [low / 1.15, high * 1.15];
  return low === high ? [low - 1, high + 1] : [low - 0.03 * (high - low), high + 0.05 * (high - low)];
}

// Ticks of a logarithmic axis: at most eight powers, of two where these are what the numbers are.
function logTicks([low, high], base) {
  const first = Math.ceil(Math.log(low) / Math.log(base) - 1e-9), last = Math.floor(Math.log(high) / Math.log(base) + 1e-9);
  const step = Math.max(1, Math.ceil((last - first + 1) / 8));
  return d3.range(first, last + 1, step).map((power) => Math.pow(base, power));
}

// Round numbers of bytes, in steps of powers of two.
const BYTE_STEPS = d3.range(-3, 9).map((power) => 2 ** power);
function byteTicks([low, high], most = 7) {
  const [unit] = unitOf(BYTES, high);
  const step = unit * (BYTE_STEPS.find((one) => (high - low) / unit / one <= most) ?? 256);
  return d3.range(Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9) + 1).map((i) => i * step);
}

// d3's axis of {text, log, base, ticks}, with as many labels, all of one unit, as fit on its length.
function axisOf(of, scale, side) {
  const [low, high] = d3.extent(scale.domain()), [a, b] = scale.range(), upright = side === "left";
  const most = Math.max(2, Math.min(8, Math.floor(Math.abs(b - a) / (upright ? 34 : 70))));
  const ticks = of.ticks ? of.ticks([low, high]) : of.log ? logTicks([low, high], of.base ?? 10)
      : of.text === bytesText ? byteTicks([low, high], most) : scale.ticks(most);
  const text = of.log ? of.text : ofOneUnit(of.text, [low, high]);
  const half = (tick) => (upright ? 7 : 3.4 * text(tick).length + 5);
  const apart = (one, other) => Math.abs(scale(one) - scale(other)) >= half(one) + half(other);
  const fit = (kept) => kept.every((tick, i) => !i || apart(tick, kept[i - 1]));
  let kept = ticks;
  for (let stride = 2; kept.length > 1 && !fit(kept); ++stride) kept = ticks.filter((_, i) => i % stride === 0);
  return d3.svg.axis().scale(scale).orient(side).tickValues(kept).tickFormat(text);
}

// x and y: {title, text: number -> text, log, base, zero, ticks: domain -> numbers}; series: [{name, points: [{x, y, title}], joined}].
// `diagonal`: lines of y = factor x, as [[factor, name]].
function chart(parent, {x, y, series, about, diagonal = [], height = 340}) {
  if (series.length > 1) seriesLegend(parent, series.map((one) => one.name), series.map((one) => Boolean(one.joined)));
  const data = () => ({
    heads: ["series", x.title, y.title, "what"],
    rows: series.flatMap((one) => one.points.map((point) => [one.name, point.x, point.y, point.title]))});
  figure(parent, about, (frame, width) => drawChart(frame, width, {x, y, series, about, diagonal, height}), data);
}

function drawChart(frame, width, {x, y, series, about, diagonal, height}) {
  const narrow = width < NARROW, left = narrow ? 62 : 84, right = narrow ? 14 : 30, top = 30, bottom = 46;
  const svg = picture(frame, width, height, about);
  const points = series.flatMap((one) => one.points);
  const scale = (axis, key, range) => {
    let domain = extent(points.map((point) => point[key]), axis.log);
    if (axis.zero) domain = [0, domain[1]];
    if (diagonal.length) domain = extent(points.flatMap((point) => [point.x, point.y]), axis.log);
    return (axis.log ? d3.scale.log() : d3.scale.linear()).domain(domain).range(range);
  };
  const sx = scale(x, "x", [left, width - right]), sy = scale(y, "y", [height - bottom, top]);
  svg.append("g").attr({class: "axis", transform: `translate(0,${height - bottom})`}).call(axisOf(x, sx, "bottom"));
  svg.append("g").attr({class: "axis", transform: `translate(${left},0)`})
      .call(axisOf(y, sy, "left").innerTickSize(left + right - width));
  svg.append("text").attr({x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle"}).text(titleOf(x, sx));
  svg.append("text").attr({x: 4, y: 14}).text(titleOf(y, sy));
  series.forEach((one, number) => drawSeries(svg, sx, sy, {x, y}, one, number));
  for (const [factor, name] of diagonal) drawDiagonal(svg, sx, sy, factor, name);
}

// The name of an axis, and that it does not begin at zero, where one could take it for that.
function titleOf({title, text, log, ticks}, scale) {
  const [low] = scale.domain();
  if (log) return title + " (logarithmic)";
  return low <= 0 || ticks ? title : `${title} (from ${text(low)})`;
}

function drawDiagonal(svg, sx, sy, factor, name) {
  const [low, high] = sx.domain();
  const from = Math.max(low, sy.domain()[0] / factor), to = Math.min(high, sy.domain()[1] / factor);
  if (from >= to) return;
  svg.append("line").attr({
    x1: sx(from), x2: sx(to), y1: sy(from * factor), y2: sy(to * factor),
    stroke: "var(--faint)", "stroke-dasharray": factor === 1 ? null : "5 4"
  });
  const aside = factor < 1 ? {x: sx(to) - 6, y: sy(to * factor) + 34} : {x: sx(to) - 46, y: sy(to * factor) + 14};
  svg.append("text").attr({...aside, "text-anchor": "end", class: "faint halo"}).text(name);
}

function drawSeries(svg, sx, sy, {x, y}, one, number) {
  const [colour, dash, mark] = seriesStyle(number);
  const shown = one.points.filter((p) => Number.isFinite(p.x) && Number.isFinite(p.y) && (!x.log || p.x > 0) && (!y.log || p.y > 0));
  if (one.joined)
    svg.append("path").attr({
      class: "curve", stroke: colour, "stroke-dasharray": dash,
      d: d3.svg.line().x((point) => sx(point.x)).y((point) => sy(point.y))(shown) ?? ""
    });
  const size = shown.length > 300 ? 12 : 40;
  svg.append("g").selectAll("path").data(shown).enter().append("path").attr({
    class: "mark", d: d3.svg.symbol().type(mark).size(size),
    transform: (point) => `translate(${sx(point.x)},${sy(point.y)})`,
    fill: colour, "fill-opacity": shown.length > 300 ? 0.55 : 0.9
  }).append("title").text((point) => point.title);
}

// Text that takes no more than `room`; what is left out of it shows when pointed at.
function shortened(text, room) {
  const whole = text.text();
  let kept = whole.length;
  while (kept > 1 && text.node().getComputedTextLength() > room) text.text("…" + whole.slice(whole.length - --kept));
  if (kept < whole.length) text.append("title").text(whole);
}

// Lines of named bars: draws a name and gives where its bar begins, above it and how far down the next is.
function barLines(svg, width, names, most) {
  const narrow = width < NARROW;
  const longest = Math.min(most, 16 + 7.4 * d3.max(names, (name) => name.length));
  const left = narrow ? 4 : Math.max(90, longest);
  return {
    left, high: narrow ? 40 : 24, top: narrow ? 18 : 2,
    name: (line, name) => shortened(
        line.append("text").attr(narrow ? {x: 4, y: 13} : {x: left - 8, y: 16, "text-anchor": "end"}).text(name),
        narrow ? width - 8 : left - 12)
  };
}

// One bar for each row of {name, parts: [[kind, seconds]]}, on one scale.
function bars(parent, rows, end, about) {
  const data = () => ({
    heads: ["bar", "part", "seconds", "share"],
    rows: rows.flatMap((row) => row.parts.map(([kind, seconds]) => [row.name, kind, seconds, seconds / (end || 1)]))});
  figure(parent, about, (frame, width) => {
    const {high} = barLines(null, width, rows.map((row) => row.name), 240);
    const svg = picture(frame, width, rows.length * high + 4, about);
    const {left, top, name} = barLines(svg, width, rows.map((row) => row.name), 240);
    const x = d3.scale.linear().domain([0, end || 1]).range([left, width - 76]);
    rows.forEach((row, i) => {
      const line = svg.append("g").attr("transform", `translate(0,${i * high})`);
      name(line, row.name);
      let from = 0;
      for (const [kind, seconds] of row.parts) {
        const bar = line.append("rect").attr({
          x: x(from), y: top, width: Math.max(0, x(from + seconds) - x(from)), height: 19, fill: fillOf(kind),
          stroke: "var(--paper)", "stroke-width": 0.5
        });
        bar.append("title").text(`${row.name}: ${kind} ${timeText(seconds)} (${percent(seconds / end)})`);
        from += seconds;
      }
      line.append("text").attr({x: x(from) + 6, y: top + 14, class: "faint"}).text(timeText(from));
    });
  }, data);
}

// Rows of {name, value, text}: bars to the right of zero, and to the left below it.
function differenceBars(parent, rows, about) {
  const data = () => ({heads: ["name", "value", "text"], rows: rows.map((row) => [row.name, row.value, row.text])});
  figure(parent, about, (frame, width) => {
    const {high} = barLines(null, width, rows.map((row) => row.name), 340);
    const svg = picture(frame, width, rows.length * high + 4, about);
    const {left, top, name} = barLines(svg, width, rows.map((row) => row.name), 340);
    const [low, most] = d3.extent([0, ...rows.map((row) => row.value)]);
    const x = d3.scale.linear().domain([low, most === low ? low + 1 : most]);
    x.range([left + (low < 0 ? 84 : 0), width - 84]);
    rows.forEach((row, i) => {
      const line = svg.append("g").attr("transform", `translate(0,${i * high})`);
      name(line, row.name);
      line.append("rect")
          .attr({
            x: x(Math.min(0, row.value)), y: top + 1, height: 16, width: Math.abs(x(row.value) - x(0)),
            fill: fillOf(row.value < 0 ? "less" : "more")
          })
          .append("title").text(`${row.name}: ${row.text}`);
      line.append("text")
          .attr(row.value < 0 ? {x: x(row.value) - 6, y: top + 13, "text-anchor": "end", class: "faint"}
                              : {x: x(row.value) + 6, y: top + 13, class: "faint"})
          .text(row.text);
      line.append("line").attr({x1: x(0), x2: x(0), y1: top - 2, y2: top + 22, class: "rule"});
    });
  }, data);
}
