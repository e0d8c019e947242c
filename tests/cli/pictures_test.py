#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pictures_test.py PROGRAM [--update]: the pictures of docs/pictures are what their commands draw, which the documents
name. --update draws them. And what pictures show is what the answers say: coordinates are turned back into values."""
import csv
import json
import math
import shlex
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from orrery_program import SMALL_JOB, SOURCE, Checks, Program, scratch_folder, write_files

DOCS = SOURCE / "docs"
PICTURES = DOCS / "pictures"
SIZES = "-b 1K -e 1G -f 4"
TORUS = "{device: a100-sxm-80gb, dims: [{name: x, topology: torus, sizes: [4, 4, 4], bandwidth: 50 GB/s, latency: 1 us}]}"
PIPELINE = ("run configs/studies/llama2-13b-four-nodes.yaml --set 'workload.parallel={tensor: 8, pipeline: 4}' "
            "--set workload.batch.global=8")


def has_curves(picture):
    return picture.count(b'class="curve') >= 6 and b'class="bound"' in picture


def has_passes(picture):
    return picture.count(b"data-start-ps") >= 64 and b'class="bubble"' in picture


def of_sizes(command):
    return f"{command} {SIZES}", "--svg", "collectives.md", has_curves


def of_passes(schedule):
    settings = "".join(f" --set '{setting}'" for setting in schedule)
    return PIPELINE + settings, "--schedule-svg", "results.md", has_passes


# Command, its option that draws, the document that has the picture, and what the picture must have.
COMMANDS = {
    "all-reduce-node.svg": of_sizes("collective --cluster dgx-a100 --nodes 1 --op all_reduce --library fixed --algo each"),
    "all-reduce-16-nodes.svg": of_sizes("collective --cluster dgx-a100 --nodes 16 --op all_reduce --library fixed --algo each"),
    "all-reduce-torus.svg": of_sizes(f"collective --cluster '{TORUS}' --op all_reduce --algo each"),
    "schedule-1f1b.svg": of_passes([]),
    "schedule-interleaved.svg": of_passes(["workload.schedule={kind: 1f1b-interleaved, virtual_stages: 2}"]),
    "schedule-zb-v.svg": of_passes(["workload.schedule={kind: zb-v}"]),
    "schedule-dualpipe.svg": of_passes(["workload.schedule={kind: dualpipe}"]),
}


SVG = "{http://www.w3.org/2000/svg}"
SWEEP = """
experiment:
  cluster: {device: a100-sxm-80gb, dims: [{topology: switch, size: 8, bandwidth: 300 GB/s, latency: 700 ns}]}
  workload: {model: bert-large, batch: {global: 16, micro: 1}, parallel: {data: rest}}
vary:
  - {name: tensor, key: workload.parallel.tensor, values: [2, 4, 8]}
  - {name: link, key: cluster.dims.0.bandwidth, values: [25 GB/s, 100 GB/s, 50 GB/s, 200 GB/s]}
picture: {over: [link]}
"""
# Sixteen heads cannot be shared out among 3 ranks of tensor parallelism.
REFUSED = SWEEP.replace("[2, 4, 8]", "[2, 3]")
HEAT = SWEEP.replace("picture: {over: [link]}", "picture: {draw: heat}")
BARS = SWEEP.replace("picture: {over: [link]}", "picture: {draw: bars}\ncompare: tensor")


def texts(root, style):
    return [(element.text, float(element.get("x")), float(element.get("y"))) for element in root.iter(SVG + "text")
            if style in element.get("class").split()]


def scale(ticks, log):
    """From a coordinate to a value, by the first and the last label."""
    (low, start), (high, end) = ticks[0], ticks[-1]
    convert = math.log if log else float
    back = math.exp if log else float
    return lambda at: back(convert(low) + (at - start) / (end - start) * (convert(high) - convert(low)))


def curves_of(root):
    """[[(x, y)]] of the lines that are no samples of the key, in values of the axes' labels; and a pixel in those of y."""
    font = 12
    left = [(float(text), y - 0.36 * font) for text, _, y in texts(root, "left")]
    frame = next(element for element in root.iter(SVG + "rect") if element.get("class") == "frame")
    bottom = float(frame.get("y")) + float(frame.get("height"))
    below = [(float(text), x) for text, x, y in texts(root, "middle") if abs(y - bottom - 1.3 * font) < 0.1]
    across, up = scale(below, True), scale(left, False)
    lines = []
    for element in root.iter(SVG + "polyline"):
        spots = [tuple(map(float, spot.split(","))) for spot in element.get("points").split()]
        if element.get("class").startswith("curve") and spots[0][1] > float(frame.get("y")):
            lines.append([(across(x), up(y)) for x, y in spots])
    return lines, abs(up(1) - up(0))


def check_sweep(program, checks, folder):
    outcome = program.run(["sweep", "sweep.yaml", "--out", "o", "--svg", "s.svg", "--vega", "s.json", "--html", "s.html"], folder)
    if not checks.check(outcome.code == 0 and not outcome.broken, "a sweep is drawn", outcome.stderr):
        return
    rows = list(csv.DictReader((Path(folder) / "o" / "points.csv").open()))
    lines, pixel = curves_of(ElementTree.parse(Path(folder) / "s.svg").getroot())
    checks.check(len(lines) == 3 and all(len(line) == 4 for line in lines), "a line for each value of the next axis", lines)
    for tensor, line in zip(("2", "4", "8"), lines):
        wanted = sorted((float(row["link"].split()[0]), 1000 * float(row["iteration_time_s"])) for row in rows if row["tensor"] == tensor)
        checks.check(all(abs(x / link - 1) < 0.01 and abs(y - time) <= pixel for (x, y), (link, time) in zip(line, wanted)),
                     f"coordinates of tensor {tensor} are its times within a pixel", f"{line}\n{wanted}")
    values = json.loads((Path(folder) / "s.json").read_text())["data"]["values"]
    checks.check({(value["tensor"], value["link"], value["iteration_time_s"]) for value in values}
                 == {(row["tensor"], row["link"], float(row["iteration_time_s"])) for row in rows},
                 "the values of Vega-Lite are those of points.csv")
    checks.check("Iteration time over link" in (Path(folder) / "s.html").read_text(), "the page has the same picture")
    first = (Path(folder) / "s.svg").read_bytes()
    program.run(["sweep", "sweep.yaml", "--out", "o", "--svg", "s.svg", "--jobs", "1"], folder)
    checks.check((Path(folder) / "s.svg").read_bytes() == first, "the same sweep gives the same bytes")


def check_kinds(program, checks, folder):
    def drawn(name, *options):
        outcome = program.run(["sweep", f"{name}.yaml", "--svg", f"{name}.svg", *options], folder)
        checks.check(outcome.code in (0, 2) and not outcome.broken, f"{name} is drawn", outcome.stderr)
        return ElementTree.parse(Path(folder) / f"{name}.svg").getroot()

    def count(root, style):
        return sum(style in (element.get("class") or "").split() for element in root.iter())
    root = drawn("refused")
    checks.check(count(root, "refused") == 2 * 5, "each refused point is a cross, which the key explains", count(root, "refused"))
    checks.check(sum("No result, 4 points" in (element.text or "") for element in root.iter(SVG + "text")) == 1, "and has its reason")
    outcome = program.run(["sweep", "sweep.yaml", "--svg", "none.svg", "--figure", "busbw"], folder)
    checks.check(outcome.code == 2 and "no point has a figure 'busbw' to draw" in outcome.stderr and "GB/s" in outcome.stdout,
                 "a figure that no point has is told behind the answer, which took long", outcome.stderr)
    outcome = program.run(["sweep", "sweep.yaml", "--svg", "none.svg", "--figure", "bound_share", "--where", "bound_share > 2"], folder)
    checks.check(outcome.code == 2 and "no point that meets 'where' has a figure 'bound_share' to draw" in outcome.stderr,
                 "and one of which no point is wanted", outcome.stderr)
    checks.check(count(drawn("heat"), "cell") == 12, "a heat map has a cell for each point")
    checks.check(count(drawn("bars"), "bar") == 12 + 3, "bars have one for each point, and the key")
    root = drawn("sweep", "--width", "column")
    checks.check(root.get("width") == "239.76pt" and not texts(root, "title"), "a column of a paper is 3.33 in wide and has no title",
                 root.get("width"))
    root = drawn("sweep", "--draw", "memory")
    checks.check(any("front" in text for text, _, _ in texts(root, "name")), "time against memory has its front")


def check_others(program, checks, folder):
    """Every command that draws, with what its picture has to show."""
    job = ["job.yaml", "--jobs", "1"]
    for command, style in ((["search", *job, "--fix", "pipeline=2", "--fix", "schedule=1f1b"], "mark"), (["explain", *job], "bar"),
                           (["compare", "job.yaml", "--vs", "cluster=hgx-a800"], "bar"),
                           (["collective", "--cluster", "dgx-a100", "--op", "all_reduce", "-b", "1M", "-e", "64M"], "curve"),
                           (["goodput", *job, "--mtbf", "50000 h", "--restart", "10 min", "--checkpoint-time", "30 s"], "curve")):
        outcome = program.run([*command, "--svg", "c.svg", "--vega", "c.json"], folder, seconds=120)
        if not checks.check(outcome.code == 0 and not outcome.broken, f"{command[0]} is drawn", outcome.stderr):
            continue
        root = ElementTree.parse(Path(folder) / "c.svg").getroot()
        checks.check(any(style in (element.get("class") or "").split() for element in root.iter()), f"{command[0]} has its {style}s")
        spec = json.loads((Path(folder) / "c.json").read_text())
        checks.check(spec["$schema"].endswith("/vega-lite/v5.json") and len(spec["data"]["values"]) > 1, f"{command[0]} has values")


def main():
    program, checks = Program(sys.argv[1]), Checks()
    update = "--update" in sys.argv[2:]
    with scratch_folder() as folder:
        for name, (command, option, document, has_all) in COMMANDS.items():
            words = [str(SOURCE / word) if word.startswith("configs/") else word for word in shlex.split(command)]
            outcome = program.run([*words, option, name], folder, seconds=120)
            if not checks.check(outcome.code == 0 and not outcome.broken, f"{name} is drawn", outcome.stderr):
                continue
            drawn = (Path(folder) / name).read_bytes()
            if update:
                PICTURES.mkdir(exist_ok=True)
                (PICTURES / name).write_bytes(drawn)
            checks.check((PICTURES / name).is_file() and (PICTURES / name).read_bytes() == drawn,
                         f"docs/pictures/{name} is what the command draws", command)
            text = (DOCS / document).read_text().replace(" \\\n ", "")
            checks.check(f"pictures/{name}" in text and (option != "--svg" or command in text), f"docs/{document} has {name}",
                         command)
            checks.check(has_all(drawn), f"{name} has all that it shows")
    with scratch_folder() as folder:
        write_files(folder, {"sweep.yaml": SWEEP, "refused.yaml": REFUSED, "heat.yaml": HEAT, "bars.yaml": BARS, "job.yaml": SMALL_JOB})
        check_sweep(program, checks, folder)
        check_kinds(program, checks, folder)
        check_others(program, checks, folder)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
