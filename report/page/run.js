// SPDX-License-Identifier: MIT
// The page of one run.
"use strict";

page.kinds.run = function run({document: result, parts, bandwidths, timeline, memory}) {
  headline(result, parts);
  for (const warning of result.warnings) add(page.root, "div", warning, "warning");
  if (result.jobs) severalJobs(result);
  breakdown(result, timeline.end_s);
  drawTimeline(timeline, result);
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
      `${percent(likely.share)} of comparable runs`, `${timeText(likely.low_s)} to ${timeText(likely.high_s)}`,
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
  if (path) items.push(["Bound by", path.what, `${percent(path.share)} of the critical path`]);
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

function partsOf(row) {
  const parts = [
    ["compute", row.compute_s - row.slowed_s - row.host_s - row.memory_s], ["slowed", row.slowed_s], ["host", row.host_s], ["memory", row.memory_s],
    ...Object.entries(row.exposed_comm_s), ["wait", row.wait_s], ["bubble", row.bubble_s], ["idle", row.idle_s]
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

// Whether links of the class are inside nodes, by the name of one of them.
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
  const high = 58, width = 1130, top = 26;
  const height = top + (outside.length + inside.length) * high + (inside.length ? 40 : 0) + 64;
  const svg = picture(element, width, height, "Use of links on the fabric");
  const shade = d3.scale.linear().domain([0, 0.5, 1]).range(["#e8f1fa", "#5b9bd5", "#08306b"]).clamp(true);
  svg.append("text").attr({x: 20, y: 16, class: "faint"}).text(outside.length ? "network" : "");
  let y = top;
  outside.forEach((group) => y = drawLinks(svg, group, 20, y, width - 40, high, shade, bandwidths));
  if (inside.length) {
    const nodes = result.experiment?.nodes ?? result.experiment?.cluster?.nodes;
    svg.append("rect").attr(
        {x: 20, y: y + 2, width: width - 40, height: inside.length * high + 84, rx: 6, class: "box"});
    svg.append("text").attr({x: 32, y: y + 20, class: "faint"}).text(nodes > 1 ? `node, one of ${nodes}` : "node");
    y += 28;
    inside.forEach((group) => y = drawLinks(svg, group, 32, y, width - 64, high, shade, bandwidths));
  }
  svg.append("rect").attr({x: 32, y: y + 4, width: width - 64, height: 30, rx: 4, fill: fillOf("compute")});
  svg.append("text")
      .attr({x: width / 2, y: y + 24, "text-anchor": "middle"})
      .style("fill", "#101418")
      .text(`${result.cluster_devices} devices`);
  asTable(
      element, ["class", "links", "bandwidth", "bytes each", "busy", "utilisation", "most", "busiest link"],
      links.map(
          (link) =>
              [link.class, link.count, [bandwidths[link.class], bandwidthText(bandwidths[link.class])],
               [link.bytes, bytesText(link.bytes)], shareCell(link.busy), shareCell(link.mean_utilisation),
               shareCell(link.max_utilisation), link.busiest ?? ""]),
      "Use of links");
}

function drawLinks(svg, group, left, y, width, high, shade, bandwidths) {
  const count = group.values.length, gap = 8;
  const wide = (width - gap * (count - 1)) / count;
  group.values.forEach((link, i) => {
    const x = left + i * (wide + gap);
    const box = svg.append("g").attr("transform", `translate(${x},${y + 4})`);
    box.append("rect").attr({width: wide, height: high - 12, rx: 4, fill: shade(link.busy), stroke: "#5b6b7c"});
    // The bar says without colour what the shade does.
    box.append("rect").attr({y: high - 18, width: wide * Math.min(1, link.busy), height: 6, fill: "#d55e00"});
    const ink = link.busy > 0.4 ? "#ffffff" : "#101418";
    const arrow = /up$/.test(link.class) ? "↑ " : /down$/.test(link.class) ? "↓ " : "";
    box.append("text").attr({x: 10, y: 18, "font-weight": 600}).style("fill", ink).text(`${arrow}${link.class}`);
    box.append("text")
        .attr({x: 10, y: 33})
        .style("fill", ink)
        .text(`${link.count} links of ${bandwidthText(bandwidths[link.class])}`);
    box.append("text")
        .attr({x: wide - 10, y: 27, "text-anchor": "end", "font-weight": 600})
        .style({fill: ink, "font-size": "16px"})
        .text(percent(link.busy));
    box.append("title").text(`${link.class}: busy ${percent(link.busy)}, busiest ${link.busiest ?? "none"}`);
  });
  return y + high;
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
  const width = 1130, height = 300, left = 80, right = 90, top = 14, bottom = 36;
  const svg = picture(element, width, height, "Memory over time, by rank");
  const x = d3.scale.linear().domain([0, end]).range([left, width - right]);
  const most = Math.max(memory.capacity_bytes, d3.max(ranks, (rank) => d3.max(rank.bytes)));
  const y = d3.scale.linear().domain([0, most * 1.05]).range([height - bottom, top]);
  const axis = (scale, side, text) => d3.svg.axis().scale(scale).orient(side).ticks(6).tickFormat(text);
  svg.append("g").attr({class: "axis", transform: `translate(0,${height - bottom})`}).call(axis(x, "bottom", timeText));
  svg.append("g").attr({class: "axis", transform: `translate(${left},0)`}).call(axis(y, "left", bytesText));
  svg.append("line").attr({
    x1: left,
    x2: width - right,
    y1: y(memory.capacity_bytes),
    y2: y(memory.capacity_bytes),
    stroke: "#d55e00",
    "stroke-width": 2,
    "stroke-dasharray": "8 5"
  });
  svg.append("text").attr({x: width - right + 6, y: y(memory.capacity_bytes) + 4}).text("capacity");
  const colours = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a900", "#7b6fd0"];
  let above = Infinity;
  const last = (rank) => rank.bytes[rank.bytes.length - 1];
  [...ranks].sort((a, b) => last(a) - last(b)).forEach((rank, i) => {
    const line =
        d3.svg.line().interpolate("step-after").x((_, k) => x(k * end / rank.bytes.length)).y((bytes) => y(bytes));
    svg.append("path")
        .attr({
          class: "curve",
          d: line([...rank.bytes, last(rank)]),
          stroke: colours[i % colours.length],
          "stroke-dasharray": i < 4 ? null : "2 3"
        })
        .append("title")
        .text(`rank ${rank.rank}`);
    above = Math.min(above - 13, y(last(rank)) + 4);
    svg.append("text")
        .attr({x: width - right + 6, y: above})
        .style("fill", colours[i % colours.length])
        .text(`rank ${rank.rank}`);
  });
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
