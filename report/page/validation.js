// SPDX-License-Identifier: MIT
// The page of `validate`: what was predicted against what was measured.
"use strict";

page.kinds.validation = function validation({document: found}) {
  add(page.root, "h1", document.title);
  add(page.root, "p",
      "Errors are |predicted / measured - 1|. The dashed lines are 20 % off. orrery " + found.version);
  const overall = (name, error, of) => [name, error === null || error === undefined ? "not known" : percent(error), of];
  const items = [];
  if (found.training) items.push(overall("Training, median of families", found.training.overall.median_of_medians, `${found.training.rows.length} runs`));
  if (found.tables) items.push(overall("Collectives, median of tables", found.overall.error_of_medians?.median, `${found.tables.length} tables`));
  if (found.compute) items.push(["Operators", `${found.compute.tables.length} tables`, "by table below"]);
  if (found.experts) items.push(["Exchanges of experts", `${found.experts.tables.length} tables`, "by table below"]);
  if (found.traces) items.push(overall("Traces, worst", d3.max(found.traces, (one) => Math.abs(one.error)), `${found.traces.length} replayed`));
  cards(items);
  if (found.training) training(found.training);
  if (found.tables) collectives(found);
  if (found.compute)
    ofTables("Operators", found.compute.tables, "at", (one) => one.operators.flatMap((operator) => operator.rows.map((row) => ({...row, of: operator.operator}))));
  if (found.experts) ofTables("Exchanges of experts", found.experts.tables, "at", (one) => one.rows);
  if (found.traces) traces(found.traces);
};

const errorOf = (row) => row.predicted_s / row.measured_s - 1;
const errorCell = (error) => [Math.abs(error), signed(percent(error), error)];
const shareOrNone = (share) => (share === null || share === undefined ? [-1, ""] : shareCell(share));

function median(values) { return d3.median(values.map(Math.abs)); }

// groups: [{name, points: [{measured_s, predicted_s, name}]}]; the eight with the most points have a style each.
function predictedAgainstMeasured(element, groups, about) {
  const sorted = [...groups].sort((a, b) => b.points.length - a.points.length);
  const shown = sorted.slice(0, 7);
  if (sorted.length > 7) shown.push({name: "others", points: sorted.slice(7).flatMap((group) => group.points)});
  chart(element, {
    about, height: 460,
    x: {title: "measured", text: timeText, log: true},
    y: {title: "predicted", text: timeText, log: true},
    diagonal: [[1.2, "+20 %"], [1, ""], [0.8, "-20 %"]],
    series: shown.map(({name, points}) => ({
      name: `${name} (${points.length})`,
      points: points.map((point) => ({
        x: point.measured_s, y: point.predicted_s,
        title: `${point.name}: measured ${timeText(point.measured_s)}, predicted ${timeText(point.predicted_s)} (${signed(percent(errorOf(point)), errorOf(point))})`}))
    }))
  });
}

function training(found) {
  const element = section("Training", "One mark for each published run, by the software that ran it.");
  const groups = d3.nest().key((row) => row.software).entries(found.rows);
  predictedAgainstMeasured(
      element, groups.map((group) => ({name: group.key, points: group.values.map((row) => ({...row, name: row.label}))})),
      "Training iterations, predicted against measured");
  table(
      element, ["family", "software", "runs", "median", "p90", "bias"],
      found.families.map((one) => [
        one.title, one.software.join(", "), one.error.rows, shareOrNone(one.error.median), shareOrNone(one.error.p90),
        errorCell(one.error.bias)]),
      "Training, by family");
  const worst = [...found.rows].sort((a, b) => Math.abs(errorOf(b)) - Math.abs(errorOf(a))).slice(0, 100);
  const details = add(element, "details");
  add(details, "summary", "The 100 runs that are most off");
  table(
      details, ["run", "family", "measured", "predicted", "error"],
      worst.map((row) => [row.label, row.family, timeCell(row.measured_s), timeCell(row.predicted_s), errorCell(errorOf(row))]),
      "The runs that are most off");
}

function collectives(found) {
  const element = section("Collectives", "One mark for each size of each table of nccl-tests, by operation.");
  const groups = d3.nest().key((one) => one.op).entries(found.tables);
  predictedAgainstMeasured(
      element,
      groups.map((group) => ({
        name: group.key,
        points: group.values.flatMap((one) => one.rows.map((row) => ({...row, name: `${one.table}, ${bytesText(row.bytes)}`})))})),
      "Collectives, predicted against measured");
  table(
      element, ["table", "operation", "cluster", "nodes", "median", "p90", "from 256 MiB"],
      found.tables.map((one) => [
        one.table, one.op, one.cluster, one.nodes, shareOrNone(one.error?.median), shareOrNone(one.error?.p90),
        shareOrNone(one.error_by_size?.[">= 256M"]?.median)]),
      "Collectives, by table");
}

function ofTables(title, tables, key, rowsOf) {
  const element = section(title, "One mark for each measured row, by table.");
  const groups = tables.map((one) => ({
    name: one.table,
    points: rowsOf(one).filter((row) => row.measured_s > 0 && row.predicted_s > 0).map((row) => ({...row, name: `${row.of ? row.of + " " : ""}${row[key]}`}))}));
  predictedAgainstMeasured(element, groups, `${title}, predicted against measured`);
  table(
      element, ["table", "rows", "median", "most off"],
      groups.filter((group) => group.points.length).map((group) => {
        const errors = group.points.map(errorOf);
        const worst = errors.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a));
        return [group.name, group.points.length, shareCell(median(errors)), errorCell(worst)];
      }),
      `${title}, by table`);
}

function traces(found) {
  const element = section("Traces", "Replays of recorded steps, against their own time.");
  table(
      element, ["trace", "machine", "measured", "replayed", "error", "as recorded"],
      found.map((one) => [
        one.title, one.machine, timeCell(one.measured_s), timeCell(one.replayed_s), errorCell(one.error), shareCell(one.as_recorded)]),
      "Traces");
}
