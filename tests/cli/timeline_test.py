#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""timeline_test.py PROGRAM: `run --timeline` holds what operations.csv does, on tracks whose slices never overlap, in a
file that stays small."""
import csv
import gzip
import json
import sys
from collections import defaultdict
from pathlib import Path

from orrery_program import SMALL_JOB, SOURCE, Checks, Program, scratch_folder, write_files

STUDIES = SOURCE / "configs" / "studies"
LARGEST = 10_000_000  # bytes


def picoseconds(microseconds):
    whole, _, part = microseconds.partition(".")
    return int(whole) * 1_000_000 + int(part.ljust(6, "0"))


def load(path):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt") as file:
        return json.load(file, parse_float=picoseconds)["traceEvents"]


def slices_by_track(events):
    tracks = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            tracks[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"], event["name"]))
    return tracks


def badly_nested(slices):
    """A slice that neither follows nor lies in one before it."""
    stack = []
    for begin, end, name in sorted(slices, key=lambda one: (one[0], -one[1])):
        while stack and stack[-1][1] <= begin:
            stack.pop()
        if stack and end > stack[-1][1]:
            return stack[-1], (begin, end, name)
        stack.append((begin, end, name))
    return None


def check_tracks(checks, what, events):
    tracks = slices_by_track(events)
    checks.check(tracks, f"{what}: there are slices")
    for track, slices in tracks.items():
        wrong = badly_nested(slices)
        if not checks.check(wrong is None, f"{what}: slices of track {track} nest", wrong):
            break
    flows = defaultdict(dict)
    for event in events:
        if event["ph"] in "sf":
            flows[event["id"]][event["ph"]] = event["ts"]
    checks.check(flows and all(set(flow) == {"s", "f"} and flow["s"] <= flow["f"] for flow in flows.values()),
                 f"{what}: every message that starts arrives, later")
    return tracks


def check_small(program, checks, folder):
    write_files(folder, {"job.yaml": SMALL_JOB})
    outcome = program.run(["run", "job.yaml", "--timeline", "t.json", "--out", "out"], folder)
    if not checks.check(outcome.code == 0 and not outcome.broken, "a timeline is written", outcome.stderr):
        return
    events = load(Path(folder) / "t.json")
    tracks = check_tracks(checks, "small job", events)
    told = sorted((pid, begin, end) for (pid, _), slices in tracks.items() for begin, end, name in slices
                  if name != "waiting")
    with open(Path(folder) / "out" / "operations.csv") as file:
        done = sorted((int(row["rank"]), int(row["start_ps"]), int(row["end_ps"])) for row in csv.DictReader(file)
                      if row["start_ps"] != row["end_ps"])
    checks.check(told == done, "small job: the slices are the operations, to the picosecond",
                 f"{len(told)} slices, {len(done)} operations")
    names = {event["args"]["name"] for event in events if event["name"] == "thread_name"}
    checks.check({"compute", "tensor", "data"} <= names, "small job: tracks are named after what they show", names)
    memory = [event["args"] for event in events if event["ph"] == "C" and event["name"].startswith("memory")]
    checks.check(len(memory) > 10, "small job: memory is counted over time")
    checks.check("put together" not in outcome.stderr, "small job: nothing is put together", outcome.stderr)


def check_counters(program, checks, folder, job, *options):
    """The rates of all ranks over links sum up to what the links carried."""
    outcome = program.run(["run", job, "--timeline", "c.json", "--timeline-ranks", "all", "--json", "r.json", *options], folder)
    if not checks.check(outcome.code == 0 and not outcome.broken, f"{job}: a timeline of all ranks", outcome.stderr):
        return
    carried, last = defaultdict(float), {}
    for event in load(Path(folder) / "c.json"):
        if event["name"] != "links, GB/s":
            continue
        begin, rates = last.get(event["pid"], (0, {}))
        for name, rate in rates.items():
            carried[name] += rate / 1e6 * 1e9 * (event["ts"] - begin) / 1e12  # load() counts in millionths
        last[event["pid"]] = event["ts"], event["args"]
    links = json.loads((Path(folder) / "r.json").read_text())["links"]
    told = {link["class"]: link["bytes"] * link["count"] for link in links if link["bytes"]}
    # A message counts as long as its send takes, and rates have four digits behind the point.
    checks.check(carried.keys() == told.keys() and all(abs(carried[name] / told[name] - 1) < 1e-3 for name in told),
                 f"{job}: rates over links sum up to what they carried", f"{dict(carried)}\n{told}")


def check_large(program, checks, folder):
    study = STUDIES / "gpt3-175b-1024.yaml"
    outcome = program.run(["run", study, "--timeline", "t.json.gz"], folder)
    if not checks.check(outcome.code == 0 and not outcome.broken, "the timeline of 1,024 GPUs is written",
                        outcome.stderr):
        return
    path = Path(folder) / "t.json.gz"
    checks.check(path.stat().st_size < LARGEST, "1,024 GPUs: the file is small", path.stat().st_size)
    check_tracks(checks, "1,024 GPUs", load(path))
    again = program.run(["run", study, "--timeline", "again.json.gz"], folder)
    checks.check(again.code == 0 and (Path(folder) / "again.json.gz").read_bytes() == path.read_bytes(),
                 "1,024 GPUs: the same bytes again")


def check_links(program, checks, folder):
    """What a link leads to is written, and the link stays; a device is written to."""
    folder = Path(folder)
    (folder / "link.json").symlink_to("target.json")
    for state in ("new", "there"):
        outcome = program.run(["run", "job.yaml", "--timeline", "link.json"], folder)
        checks.check(outcome.code == 0 and (folder / "link.json").is_symlink(), f"{state} target: the link stays",
                     outcome.stderr)
        checks.check(load(folder / "target.json") != [], f"{state} target: it is written")
    (folder / "null.json").symlink_to("/dev/null")
    outcome = program.run(["run", "job.yaml", "--timeline", "null.json"], folder)
    checks.check(outcome.code == 0 and (folder / "null.json").is_symlink(), "a device is written to", outcome.stderr)
    outcome = program.run(["run", "job.yaml", "--json", "target.json", "--timeline", "link.json"], folder)
    checks.check(outcome.code == 2 and "would both write this file" in outcome.stderr, "one file by two names",
                 outcome.stderr)


def check_refusals(program, checks, folder):
    for arguments, expected in ((["--timeline", "no/such/t.json"], "no/such/t.json"),
                                (["--timeline", "t2.json", "--timeline-ranks", "99"],
                                 "--timeline-ranks: error: the job has no rank 99"),
                                (["--timeline-ranks", "0"], "--timeline")):
        outcome = program.run(["run", "job.yaml", *arguments], folder)
        checks.check(outcome.code == 2 and expected in outcome.stderr and not outcome.broken,
                     f"refused: {' '.join(arguments)}", outcome.stderr)
    checks.check(not (Path(folder) / "t2.json").exists(), "nothing is written where ranks are refused")


def main():
    program, checks = Program(sys.argv[1]), Checks()
    with scratch_folder() as folder:
        check_small(program, checks, folder)
        check_counters(program, checks, folder, "job.yaml")
        check_counters(program, checks, folder, STUDIES / "llama2-13b-four-nodes.yaml",
                       "--set", "workload.parallel={tensor: 4, pipeline: 4, data: rest}")
        check_large(program, checks, folder)
        check_links(program, checks, folder)
        check_refusals(program, checks, folder)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
