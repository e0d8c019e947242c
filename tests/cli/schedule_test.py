#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""schedule_test.py PROGRAM: `run --schedule-svg` and `--schedule` show the passes of a real cluster's job with bubbles that follow from the
picture's own data, the same folded or not, and a text that fits a terminal."""
import json
import sys
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from pathlib import Path

from orrery_program import Checks, Program, scratch_folder, write_files

JOB = """
cluster: dgx-a100
nodes: 4
workload:
  model: llama2-7b
  parallel: {tensor: 4, pipeline: 4, data: 2}
  batch: {global: 32, micro: 1}
  schedule: {kind: SCHEDULE}
"""
SCHEDULES = ["gpipe", "1f1b", "1f1b, overlap_passes: true", "1f1b-interleaved, virtual_stages: 2", "pipedream", "zero-bubble",
             "zb-h2", "zb-v", "dualpipe", "dualpipev"]
SVG = "{http://www.w3.org/2000/svg}"


def read(path):
    """The boxes of a picture by stage, as (start, end, kind, micro-batch, chunk), the shares beside its rows, and its width."""
    root = ElementTree.parse(path).getroot()
    boxes = defaultdict(list)
    for box in root.iter(SVG + "rect"):
        if "data-kind" in box.attrib:
            start, end = int(box.get("data-start-ps")), int(box.get("data-end-ps"))
            boxes[int(box.get("data-stage"))].append((start, end, box.get("data-kind"), int(box.get("data-micro")),
                                                      int(box.get("data-chunk"))))
    shares = [text.text for text in root.iter(SVG + "text") if text.get("class") == "end" and text.text.endswith("%")]
    return boxes, shares, root.get("width")


def idle_share(boxes, stage):
    """Share of the time from the first box of any stage to the last one's end in which a stage has none."""
    first = min(box[0] for own in boxes.values() for box in own)
    last = max(box[1] for own in boxes.values() for box in own)
    idle, until = 0, first
    for start, end, *_ in sorted(boxes[stage]):
        idle += max(0, start - until)
        until = max(until, end)
    return (idle + last - until) / (last - first)


def check_schedule(program, checks, folder, schedule):
    write_files(folder, {"job.yaml": JOB.replace("SCHEDULE", schedule)})
    outcome = program.run(["run", "job.yaml", "--allow-oom", "--schedule-svg", "s.svg", "--schedule", "--json", "r.json"], folder)
    if not checks.check(outcome.code == 0 and not outcome.broken, f"{schedule}: is drawn", outcome.stderr):
        return
    boxes, shares, width = read(Path(folder) / "s.svg")
    idle = [idle_share(boxes, stage) for stage in sorted(boxes)]
    result = json.loads((Path(folder) / "r.json").read_text())
    checks.check(abs(sum(idle) / 4 - result["bubble_share"]) < 1e-9, f"{schedule}: the bubble is that of the boxes",
                 f"{idle} {result['bubble_share']}")
    checks.check(shares == [f"{100 * share:.1f} %" for share in idle], f"{schedule}: rows say their bubbles", f"{shares} {idle}")
    # A column of 3.33 in is 3.33 * 72 = 239.76 points wide.
    checks.check(width == "239.76pt", f"{schedule}: the picture is a column wide", width)
    for stage, own in boxes.items():
        kinds = defaultdict(set)
        for _, _, kind, micro, chunk in own:
            kinds[kind].add((micro, chunk))
        checks.check(kinds["F"] == kinds["B"] and len(kinds["F"]) in (16, 32) and {micro for micro, _ in kinds["F"]} == set(range(16)),
                     f"{schedule}, stage {stage}: each micro-batch goes forward and backward", dict(kinds))
    again = program.run(["run", "job.yaml", "--allow-oom", "--schedule-svg", "unfolded.svg", "--no-fold"], folder)
    checks.check(again.code == 0 and (Path(folder) / "s.svg").read_bytes() == (Path(folder) / "unfolded.svg").read_bytes(),
                 f"{schedule}: the same where no rank is folded", again.stderr)


def check_text(program, checks, folder):
    write_files(folder, {"job.yaml": JOB.replace("SCHEDULE", "zero-bubble").replace("32", "8")})
    outcome = program.run(["run", "job.yaml", "--allow-oom", "--schedule", "--schedule-svg", "s.svg"], folder)
    lines = outcome.stdout.splitlines()
    rows = [line for line in lines if line.startswith("  rank ")]
    checks.check(outcome.code == 0 and all(len(line) <= 80 for line in lines), "the text fits a terminal", outcome.stdout)
    checks.check(len(rows) == 4 and all("F0" in row and "B3" in row for row in rows), "a row a stage", outcome.stdout)
    _, shares, _ = read(Path(folder) / "s.svg")
    checks.check([row[-7:].strip() for row in rows] == shares, "text and picture say the same bubbles", f"{rows} {shares}")
    outcome = program.run(["run", "job.yaml", "--allow-oom", "--set", "workload.batch.global=128", "--schedule"], folder)
    checks.check(outcome.code == 0 and "too many for a terminal" in " ".join(outcome.stdout.split())
                 and "--schedule-svg FILE" in outcome.stdout, "too large a job says so", outcome.stdout)
    outcome = program.run(["run", "job.yaml", "--allow-oom", "--schedule-svg", "wide.svg", "--width", "84mm"], folder)
    # 84 mm are 84 / 25.4 * 72 = 238.11 points.
    checks.check(read(Path(folder) / "wide.svg")[2] == "238.11pt", "a width of one's own", outcome.stderr)


def main():
    program, checks = Program(sys.argv[1]), Checks()
    with scratch_folder() as folder:
        for schedule in SCHEDULES:
            check_schedule(program, checks, folder, schedule)
        check_text(program, checks, folder)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
