// SPDX-License-Identifier: MIT
// The page of one run.
"use strict";

const LARGE_BUBBLE = 0.1;  // share of the time from which on bubbles are told with what bounds a run

page.kinds.run = function run({document: result, parts, bandwidths, timeline, pipelines = [], memory}) {
  headline(result, parts);
  for (const warning of result.warnings) add(page.root, "div", warning, "warning");
  if (result.jobs) severalJobs(result);
  breakdown(result, timeline.end_s);
  page.passes = pipelines.map((passes) => drawPasses(passes, timeline.end_s));
  drawTimeline(timeline);
  criticalPath(result);
  fabric(result, bandwidths);
  if (result.kernels) kernels(result.kernels);
  if (memory && result.memory) memoryOverTime(memory, result.memory, timeline.end_s);
  configuration(result);
};


function headline(result, parts) {
  add(page.root, "h1", document.title);
  const device = result.experiment?.cluster?.node?.device?.name;
  add(page.root, "p",
      `${result.ranks} ranks on ${result.cluster_devices} devices${device ? " " + device : ""}, ` +
          `${result.simulation.model} network, orrery ${result.version}`);
  const path = result.critical_path[0];
  const items = [[
    result.jobs ? `All ${result.jobs.length} jobs are done after` : "Iteration time", timeText(result.iteration_time_s),
    result.training_run ? `${result.training_run.days.toFixed(1)} days in all` : ""
  ]];
  const likely = result.interval;
  if (likely)
    items.push([
      `${Math.round(100 * likely.share)} % of comparable runs`, `${timeText(likely.low_s)} to ${timeText(likely.high_s)}`,
      `${likely.runs} of them: ${likely.of}` + (likely.beyond ? `; wide, for want of ${likely.beyond}` : "")
    ]);
  for (const figure of page.figures)
    if (figure.key !== "iteration_time_s" && result[figure.path] !== undefined)
      items.push([figure.heading, figureText(figure, result[figure.path]), ""]);
  if (result.measured_kernels !== undefined)
    items.push(["Measured kernels", percent(result.measured_kernels), "of the time of all kernels; the rest is modelled"]);
  if (result.memory)
    items.push([
      "Memory at its peak", bytesText(result.memory.peak_bytes),
      `of ${bytesText(result.memory.capacity_bytes)}, on rank ${result.memory.rank}; with libraries about ` +
        bytesText(result.memory.in_use_bytes)
    ]);
  const culprit = (result.culprits || [])[0];
  if (culprit)
    items.push(["Held up by", culprit.name, `${culprit.why}; ${timeText(culprit.seconds)} of the critical path`]);
  const idle = result.bubble_share >= LARGE_BUBBLE ? `; stages are in no pass for ${percent(result.bubble_share)}` : "";
  if (path) items.push(["Bound by", path.what, `${percent(path.share)} of the critical path${idle}`]);
  if (parts.length)
    items.push([
      "Mostly", parts[0].name,
      `${percent(parts[0].seconds / d3.sum(parts, (d) => d.seconds))} of the time, mean over ranks`
    ]);
  if (result.busiest_link) items.push(["Busiest link", percent(result.busiest_link.busy), result.busiest_link.name]);
  cards(items);
}

function severalJobs(result) {
  table(
      section("Jobs"), ["job", "ranks", "nodes", "alone", "together", "slowdown"],
      result.jobs.map(
          (job) =>
              [job.name, job.ranks, job.nodes, timeCell(job.time_alone_s), timeCell(job.time_together_s),
               [job.slowdown, job.slowdown.toFixed(3)]]),
      "Jobs");
}

// "data0" and "large.data3" are of the family "data", whose colour they have.
function familyOf(group) {
  const [, family] = /^(?:.*\.)?([a-z-]+?)\d*$/.exec(group) ?? [];
  return Object.hasOwn(STYLES, family) ? family : group;
}

function partsOf(row) {
  const exposed = new Map();
  for (const [group, seconds] of Object.entries(row.exposed_comm_s))
    exposed.set(familyOf(group), (exposed.get(familyOf(group)) ?? 0) + seconds);
  const compute = row.compute_s - row.slowed_s - row.host_s - row.memory_s;
  const parts = [
    ["compute", compute], ["slowed", row.slowed_s], ["host", row.host_s], ["memory", row.memory_s], ...exposed,
    ["wait", row.wait_s], ["stage wait", row.bubble_s], ["idle", row.idle_s]
  ];
  return parts.filter(([, seconds]) => seconds > 0);
}

function breakdown(result, end) {
  const rows = result.breakdown;
  const of = result.breakdown_of ? `, ${rows.length} of ${result.breakdown_of} classes` : "";
  const element = section(
      "Where the time goes",
      `One bar for each class of ranks that behave alike${of}; the parts of a ` +
          "bar are disjoint. Communication is what nothing else hides.");
  const kinds = [...new Set(rows.flatMap((row) => partsOf(row).map(([kind]) => kind)))];
  legend(element, kinds);
  const most = 40;
  bars(
      element,
      rows.slice(0, most).map((row) => ({name: `${row.ranks} × rank ${row.first_rank}`, parts: partsOf(row)})),
      end, "Where the time goes, by class of ranks");
  if (rows.length > most) add(element, "p", `${rows.length - most} more classes are in the table.`);
  asTable(
      element, ["ranks", "count", ...kinds, "finish"], rows.map((row) => {
        const parts = new Map(partsOf(row));
        return [row.members, row.ranks, ...kinds.map((kind) => timeCell(parts.get(kind) ?? 0)), timeCell(row.finish_s)];
      }),
      "Where the time goes, by class of ranks");
}

function criticalPath(result) {
  const path = result.critical_path;
  if (!path.length) return;
  const whole = d3.sum(path, (d) => d.seconds);
  const element = section(
      "Critical path",
      "The chain of operations that ends last, each of which released the next: only " +
          "what is on it can make the iteration shorter.");
  legend(element, path.map((d) => d.what));
  bars(
      element, [{name: "critical path", parts: path.map((d) => [d.what, d.seconds])}], whole,
      "What the critical path is made of");
  table(
      element, ["part", "time", "share", "steps"],
      path.map((d) => [d.what, timeCell(d.seconds), shareCell(d.share), d.steps]), "Parts of the critical path");
  add(element, "h3", "Its longest operations, and the ranks it runs on");
  table(
      element, ["operation", "time", "share", "steps"],
      result.critical_operations.map((d) => [d.what, timeCell(d.seconds), shareCell(d.share), d.steps]),
      "Longest operations of the critical path");
  table(
      element, ["on rank", "class", "time", "share"],
      result.critical_ranks.map(
          (d) => [[d.rank, `rank ${d.rank}`], d.class, timeCell(d.seconds), shareCell(d.seconds / whole)]),
      "Ranks of the critical path");
  table(
      element, ["over links", "time", "longer, as it did not move alone"],
      result.critical_links.map((d) => [d.class, timeCell(d.seconds), timeCell(d.shared_s)]),
      "Links that the critical path moves over");
}

// Tells whether links of the class are inside nodes, by the name of one of them.
function isInNode(link) {
  return /^(nvlink|pcie|xgmi|scale-up|host)\b/.test(link.class) || /^node\d+\.(?!nic)/.test(link.busiest ?? "");
}

function fabric(result, bandwidths) {
  const links = result.links;
  if (!links.length) return;
  const element = section(
      "Links",
      "The fabric from its core (above) to the devices (below). A box is a class of links that " +
          "are alike; its number and shade are the share of the time in which a link carries anything, mean over the " +
          "class.");
  const groups = d3.nest().key((link) => link.class.replace(/[.-]?(up|down)$/, "")).entries(links);
  const outside = groups.filter((group) => !isInNode(group.values[0])).reverse();
  const inside = groups.filter((group) => isInNode(group.values[0])).reverse();
  figure(
      element, "Use of links on the fabric",
      (frame, width) => drawFabric(frame, width, outside, inside, result, bandwidths),
      () => ({
        heads: ["class", "links", "bandwidth_Bps", "busy"],
        rows: links.map((link) => [link.class, link.count, bandwidths[link.class], link.busy])}));
  asTable(
      element, ["class", "links", "bandwidth", "bytes each", "busy", "utilisation", "most", "busiest link"],
      links.map(
          (link) =>
              [link.class, link.count, [bandwidths[link.class], bandwidthText(bandwidths[link.class])],
               [link.bytes, bytesText(link.bytes)], shareCell(link.busy), shareCell(link.mean_utilisation),
               shareCell(link.max_utilisation), link.busiest ?? ""]),
      "Use of links");
}

const LINK_HIGH = 58, LINK_WIDE = 230;  // pixels; a box is at least so wide

function drawFabric(frame, width, outside, inside, result, bandwidths) {
  const edge = width < NARROW ? 0 : 20, pad = width < NARROW ? 8 : 12, top = outside.length ? 26 : 4;
  const lines = (groups, room) => d3.sum(groups, (group) => Math.ceil(group.values.length / perLine(room)));
  const room = width - 2 * edge;
  const all = lines(outside, room) + lines(inside, room - 2 * pad);
  const height = top + LINK_HIGH * all + (inside.length ? 28 : 0) + 48;
  const svg = picture(frame, width, height, "Use of links on the fabric");
  svg.append("text").attr({x: edge, y: 16, class: "faint"}).text(outside.length ? "network" : "");
  let y = top;
  outside.forEach((group) => { y = drawLinks(svg, group, edge, y, room, bandwidths); });
  if (inside.length) {
    const nodes = result.experiment?.nodes ?? result.experiment?.cluster?.nodes;
    svg.append("rect").attr({x: edge, y: y + 2, width: room, height: height - y - 4, rx: 6, class: "box"});
    const name = nodes > 1 ? `node, one of ${nodes}` : "node";
    svg.append("text").attr({x: edge + pad, y: y + 20, class: "faint"}).text(name);
    y += 28;
    inside.forEach((group) => { y = drawLinks(svg, group, edge + pad, y, room - 2 * pad, bandwidths); });
  }
  svg.append("rect").attr({x: edge + pad, y: y + 4, width: room - 2 * pad, height: 30, rx: 4, fill: fillOf("compute")});
  svg.append("text")
      .attr({x: width / 2, y: y + 24, "text-anchor": "middle"})
      .style("fill", "#101418")
      .text(`${result.cluster_devices} devices`);
}

const perLine = (room) => Math.max(1, Math.floor(room / LINK_WIDE));

// The links of a group, as many in a line as there is room for. Gives where the next line is.
function drawLinks(svg, group, left, y, room, bandwidths) {
  const gap = 8, most = perLine(room), count = Math.min(most, group.values.length);
  const wide = (room - gap * (count - 1)) / count;
  group.values.forEach((link, i) => {
    const x = left + (i % most) * (wide + gap), down = Math.floor(i / most) * LINK_HIGH;
    const box = svg.append("g").attr("transform", `translate(${x},${y + 4 + down})`);
    const high = LINK_HIGH - 12;
    box.append("rect").attr({width: wide, height: high, rx: 4, class: "link"});
    box.append("rect").attr({width: wide, height: high, rx: 4, class: "used", "fill-opacity": Math.min(1, link.busy)});
    // The bar says without colour what the shade does.
    box.append("rect").attr({y: high - 6, width: wide * Math.min(1, link.busy), height: 6, fill: "#d55e00"});
    const arrow = /up$/.test(link.class) ? "↑ " : /down$/.test(link.class) ? "↓ " : "";
    const name = box.append("text").attr({x: 10, y: 18, "font-weight": 600}).text(`${arrow}${link.class}`);
    shortened(name, wide - 80);
    const about = `${link.count} links of ${bandwidthText(bandwidths[link.class])}`;
    shortened(box.append("text").attr({x: 10, y: 33}).text(about), wide - 80);
    box.append("text")
        .attr({x: wide - 10, y: 27, "text-anchor": "end", "font-weight": 600})
        .style("font-size", "16px")
        .text(percent(link.busy));
    box.append("title").text(`${link.class}: busy ${percent(link.busy)}, busiest ${link.busiest ?? "none"}`);
  });
  return y + LINK_HIGH * Math.ceil(group.values.length / most);
}

function kernels(all) {
  const whole = d3.sum(all, (d) => d.seconds);
  const kinds = d3.nest().key((d) => d.kind).entries(all)
                    .map((group) => ({kind: group.key, sizes: "all", ...Object.fromEntries(
                        ["count", "seconds", "flops", "bytes"].map((key) => [key, d3.sum(group.values, (d) => d[key])]))}))
                    .sort((a, b) => b.seconds - a.seconds);
  const element = section(
      "Kernels", "What computing is made of, the mean over ranks, each kernel alone on its device.");
  const cells = (d) => [
    d.kind, d.sizes, [d.count, d.count.toFixed(0)], timeCell(d.seconds), shareCell(d.seconds / whole),
    [d.flops / d.seconds, d.flops ? `${(d.flops / d.seconds / 1e12).toFixed(1)} TFLOP/s` : ""],
    [d.bytes / d.seconds, bandwidthText(d.bytes / d.seconds)]];
  const heads = ["kernel", "sizes", "count", "time", "share", "rate", "memory bandwidth"];
  table(element, heads, kinds.map(cells), "Kernels by kind");
  const details = add(element, "details");
  add(details, "summary", "By size");
  table(details, heads, all.map(cells), "Kernels by size");
}

function memoryOverTime(ranks, memory, end) {
  const element = section(
      "Memory over time",
      `What ranks hold, in each of ${ranks[0].bytes.length} parts of the time the most ` +
          "in it, against the devices' capacity (dashed).");
  const data = () => ({
    heads: ["rank", "time_s", "bytes"],
    rows: ranks.flatMap((rank) => rank.bytes.map((bytes, k) => [rank.rank, k * end / rank.bytes.length, bytes]))});
  figure(element, "Memory over time, by rank", (frame, width) => drawMemory(frame, width, ranks, memory, end), data);
  asTable(
      element, ["rank", "least", "most", "of capacity"],
      ranks.map(
          (rank) => [
              [rank.rank, `rank ${rank.rank}`], [d3.min(rank.bytes), bytesText(d3.min(rank.bytes))],
              [d3.max(rank.bytes), bytesText(d3.max(rank.bytes))],
              shareCell(d3.max(rank.bytes) / memory.capacity_bytes)]),
      "Memory by rank");
  table(
      element, ["use on the fullest rank", "bytes"],
      Object.entries(memory.by).map(([use, bytes]) => [use, [bytes, bytesText(bytes)]]),
      "Memory of the fullest rank by use");
}

function drawMemory(frame, width, ranks, memory, end) {
  const height = 300, left = 70, right = 84, top = 14, bottom = 30;
  const svg = picture(frame, width, height, "Memory over time, by rank");
  const x = d3.scale.linear().domain([0, end]).range([left, width - right]);
  const most = Math.max(memory.capacity_bytes, d3.max(ranks, (rank) => d3.max(rank.bytes)));
  const y = d3.scale.linear().domain([0, most * 1.05]).range([height - bottom, top]);
  const axis = (scale, side, text) => axisOf({text}, scale, side);
  svg.append("g").attr({class: "axis", transform: `translate(0,${height - bottom})`}).call(axis(x, "bottom", timeText));
  svg.append("g").attr({class: "axis", transform: `translate(${left},0)`})
      .call(axis(y, "left", bytesText).innerTickSize(left + right - width));
  const capacity = y(memory.capacity_bytes);
  svg.append("line").attr({
    x1: left, x2: width - right, y1: capacity, y2: capacity, stroke: "#d55e00", "stroke-width": 2,
    "stroke-dasharray": "8 5"
  });
  svg.append("text").attr({x: width - right + 22, y: capacity + 4}).text("capacity");
  const last = (rank) => rank.bytes[rank.bytes.length - 1];
  let above = height - bottom + 13;
  [...ranks].sort((a, b) => last(a) - last(b)).forEach((rank, i) => {
    const [colour, dash] = seriesStyle(i);
    const line =
        d3.svg.line().interpolate("step-after").x((_, k) => x(k * end / rank.bytes.length)).y((bytes) => y(bytes));
    svg.append("path")
        .attr({class: "curve", d: line([...rank.bytes, last(rank)]), stroke: colour, "stroke-dasharray": dash})
        .append("title")
        .text(`rank ${rank.rank}`);
    above = Math.min(above - 14, y(last(rank)) + 4);
    svg.append("line").attr({
      class: "curve", x1: width - right + 2, x2: width - right + 18, y1: above - 4, y2: above - 4, stroke: colour,
      "stroke-dasharray": dash
    });
    svg.append("text").attr({x: width - right + 22, y: above}).text(`rank ${rank.rank}`);
  });
}

function configuration(result) {
  const element = section("Configuration");
  const details = add(element, "details");
  add(details, "summary", "The experiment in full, every name and default resolved");
  add(details, "pre",
      result.experiment ? JSON.stringify(result.experiment, null, 2) : "It is too long for this page: see --json.")
      .tabIndex = 0;
  const source = result.provenance;
  if (!source) return;
  const made = add(element, "details");
  add(made, "summary", "What it was made from");
  add(made, "p",
      `${source.file} ${source.set.map((set) => "--set " + set).join(" ")} ${source.options.join(" ")}, commit ${
          source.commit || "not known"}`);
  table(made, ["file", "SHA-256"], source.inputs.map((file) => [file.path, file.sha256]), "Files that were read");
}
