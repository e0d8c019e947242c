// SPDX-License-Identifier: MIT
// The pages of `compare` and of `explain`.
"use strict";

const SAME = 1e-9;  // share of a time that no figure shows
const signed = (text, value) => (value > 0 ? "+" : "") + text;
const differenceText = (seconds) => signed(timeText(seconds), seconds);

// "layer 3 mlp forward" and "layer 4 mlp forward" are the like of "layer * mlp forward".
function byKind(operations) {
  const kinds = new Map();
  for (const {what, first_s, second_s, difference_s} of operations) {
    const name = what.replace(/\d+/g, "*");
    const sum = kinds.get(name) ?? {what: name, count: 0, first_s: 0, second_s: 0, difference_s: 0};
    sum.count += 1, sum.first_s += first_s ?? 0, sum.second_s += second_s ?? 0, sum.difference_s += difference_s;
    kinds.set(name, sum);
  }
  return [...kinds.values()].sort((a, b) => Math.abs(b.difference_s) - Math.abs(a.difference_s));
}

page.kinds.comparison = function comparison({document: compared}) {
  const runs = compared.runs;
  add(page.root, "h1", runs.map((run) => run.name).join(" against "));
  add(page.root, "p", "Times are of one iteration, means over ranks where they are of parts.");
  cards(runs.map((run, i) => [run.name, timeText(run.time_s), [i ? `${run.ratio.toFixed(3)} of the first` : "", ...cardFigures(compared, run)]
                                                                  .filter((note) => note).join("; ")]));
  const reasons = (run) => [...(run.no_difference ?? []), ...(run.held_up ?? [])].map((one) => `${run.name}: ${one.text}`);
  const notes = runs.flatMap((run) => [run.sureness && `${run.name}: ${run.sureness}`, ...reasons(run), run.unlike]);
  for (const note of [...notes, ...(compared.out_of_memory ?? [])])
    if (note) add(page.root, "p", `${note}.`);
  figuresBeside(compared);
  const names = [...new Set(runs.flatMap((run) => Object.keys(run.parts_s)))];
  const where = section("Where the time goes", "One bar for each run; the parts of a bar are disjoint.");
  const kinds = Object.assign({}, ...runs.map((run) => run.part_kinds));
  legend(where, names.map((name) => kinds[name]));
  bars(
      where,
      runs.map((run) => ({name: run.name.slice(-20), parts: names.map((name) => [kinds[name], run.parts_s[name] ?? 0])})),
      d3.max(runs, (run) => run.time_s), "Where the time goes, by run");
  asTable(
      where, ["part", ...runs.map((run) => run.name)],
      names.map((name) => [name, ...runs.map((run) => timeCell(run.parts_s[name] ?? 0))]), "Parts of the time, by run");
  memoryBeside(runs);
  if (runs.length === 2) twoRuns(compared, names);
};

// The first two figures of a run, for its card.
const cardFigures = ({figures}, run) => figures.filter((figure) => run.figures[figure.name] !== undefined).slice(0, 2)
    .map((figure) => `${figure.heading} ${bareText(figure, run.figures[figure.name])}`);

// A heading that begins with the unit has it for all values below.
const bareText = (figure, value) => {
  const text = figureText(figure, value);
  return figure.unit.endsWith("/s") && figure.heading.startsWith(figure.unit) ? text.slice(0, -figure.unit.length).trim() : text;
};

// Draws what is compared beside the time, with the ratio to the first run.
function figuresBeside({runs, figures}) {
  if (!figures?.length) return;
  const cell = (figure, run, i) => {
    const value = run.figures[figure.name];
    if (value === undefined) return [-Infinity, "-"];
    const ratio = figure.ratios[i];
    return [value, bareText(figure, value) + (i && ratio !== null ? ` (× ${ratio.toFixed(3)})` : "")];
  };
  table(
      section("Beside the time", "In brackets: the ratio to the first run."), ["figure", "better", ...runs.map((run) => run.name)],
      figures.map((figure) => [figure.heading, figure.better, ...runs.map((run, i) => cell(figure, run, i))]), "Figures, by run");
}

// Memory of the fullest rank of each run, by use; of two runs what differs.
function memoryBeside(runs) {
  const trained = runs.filter((run) => run.memory_bytes);
  if (trained.length < 2) return;
  const sum = (run) => d3.sum(Object.values(run.memory_bytes));
  const uses = [...new Set(trained.flatMap((run) => Object.keys(run.memory_bytes)))];
  const element = section("Memory of the fullest rank", "By use; the uses sum to what is in use.");
  if (trained.length === 2) {
    const [first, second] = trained;
    const rows = uses.map((use) => ({name: use, value: (second.memory_bytes[use] ?? 0) - (first.memory_bytes[use] ?? 0)}))
                     .filter((row) => row.value !== 0).sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    const all = {name: "all", value: sum(second) - sum(first)};
    if (rows.length)
      differenceBars(
          element, [...rows, all].map((row) => ({...row, text: signed(bytesText(row.value), row.value)})), "Difference of memory, by use");
  }
  table(
      element, ["use", ...trained.map((run) => run.name)],
      [...uses.map((use) => [use, ...trained.map((run) => bytesCell(run.memory_bytes[use] ?? 0))]), ["all", ...trained.map((run) => bytesCell(sum(run)))]],
      "Memory of the fullest rank, by use");
}
const bytesCell = (bytes) => [bytes, bytesText(bytes)];

function twoRuns(compared, names) {
  const [first, second] = compared.runs;
  const parts = names.map((name) => {
    const value = (second.parts_s[name] ?? 0) - (first.parts_s[name] ?? 0);
    return {name, value, text: differenceText(value)};
  }).sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const whole = second.time_s - first.time_s;
  if (Math.abs(whole) <= SAME * first.time_s) {
    section("What makes the difference", `${second.name} takes as long as ${first.name}.`);
  } else {
    const what = section(
        "What makes the difference", `${second.name} takes ${timeText(Math.abs(whole))} ${whole < 0 ? "less" : "more"}; the parts sum to it.`);
    differenceBars(what, [...parts, {name: "all", value: whole, text: differenceText(whole)}], "Difference, by part of the time");
  }
  if (compared.settings) {
    table(
        section("Settings that differ"), ["setting", first.name, second.name],
        compared.settings.map((one) => [one.key, one.first ?? "", one.second ?? ""]), "Settings that differ");
  }
  if (!compared.operations?.some((one) => one.difference_s)) return;
  const kinds = byKind(compared.operations);
  const element = section(
      "Operations of the critical path", "By kind, the numbers of layers left out; the differences sum to that of the times.");
  differenceBars(
      element, kinds.slice(0, 12).map((one) => ({name: one.what.slice(0, 48), value: one.difference_s, text: differenceText(one.difference_s)})),
      "Difference, by kind of operation on the critical path");
  table(
      element, ["operation", "names", first.name, second.name, "difference"],
      kinds.slice(0, 200).map((one) => [
        one.what, one.count, timeCell(one.first_s), timeCell(one.second_s), [one.difference_s, differenceText(one.difference_s)]]),
      "Operations of the critical path");
  if (kinds.length > 200) add(element, "p", `${kinds.length - 200} more kinds are in --json.`);
}

page.kinds.explanation = function explanation({document: explained}) {
  const now = explained.iteration_time_s;
  const saved = (one) => 100 * one.saved_s / now;
  add(page.root, "h1", document.title);
  const known = explained.resources.filter((one) => one.x2?.iteration_time_s !== undefined);
  const best = known[0];
  cards([
    ["Iteration time", timeText(now), ""],
    ["Bound by", explained.bound, ""],
    ...(best ? [["What helps most", best.name, `twice as much saves ${saved(best.x2).toFixed(1)} %`]] : [])
  ]);
  const element = section("Resources", "What twice as much of each saves, the rest as it is; each was simulated.");
  differenceBars(
      element, known.map((one) => ({name: one.name, value: saved(one.x2), text: `${saved(one.x2).toFixed(1)} %`})),
      "Share of the time that twice as much of a resource saves");
  table(
      element, ["resource", "now", "× 1.1", "× 2", "saves", "d ln t / d ln r"],
      known.map((one) => [
        one.name, one.now, timeCell(one["x1.1"].iteration_time_s), timeCell(one.x2.iteration_time_s),
        [one.x2.saved_s, `${saved(one.x2).toFixed(1)} %`], [one.sensitivity, (one.sensitivity ?? 0).toFixed(3)]]),
      "Resources");
  if (explained.changes?.length)
    table(
        section("Other plans"), ["plan", "changes", "time", "saves", "not simulated"],
        explained.changes.map((one) =>
            one.iteration_time_s === undefined
                ? [one.name, one.kind, [Infinity, ""], [-Infinity, ""],
                   one.refused ?? `can be no faster: takes ${timeText(one.at_least_s)} at least`]
                : [one.name, one.kind, timeCell(one.iteration_time_s), [one.saved_s, `${saved(one).toFixed(1)} %`], ""]),
        "Other plans");
};
