// SPDX-License-Identifier: MIT
// Charts of numbers over numbers.
"use strict";

// Of each series a colour (Okabe and Ito), a dash and a mark: no meaning hangs on colour alone.
const SERIES = [
  ["#0072b2", null, "circle"], ["#d55e00", "7 4", "square"], ["#009e73", "2 3", "triangle-up"],
  ["#cc79a7", "9 3 2 3", "diamond"], ["#b8a900", "4 2", "cross"], ["#7b6fd0", "1 3", "triangle-down"],
  ["#56b4e9", "12 4", "circle"], ["#8a5a44", "5 2 1 2", "square"]
];
const seriesStyle = (number) => SERIES[number % SERIES.length];

function seriesLegend(parent, names) {
  const list = add(parent, "div", undefined, "legend");
  names.forEach((name, number) => {
    const [colour, dash, mark] = seriesStyle(number);
    const item = add(list, "span");
    const svg = d3.select(item).append("svg").attr({width: 30, height: 14, "aria-hidden": "true"});
    svg.append("line").attr({x1: 0, x2: 30, y1: 7, y2: 7, stroke: colour, "stroke-width": 2, "stroke-dasharray": dash});
    svg.append("path").attr({d: d3.svg.symbol().type(mark).size(40)(), transform: "translate(15,7)", fill: colour});
    item.append(name);
  });
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

// Round numbers of bytes.
function byteTicks([low, high]) {
  let unit = 1;
  while (high >= 1024 * unit) unit *= 1024;
  return d3.scale.linear().domain([low / unit, high / unit]).ticks(7).map((tick) => tick * unit);
}

// x and y: {title, text: number -> text, log, base, zero, ticks: domain -> numbers}; series: [{name, points: [{x, y, title}], joined}].
// `diagonal`: lines of y = factor x, as [[factor, name]].
function chart(parent, {x, y, series, about, diagonal = [], height = 340}) {
  const width = 1130, left = 90, right = 40, top = 14, bottom = 50;
  if (series.length > 1) seriesLegend(parent, series.map((one) => one.name));
  const svg = picture(parent, width, height, about);
  const points = series.flatMap((one) => one.points);
  const scale = (axis, key, range) => {
    let domain = extent(points.map((point) => point[key]), axis.log);
    if (axis.zero) domain = [0, domain[1]];
    if (diagonal.length) domain = extent(points.flatMap((point) => [point.x, point.y]), axis.log);
    return (axis.log ? d3.scale.log() : d3.scale.linear()).domain(domain).range(range);
  };
  const sx = scale(x, "x", [left, width - right]), sy = scale(y, "y", [height - bottom, top]);
  const axis = (of, s, side) => {
    const drawn = d3.svg.axis().scale(s).orient(side).tickFormat(of.text).innerTickSize(side === "left" ? left + right - width : 6);
    if (of.ticks) return drawn.tickValues(of.ticks(s.domain()));
    return of.log ? drawn.tickValues(logTicks(s.domain(), of.base ?? 10)) : drawn.ticks(7);
  };
  svg.append("g").attr({class: "axis", transform: `translate(0,${height - bottom})`}).call(axis(x, sx, "bottom"));
  svg.append("g").attr({class: "axis", transform: `translate(${left},0)`}).call(axis(y, sy, "left"));
  svg.append("text").attr({x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle"}).text(x.title);
  svg.append("text")
      .attr({transform: `translate(16,${(top + height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle"})
      .text(y.title);
  for (const [factor, name] of diagonal) {
    const [low, high] = sx.domain();
    const from = Math.max(low, sy.domain()[0] / factor), to = Math.min(high, sy.domain()[1] / factor);
    if (from >= to) continue;
    svg.append("line").attr({
      x1: sx(from), x2: sx(to), y1: sy(from * factor), y2: sy(to * factor),
      stroke: "var(--faint)", "stroke-dasharray": factor === 1 ? null : "5 4"
    });
    const aside = factor < 1 ? {x: sx(to) - 6, y: sy(to * factor) + 34} : {x: sx(to) - 46, y: sy(to * factor) + 14};
    svg.append("text").attr({...aside, "text-anchor": "end", class: "faint"}).text(name);
  }
  series.forEach((one, number) => {
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
  });
}

// Rows of {name, value, text}: bars to the right of zero, and to the left below it.
function differenceBars(parent, rows, about) {
  const width = 1130, left = 330, right = 110, high = 22;
  const svg = picture(parent, width, rows.length * high + 4, about);
  const [low, most] = d3.extent([0, ...rows.map((row) => row.value)]);
  const x = d3.scale.linear().domain([low, most === low ? low + 1 : most]).range([left + (low < 0 ? 90 : 0), width - right]);
  rows.forEach((row, i) => {
    const y = i * high;
    svg.append("text").attr({x: left - 8, y: y + 15, "text-anchor": "end"}).text(row.name);
    svg.append("rect")
        .attr({
          x: x(Math.min(0, row.value)), y: y + 3, height: 16, width: Math.abs(x(row.value) - x(0)),
          fill: fillOf(row.value < 0 ? "less" : "more")
        })
        .append("title").text(`${row.name}: ${row.text}`);
    svg.append("text")
        .attr(row.value < 0 ? {x: x(row.value) - 6, y: y + 15, "text-anchor": "end", class: "faint"}
                            : {x: x(row.value) + 6, y: y + 15, class: "faint"})
        .text(row.text);
  });
  svg.append("line").attr({x1: x(0), x2: x(0), y1: 0, y2: rows.length * high + 4, class: "rule"});
}
