// SPDX-License-Identifier: MIT
// The page of `sweep`.
"use strict";

const MOST_SERIES = 8;  // of a chart, which has as many styles
const ran = (point) => point.iteration_time_s !== undefined;

page.kinds.sweep = function sweep({document: swept}) {
  const points = swept.points.filter(ran).sort((a, b) => a.iteration_time_s - b.iteration_time_s);
  const refused = swept.points.filter((point) => !ran(point));
  const nameOf = (point) => swept.axes.map((axis) => `${axis.name} ${point.settings[axis.name] ?? ""}`).join(", ");
  add(page.root, "h1", swept.title || document.title);
  add(page.root, "p", `${swept.points.length} points` + (refused.length ? `, of which ${refused.length} have no result` : ""));
  if (!points.length) return refusals(refused, nameOf);
  const fastest = points[0], slowest = points[points.length - 1];
  const items = [
    ["Fastest", timeText(fastest.iteration_time_s), nameOf(fastest)],
    ["Slowest", timeText(slowest.iteration_time_s), nameOf(slowest)]
  ];
  const more = page.figures.find(({key, better}) => better === "more" && points.some((point) => point[key] !== undefined));
  if (more) {
    const most = points.reduce((best, point) => ((point[more.key] ?? -1) > (best[more.key] ?? -1) ? point : best));
    items.push([`Highest ${more.heading}`, figureText(more, most[more.key]), nameOf(most)]);
  }
  cards(items);
  curves(swept.axes, points, nameOf);
  if (points.some((point) => point.memory_peak_bytes > 0)) timeAgainstMemory(points, nameOf);
  allPoints(swept.axes, points);
  refusals(refused, nameOf);
};

// Over the longest axis of numbers, one curve for each combination of the others; without one, over the points.
function curves(axes, points, nameOf) {
  const number = (text) => (/^[\d.]+(e[+-]?\d+)?$/i.test(String(text).trim()) ? Number(text) : NaN);
  const ofNumbers = axes.filter((axis) => axis.values.length > 1 && axis.values.every((value) => number(value) > 0));
  const over = ofNumbers.sort((a, b) => b.values.length - a.values.length)[0];
  const about = over ? `Iteration time over ${over.name}` : "Iteration time of the points, the fastest first";
  const element = section("Time", over ? about + ", one curve for each of the other settings." : about + ".");
  const y = {title: "iteration time", text: timeText, zero: true};
  if (!over)
    return differenceBars(
        element,
        points.slice(0, 60).map((point) => ({
          name: axes.map((axis) => point.settings[axis.name]).join(", ").slice(0, 48), value: point.iteration_time_s,
          text: timeText(point.iteration_time_s)})),
        about);
  const rest = axes.filter((axis) => axis !== over);
  const groups = d3.nest()
                     .key((point) => rest.map((axis) => point.settings[axis.name]).join(", ") || "time")
                     .entries(points);
  const values = over.values.map(number);
  chart(element, {
    about,
    x: {
      title: over.name, text: String, log: d3.max(values) >= 8 * d3.min(values),
      ticks: () => values.filter((_, i) => i % Math.ceil(values.length / 10) === 0)
    },
    y,
    series: groups.slice(0, MOST_SERIES).map((group) => ({
      name: group.key, joined: true,
      points: group.values
                  .map((point) => ({
                    x: number(point.settings[over.name]), y: point.iteration_time_s,
                    title: `${nameOf(point)}: ${timeText(point.iteration_time_s)}`}))
                  .sort((a, b) => a.x - b.x)
    }))
  });
  if (groups.length > MOST_SERIES)
    add(element, "p", `The ${MOST_SERIES} curves with the fastest points, of ${groups.length}; all are in the table.`);
}

// None of the front is beaten both in time and in memory.
function timeAgainstMemory(points, nameOf) {
  const shown = points.filter((point) => point.memory_peak_bytes > 0);
  const front = [];
  for (const point of shown)  // the fastest first
    if (!front.length || point.memory_peak_bytes < front[front.length - 1].memory_peak_bytes) front.push(point);
  const dot = (point) => ({
    x: point.memory_peak_bytes, y: point.iteration_time_s,
    title: `${nameOf(point)}: ${timeText(point.iteration_time_s)}, ${bytesText(point.memory_peak_bytes)}`});
  const element = section(
      "Time against memory", `Memory of the fullest device. ${front.length} of ${shown.length} points are on the front: ` +
          "no other is both faster and smaller.");
  chart(element, {
    about: "Iteration time against memory of the fullest device",
    x: {title: "memory of the fullest device", text: bytesText, zero: true, ticks: byteTicks},
    y: {title: "iteration time", text: timeText, zero: true},
    series: [{name: "front", joined: true, points: front.map(dot)},
             {name: "others", points: shown.filter((point) => !front.includes(point)).map(dot)}]
  });
  asTable(
      element, ["point on the front", "time", "memory"],
      front.map((point) => [
        nameOf(point), timeCell(point.iteration_time_s), [point.memory_peak_bytes, bytesText(point.memory_peak_bytes)]]),
      "The front of time and memory");
}

function allPoints(axes, points) {
  const has = (key) => points.some((point) => point[key] !== undefined);
  const families = [...new Set(points.flatMap((point) => Object.keys(point.exposed_comm_s ?? {})))];
  const columns = page.figures.filter(({key}) => key !== "iteration_time_s" && has(key));
  table(
      section("Points", "The fastest first; a click on a heading sorts."),
      ["point", ...axes.map((axis) => axis.name), "time", ...columns.map(({heading}) => heading),
       ...families.map((family) => family + " exposed")],
      points.map((point) => [
        point.point, ...axes.map((axis) => point.settings[axis.name] ?? ""), timeCell(point.iteration_time_s),
        ...columns.map((figure) => figureCell(figure, point[figure.key])),
        ...families.map((family) => timeCell((point.exposed_comm_s ?? {})[family] ?? 0))]),
      "Points");
}

function refusals(refused, nameOf) {
  if (!refused.length) return;
  table(
      section("Without a result"), ["point", "settings", "why"],
      refused.map((point) => [point.point, nameOf(point), point.error ?? ""]), "Points without a result");
}
