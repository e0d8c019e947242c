// SPDX-License-Identifier: MIT
// The page of `sweep`.
"use strict";

const ran = (point) => point.iteration_time_s !== undefined;

page.kinds.sweep = function sweep({document: swept, pictures = [], notes = []}) {
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
  for (const note of notes) add(page.root, "div", note, "warning");
  for (const drawn of pictures) drawnPicture(section(drawn.heading), drawn);
  allPoints(swept.axes, points);
  refusals(refused, nameOf);
};

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
  const element = section("Without a result");
  for (const {key, values} of d3.nest().key((point) => point.error ?? "").entries(refused))
    add(element, "div", `${values.length} ${values.length === 1 ? "point" : "points"}: ${key}`, "warning");
  asTable(
      element, ["point", "settings", "why"], refused.map((point) => [point.point, nameOf(point), point.error ?? ""]),
      "Points without a result");
}
