// SPDX-License-Identifier: MIT
// Passes of micro-batches through the stages of a pipeline, as lectures draw them: a row for each stage.
"use strict";

const PASS_KINDS = ["forward", "backward", "weight gradient"];
// Colour of letters by kind, and the share of white in the last chunk, as pictures for papers have them.
const PASS_INKS = ["#101418", "#ffffff", "#101418"], PALEST = [0.5, 0.22, 0.55];
const PASS_KEYS = 7;      // numbers of each in the data
const MOST_TALL = 12;     // stages whose rows have two lines of label
const GAP_OPACITY = 0.6;  // of bubbles, so that boxes stand out

// Passes that run side by side have half of the height each: forward passes the upper one.
function unpackPasses(numbers) {
  const spans = [];
  let at = 0;
  for (let i = 0; i < numbers.length; i += PASS_KEYS) {
    const [later, length, kind, micro, chunk, iteration, half] = numbers.slice(i, i + PASS_KEYS);
    at += later;
    spans.push({start: at, end: at + length, kind, micro, chunk, iteration, half: half === 1});
  }
  return spans;
}

function drawPasses(passes, end) {
  const {schedule, stages, virtual_stages: chunks, micro_batches: micro, tick_s: tick} = passes;
  const per = chunks > 1 ? `, ${chunks} chunks on each` : "";
  const element = section(
      passes.job ? `Pipeline of ${passes.job}` : "Pipeline",
      `${schedule}: ${stages} stages${per}, ${micro} micro-batches. A box is a pass of the micro-batch whose number ` +
          `it bears. Stages are in no pass for ${percent(passes.bubble_share)} of the time from the first pass to the ` +
          "last, mean over stages; the share of each is beside its row." + (per ? " Chunks differ in shade." : "") +
          (passes.first ? ` Of each row, the first ${passes.first} passes are drawn.` : "") +
          (passes.ranks.length < stages ? ` ${passes.ranks.length} of the ${stages} stages are drawn.` : ""));
  const rows = passes.ranks.map((rank) => {
    const spans = unpackPasses(rank.spans), share = rank.bubble / passes.window;
    return {...rank, spans, share, tall: passes.ranks.length <= MOST_TALL};
  });
  const kinds = PASS_KINDS.filter((_, kind) => rows.some((row) => row.spans.some((span) => span.kind === kind)));
  legend(element, [...kinds, "bubble"]);
  const view = new PassesView(element, passes, rows, end / tick);
  const counted = passes.first ? [] : kinds;
  const count = (row, kind) => row.spans.filter((span) => span.kind === kind).length;
  asTable(
      element, ["stage", "rank", ...counted.map((kind) => kind + " passes"), "in passes", "bubble", "share of bubbles"],
      rows.map((row) => [
        [row.stage, `stage ${row.stage}`], row.rank, ...counted.map((kind) => count(row, PASS_KINDS.indexOf(kind))),
        timeCell(row.busy * tick), timeCell(row.bubble * tick), shareCell(row.share)]),
      "Passes, by stage");
  return view;
}

class PassesView extends Lanes {
  constructor(parent, passes, rows, whole) {
    const name = passes.job ? `Pipeline of ${passes.job}` : "Pipeline";
    const about = `${name}, ${passes.schedule}`;
    super(parent, {tick: passes.tick_s, whole, about, rows, name: "Passes of the pipeline"});
    this.passes = passes;
    this.chunks = passes.virtual_stages;
    this.iterations = d3.max(rows, (row) => d3.max(row.spans, (span) => span.iteration)) + 1;
    this.heads = ["stage", "rank", "pass", "micro_batch", "chunk", "iteration", "start_s", "end_s"];
    this.begin();
  }

  captionOf(row) { return row.tall ? `stage ${row.stage}` : `stage ${row.stage}: ${percent(row.share)}`; }
  linesOf(row) { return row.tall ? [[`bubble ${percent(row.share)}`, 30]] : []; }
  high(row) { return row.tall ? 42 : 27; }
  items(row) { return row.spans; }

  placeOf(row, {half, kind}) {
    const high = this.high(row) - (row.tall ? 14 : 5), y = row.tall ? 7 : 2;
    return half ? [kind === 0 ? y : y + high / 2, high / 2] : [y, high];
  }

  itemAt(row, at, y) {
    return row.spans.find((span) => {
      const [top, high] = this.placeOf(row, span);
      return span.start <= at && at <= span.end && top <= y && y <= top + high;
    });
  }

  nameOf({kind, micro}) { return "FBW"[kind] + micro; }

  tellOf(row, span) {
    const chunk = this.chunks > 1 ? `, chunk ${span.chunk}` : "";
    const iteration = this.iterations > 1 ? `, iteration ${span.iteration}` : "";
    return `stage ${row.stage}, ${this.nameOf(span)}${chunk}${iteration}: ${this.timeOf(span.end - span.start)} from ${
        this.timeOf(span.start)} to ${this.timeOf(span.end)}`;
  }

  cells(row, span) {
    return [
      row.stage, row.rank, PASS_KINDS[span.kind], span.micro, span.chunk, span.iteration, span.start * this.tick,
      span.end * this.tick];
  }

  drawRow(pen, row) {
    const {x, width} = this, edge = themed("edge");
    const clip = (ticks) => Math.max(-2, Math.min(width + 2, x(ticks)));
    const [top, high] = this.placeOf(row, {half: false});
    for (const [begin, end] of row.gaps)
      if (clip(end) > clip(begin)) pen.box(clip(begin), top, clip(end) - clip(begin), high, "bubble", GAP_OPACITY);
    for (const span of row.spans) {
      const left = clip(span.start), wide = clip(span.end) - left;
      if (wide <= 0) continue;
      const [y, tall] = this.placeOf(row, span);
      pen.box(left, y, wide, tall, PASS_KINDS[span.kind]);
      if (span.chunk) pen.tint(left, y, wide, tall, "#ffffff", this.paleness(span));
      if (wide > 3) pen.outline(left, y, wide, tall, edge, 0.5);
      this.number(pen, span, left, y, wide, tall);
    }
  }

  paleness({kind, chunk}) { return chunk ? PALEST[kind] * chunk / (this.chunks - 1) : 0; }
  colourOf(span) { return d3.interpolateRgb(styleOf(PASS_KINDS[span.kind])[0], "#ffffff")(this.paleness(span)); }

  // "F3" where there is room, else "3", else nothing.
  number(pen, span, left, y, wide, tall) {
    const text = [this.nameOf(span), String(span.micro)].find((one) => pen.widthOf(one) + 3 <= wide);
    if (!text) return;
    const [, pattern] = styleOf(PASS_KINDS[span.kind]), room = pen.widthOf(text), clear = Math.min(12, tall - 1);
    if (pattern !== "none")  // numbers stand clear of it
      pen.tint(left + (wide - room) / 2 - 1, y + (tall - clear) / 2, room + 2, clear, this.colourOf(span), 1);
    pen.text(left + (wide - room) / 2, y + tall / 2, text, PASS_INKS[span.kind]);
  }
}
