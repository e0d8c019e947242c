#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""timeline_test.py PROGRAM: `run --timeline` holds what operations.csv does, with the same facts, on tracks whose slices
nest as Perfetto asks for, passes around their kernels and bubbles beside them, in a file that stays small."""
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
    """Whole ones: what is behind is there for readers that cut off (core/files/trace_events.h)."""
    whole, _, part = microseconds.partition(".")
    return int(whole) * 1_000_000 + int(part[:6].ljust(6, "0"))


def load(path, parse_float=picoseconds):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt") as file:
        return json.load(file, parse_float=parse_float)["traceEvents"]


def by_parts(text):
    """Nanoseconds as Perfetto's CoerceToTs() takes a text of microseconds."""
    whole, _, part = text.partition(".")
    return int(whole) * 1000 + int(float("0." + part) * 1000)


def by_product(text):
    """As it takes a number, and as older ones do."""
    return int(float(text) * 1000)


def perfetto_slices(path, nanoseconds):
    """Slices as Perfetto's SliceTracker places them, each with its parent, and those that it drops for they overlap one
    that is open on their thread."""
    threads, kept, dropped = defaultdict(list), [], []
    events = [event for event in load(path, str) if event["ph"] == "X"]
    for event in sorted(events, key=lambda event: nanoseconds(event["ts"])):
        start, length = nanoseconds(event["ts"]), nanoseconds(event["dur"])
        stack = threads[event["pid"], event["tid"]]
        while stack and (stack[-1][1] < start or (stack[-1][1] == start and (stack[-1][2] or length))):
            stack.pop()
        if stack and start + length > stack[-1][1]:
            dropped.append((stack[-1][0]["name"], event))
            continue
        kept.append((event, stack[-1][0] if stack else None))
        stack.append((event, start + length, length))
    return kept, dropped


def slices_by_track(events):
    tracks = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            end = event.get("args", {}).get("end_ps", event["ts"] + event["dur"])  # lengths of passes are whole ns
            tracks[event["pid"], event["tid"]].append((event["ts"], end, event["name"]))
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


def fact(text):
    try:
        return float(text)
    except ValueError:
        return text


PASS_KEYS = ("iteration", "pass", "micro_batch", "chunk", "virtual_stage", "stage")


def check_passes(program, checks, folder, what, *settings, in_line=True):
    """Passes hold their kernels, slices have the facts of operations.csv, and bubbles are what the passes leave."""
    arguments = ["run", "job.yaml", "--timeline", "p.json", "--out", "p", "--json", "p-result.json"]
    outcome = program.run([*arguments, *(word for setting in settings for word in ("--set", setting))], folder)
    if not checks.check(outcome.code == 0 and not outcome.broken, f"{what}: a timeline", outcome.stderr):
        return
    path = Path(folder) / "p.json"
    for nanoseconds in (by_parts, by_product):
        kept, dropped = perfetto_slices(path, nanoseconds)
        checks.check(not dropped, f"{what}: Perfetto drops nothing, {nanoseconds.__name__}", dropped[:3])
    passes = [event for event, _ in kept if "start_ps" in event.get("args", {})]
    checks.check({event["name"][0] for event in passes} == {"F", "B"} or any("W" in event["name"] for event in passes),
                 f"{what}: passes are shown by kind", {event["name"] for event in passes})
    colours = {event["name"][0]: event["cname"] for event in passes}
    checks.check(len(set(colours.values())) == len(colours), f"{what}: kinds have colours of their own", colours)
    kernels = [(event, parent) for event, parent in kept
               if event.get("args", {}).get("kind") == "compute" and "pass" in event["args"]]
    own = [event for event, parent in kernels if parent is not None and parent["name"] == event["args"]["pass"] and
           all(parent["args"][key] == event["args"][key] for key in PASS_KEYS)]
    checks.check(kernels and (len(own) == len(kernels) if in_line else len(own) > 0.7 * len(kernels)),
                 f"{what}: kernels lie in their pass", f"{len(own)} of {len(kernels)}")
    with open(Path(folder) / "p" / "operations.csv") as file:
        rows = {(int(row["rank"]), int(row["node"])): row for row in csv.DictReader(file)}
    told = 0
    for event, _ in kept:
        if "node" not in event.get("args", {}):
            continue
        row = rows[event["pid"], event["args"]["node"]]
        wrong = {key: (value, row[key]) for key, value in event["args"].items() if fact(row[key]) != fact(str(value))}
        missing = [key for key in ("pass", "layer", "group", "algorithm", "peer", "flops", "tflops", "bandwidth_GBps",
                                   "busbw_GBps", "peak_share") if row[key] != "" and key not in event["args"]]
        told += 1
        if not checks.check(not wrong and not missing, f"{what}: slices have the facts of operations.csv",
                            f"{wrong} {missing} {row}"):
            break
    checks.check(told > 50, f"{what}: facts were compared", told)
    check_bubbles(checks, what, kept, passes)


def covered(intervals):
    """Total length of the union."""
    total, last = 0, 0
    for begin, end in sorted(intervals):
        total += max(end - max(begin, last), 0)
        last = max(last, end)
    return total


def check_bubbles(checks, what, kept, passes):
    """What passes leave of the time from the first of all ranks to the last, to the picosecond."""
    begin = min(event["args"]["start_ps"] for event in passes)
    end = max(event["args"]["end_ps"] for event in passes)
    idle = defaultdict(int)
    for event, _ in kept:
        if event["name"].startswith("bubble"):
            idle[event["pid"]] += event["args"]["idle_ps"]
    for rank in {event["pid"] for event in passes}:
        busy = covered([(event["args"]["start_ps"], event["args"]["end_ps"]) for event in passes if event["pid"] == rank])
        checks.check(idle[rank] == end - begin - busy, f"{what}: bubbles are what the passes of rank {rank} leave",
                     f"{idle[rank]} of {end - begin} - {busy}")


def check_rates(checks, folder):
    """Bandwidths and shares from their definitions, of the job of check_passes() that is there."""
    with open(Path(folder) / "p" / "operations.csv") as file:
        rows = list(csv.DictReader(file))
    seen = set()
    for row in rows:
        moving = (int(row["end_ps"]) - int(row["moving_ps"])) * 1e-12
        if not moving or not int(row["bytes"]):
            continue
        # A message that fits NCCL's buffers begins without its receive; one that is posted late does not say when.
        if row["kind"] == "receive" and row["moving_ps"] == row["start_ps"] and not row["bandwidth_GBps"]:
            if not checks.check(not row["peak_share"], "late receives have no rate", row):
                break
            continue
        members = int(row["group_size"] or 1)
        # nccl-tests: the size of an all-gather is its result; bus over algorithm bandwidth is 2(n-1)/n of an all-reduce,
        # (n-1)/n of an all-gather and a reduce-scatter, 1 of a broadcast.
        size = int(row["bytes"]) * (members if row["operation"] == "all_gather" else 1)
        factor = {"all_reduce": 2 * (members - 1) / members, "all_gather": (members - 1) / members,
                  "reduce_scatter": (members - 1) / members}.get(row["operation"])
        good = abs(float(row["bandwidth_GBps"]) / (size / moving * 1e-9) - 1) < 1e-5
        if factor:
            good = good and abs(float(row["busbw_GBps"]) / (size / moving * 1e-9 * factor) - 1) < 1e-5
            good = good and row["algorithm"] and row["protocol"] in ("ll", "ll128", "simple")
        if row["flops"]:
            rate = int(row["flops"]) / moving
            # The peak of an A100 is 312 TFLOP/s in bf16.
            good = good and abs(float(row["tflops"]) / (rate * 1e-12) - 1) < 1e-5 and \
                abs(float(row["peak_share"]) / (rate / 312e12) - 1) < 1e-5
        if row["peak_share"]:
            good = good and 0 < float(row["peak_share"]) <= 1 + 1e-6
        seen.add(row["operation"] or row["kind"])
        if not checks.check(good, "bandwidths and shares follow from bytes, FLOPs and times", row):
            break
    checks.check({"all_reduce", "all_gather", "reduce_scatter", "compute", "send", "receive"} <= seen,
                 "kinds of operations were looked at", seen)


def check_small(program, checks, folder):
    write_files(folder, {"job.yaml": SMALL_JOB})
    outcome = program.run(["run", "job.yaml", "--timeline", "t.json", "--out", "out"], folder)
    if not checks.check(outcome.code == 0 and not outcome.broken, "a timeline is written", outcome.stderr):
        return
    events = load(Path(folder) / "t.json")
    check_tracks(checks, "small job", events)
    shown = [event for event in events if event["ph"] == "X" and "node" in event.get("args", {})]
    told = sorted((event["pid"], event["ts"], event["ts"] + event["dur"]) for event in shown)
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
    kept, dropped = perfetto_slices(path, by_parts)
    checks.check(not dropped, "1,024 GPUs: Perfetto drops nothing of what is put together", dropped[:3])
    checks.check(any("start_ps" in event.get("args", {}) for event, _ in kept), "1,024 GPUs: passes are shown")
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
        check_passes(program, checks, folder, "1F1B", "workload.parallel.zero=1", "workload.batch.micro=1")
        check_rates(checks, folder)
        check_passes(program, checks, folder, "interleaved", "workload.schedule={kind: 1f1b-interleaved, virtual_stages: 2}")
        check_passes(program, checks, folder, "zero-bubble", "workload.schedule.kind=zero-bubble")
        check_passes(program, checks, folder, "DualPipe", "workload.schedule.kind=dualpipe", "workload.batch.global=32",
                     in_line=False)
        check_counters(program, checks, folder, "job.yaml")
        check_counters(program, checks, folder, STUDIES / "llama2-13b-four-nodes.yaml",
                       "--set", "workload.parallel={tensor: 4, pipeline: 4, data: rest}")
        check_large(program, checks, folder)
        check_links(program, checks, folder)
        check_refusals(program, checks, folder)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
