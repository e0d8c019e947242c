// SPDX-License-Identifier: MIT
// The timeline of ranks: a lane for each kind of operations, filled from below by the share of the time that they take.
"use strict";

const TRACK = 14, LANE = TRACK - 2, LANES_TOP = 24;  // pixels
const LEAST = 0.02;  // share of a pixel's time that is drawn where there is less, so that it is seen

// Name of what a track shows, as the breakdown calls it.
const kindOf = (track) => track.replace(/ (send|receive)( \d+)?$| \d+$/, "").replace(/^compute, .*/, "compute");

// `busy`: ticks of its operations; less than its length where several are drawn together.
function unpack(track, number) {
  const slices = [];
  let at = 0;
  for (let i = 0; i < track.slices.length; i += 5) {
    const [gap, length, name, more, aside] = track.slices.slice(i, i + 5);
    const start = at + gap, end = start + length;
    slices.push({start, end, name, more, waiting: more ? 0 : aside, busy: more ? length - aside : length, number});
    at = end;
  }
  return {name: track.name, kind: kindOf(track.name), slices};
}

function drawTimeline(timeline) {
  if (!timeline.ranks.length) return;
  const of =
      timeline.classes > timeline.ranks.length ? `, ${timeline.ranks.length} of ${timeline.classes} classes` : "";
  const merged =
      timeline.merged_s > 0 ? ` Operations of less than ${timeText(timeline.merged_s)} are drawn together.` : "";
  const element = section(
      "Timeline", `What ranks do when, one of each class${of}. A lane is filled from below by the share of the time ` +
          `that its operations take. Pale: waiting for other ranks or for the host.${merged}`);
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
                  timeCell(d3.sum(track.slices, (d) => d.busy) * timeline.tick_s)])),
      "What ranks do, by track");
  page.timeline = view;
}

class Timeline extends Lanes {
  constructor(parent, timeline, ranks) {
    super(parent, {
      tick: timeline.tick_s, whole: timeline.end_s / timeline.tick_s, about: "Timeline", rows: ranks, name: "Timeline"
    });
    this.names = timeline.names;
    this.heads = ["rank", "track", "operation", "operations", "start_s", "end_s", "busy_s", "waiting_s"];
    this.begin();
  }

  get hasLanes() { return true; }  // whose floors are drawn, so that heights can be read
  captionOf(rank) { return rank.stands_for > 1 ? `rank ${rank.rank} × ${rank.stands_for}` : `rank ${rank.rank}`; }
  linesOf(rank) { return rank.tracks.map((track, i) => [track.name, LANES_TOP + i * TRACK + 10]); }
  high(rank) { return rank.tracks.length * TRACK + 28; }
  items(rank) { return rank.items ??= rank.tracks.flatMap((track) => track.slices).sort((a, b) => a.start - b.start); }
  placeOf(_, slice) { return [LANES_TOP + slice.number * TRACK, LANE]; }

  itemAt(rank, at, y) {
    const track = rank.tracks[Math.floor((y - LANES_TOP) / TRACK)];
    const slice = track?.slices[d3.bisector((one) => one.end).left(track.slices, at)];
    return slice?.start <= at ? slice : undefined;
  }

  tellOf(rank, slice) {
    const track = rank.tracks[slice.number], length = slice.end - slice.start;
    const aside = slice.waiting ? `, ${this.timeOf(slice.waiting)} of it waiting`
        : slice.busy < length ? `, busy for ${percent(slice.busy / length)} of it` : "";
    return `rank ${rank.rank}, ${track.name}: ${this.nameOf(track, slice)}, ${this.timeOf(length)} from ${
        this.timeOf(slice.start)}${aside}`;
  }

  cells(rank, slice) {
    const track = rank.tracks[slice.number];
    const times = [slice.start, slice.end, slice.busy, slice.waiting].map((ticks) => ticks * this.tick);
    return [rank.rank, track.name, this.nameOf(track, slice), slice.more + 1, ...times];
  }

  nameOf(track, slice) {
    const name = slice.name < 0 ? track.name : this.names[slice.name];
    return slice.more ? `${name} and ${slice.more} more` : name;
  }

  drawRow(pen, rank) { rank.tracks.forEach((track, i) => this.drawTrack(pen, track, LANES_TOP + i * TRACK)); }

  // Slices of a track that are in sight.
  shown(track) {
    const [from, to] = this.x.domain(), {slices} = track;
    const first = d3.bisector((slice) => slice.end).left(slices, from);
    return slices.slice(first, d3.bisector((slice) => slice.start).right(slices, to));
  }

  // Finds for each pixel the share of its time that slices take, and the part of it that they wait.
  shares(track) {
    const width = Math.ceil(this.width), busy = new Float64Array(width), waits = new Float64Array(width);
    const spread = (into, from, to, density) => {
      const first = Math.max(0, Math.floor(from)), last = Math.min(width - 1, Math.floor(to));
      for (let i = first; i <= last; ++i) into[i] += density * Math.max(0, Math.min(to, i + 1) - Math.max(from, i));
    };
    for (const slice of this.shown(track)) {
      const left = this.x(slice.start), right = this.x(slice.end);
      spread(busy, left, right, slice.busy / Math.max(1, slice.end - slice.start));
      if (slice.waiting) spread(waits, left, this.x(slice.start + slice.waiting), 1);
    }
    return {busy, waits};
  }

  drawTrack(pen, track, y) {
    const {busy, waits} = this.shares(track), paper = themed("paper");
    for (let i = 0, next; i < busy.length; i = next) {  // alike pixels as one box
      for (next = i + 1; next < busy.length && busy[next] === busy[i] && waits[next] === waits[i];) ++next;
      if (busy[i] <= 0) continue;
      const tall = LANE * Math.min(1, Math.max(LEAST, busy[i])), pale = Math.min(tall, LANE * waits[i]);
      pen.box(i, y + LANE - tall, next - i, tall, track.kind);
      if (pale > 0) pen.tint(i, y + LANE - tall, next - i, pale, paper, 0.69);
    }
    const line = themed("edge");
    for (const slice of this.shown(track)) {
      const left = Math.max(-2, this.x(slice.start)), wide = Math.min(this.width + 2, this.x(slice.end)) - left;
      if (wide > 6 && !slice.more) pen.outline(left, y, wide, LANE, line, 0.5);
      if (wide > 46) this.label(pen, this.nameOf(track, slice), left, y, wide);
    }
  }

  label(pen, name, left, y, wide) {
    const text = name.slice(0, Math.floor((wide - 8) / 5.6));
    if (text.length < 4) return;
    pen.tint(left + 3, y + 1, pen.widthOf(text) + 3, LANE - 2, themed("paper"), 0.8);
    pen.text(left + 4, y + LANE / 2, text, themed("ink"));
  }
}
