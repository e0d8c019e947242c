// SPDX-License-Identifier: MIT
// The page of `calibrate`: constants before and after, and what was measured against what is predicted.
"use strict";

page.kinds.calibration = function calibration({document: found}) {
  add(page.root, "h1", document.title);
  add(page.root, "p",
      `${found.cluster}${found.software ? ` with ${found.software}` : ""}: ` +
      found.files.map((one) => `${one.file} (${one.kind})`).join(", "));
  const off = (rows, key) => d3.median(rows.map((row) => Math.abs(row[key] / row.measured_s - 1)));
  cards([
    ["Constants determined", `${found.fitted.length}`, `${found.unfitted.length} stay as they were`],
    ["Median error before", found.rows.length ? percent(off(found.rows, "before_s")) : "not known", `${found.rows.length} measurements`],
    ["Median error after", found.rows.length ? percent(off(found.rows, "after_s")) : "not known", "of the same"]
  ]);
  for (const stage of found.stages) calibrationStage(found, stage);
};

function calibrationStage(found, stage) {
  const title = stage.stage[0].toUpperCase() + stage.stage.slice(1);
  const element = section(title, stage.notes.join("; "));
  const fitted = found.fitted.filter((one) => one.stage === stage.stage);
  const unfitted = found.unfitted.filter((one) => one.stage === stage.stage);
  const rows = found.rows.filter((one) => one.stage === stage.stage);
  if (fitted.length)
    table(
        element, ["determined", "file", "before", "after", "95 % interval", "evidence"],
        fitted.map((one) => [
          one.constant, one.file, [one.before_value, one.before], [one.after_value, one.after], one.interval ?? "", one.evidence]),
        `Constants determined by ${stage.stage}`);
  for (const one of fitted) if (one.remark) add(element, "p", `${one.constant}: ${one.remark}`, "faint");
  if (unfitted.length)
    table(
        element, ["not determined", "file", "stays at", "because"],
        unfitted.map((one) => [one.constant, one.file, one.value, one.reason]),
        `Constants that ${stage.stage} leave open`);
  if (stage.parts)
    table(
        element, ["part of the step", "predicted", "measured", "known from"],
        stage.parts.map((one) => [
          one.part, one.predicted_s === undefined ? "" : timeCell(one.predicted_s),
          one.measured_s === undefined ? "" : timeCell(one.measured_s), one.because ?? ""]),
        "Parts of the measured step");
  for (const group of d3.nest().key((row) => row.group).entries(rows)) calibrationGroup(element, stage, group.key, group.values);
}

function calibrationGroup(parent, stage, name, rows) {
  add(parent, "h3", name);
  const line = (key, label) => ({
    name: label, joined: key !== "measured_s",
    points: rows.map((row) => ({
      x: row.size, y: row[key], title: `${label}, ${row.label}: ${timeText(row[key])}`}))
  });
  const bytes = stage.size_unit === "B";
  if (rows.length > 1 && rows.every((row) => row.size > 0)) {
    rows.sort((a, b) => a.size - b.size);
    const series = [line("measured_s", "measured"), line("before_s", "before"), line("after_s", "after")];
    if (!bytes) series.forEach((one) => { one.joined = false; });
    chart(parent, {
      about: `Times of ${name}: measured, before and after`,
      x: bytes ? {title: "size", text: bytesText, log: true, base: 2} : {title: "FLOPs", text: d3.format("s"), log: true},
      y: {title: "time", text: timeText, log: true}, series
    });
  }
  const details = add(parent, "details");
  add(details, "summary", `${rows.length} measurements`);
  const error = (row, key) => {
    const off = row[key] / row.measured_s - 1;
    return [Math.abs(off), signed(percent(off), off)];
  };
  table(
      details, ["measurement", "measured", "before", "error", "after", "error", "source"],
      rows.map((row) => [
        row.label, timeCell(row.measured_s), timeCell(row.before_s), error(row, "before_s"), timeCell(row.after_s),
        error(row, "after_s"), row.source]),
      `Measurements of ${name}`);
}
