// SPDX-License-Identifier: MIT
// The page of `collective`.
"use strict";

page.kinds.collective = function collective({document: {tables}, pictures = []}) {
  add(page.root, "h1", document.title);
  add(page.root, "p", tables.map((one) => `${one.name}: ${one.document.ranks} ranks`).join("; "));
  cards(tables.slice(0, 8).map((one) => {
    const rows = one.document.rows;
    const best = rows.reduce((a, b) => ((b.busbw_GBps ?? 0) > (a.busbw_GBps ?? 0) ? b : a));
    return [one.name, `${(best.busbw_GBps ?? 0).toFixed(1)} GB/s`, `bus bandwidth at ${bytesText(best.bytes)}, bound by ${best.bound}`];
  }));
  for (const drawn of pictures) drawnPicture(section(drawn.heading), drawn);
  for (const {name, document: {rows, intervals = []}} of tables)
    table(
        section(tables.length > 1 ? `Numbers: ${name}` : "Numbers"),
        ["size", "time", "algorithm bandwidth", "bus bandwidth", "algorithm", "protocol", "80 % of comparable measurements", "bound by"],
        rows.map((row) => [
          [row.bytes, bytesText(row.bytes)], [row.time_us, timeText(row.time_us * 1e-6)],
          [row.algbw_GBps, `${(row.algbw_GBps ?? 0).toFixed(2)} GB/s`], [row.busbw_GBps, `${(row.busbw_GBps ?? 0).toFixed(2)} GB/s`],
          row.algorithm, row.protocol,
          likely(row, intervals), row.bound]),
        `Numbers of ${name}`);
};

// "110 us to 130 us", or nothing.
function likely(row, intervals) {
  const found = intervals.find((one) => one.from_bytes <= row.bytes && row.bytes <= one.to_bytes);
  return found ? `${timeText(row.time_us * 1e-6 * found.low)} to ${timeText(row.time_us * 1e-6 * found.high)}` : "";
}
