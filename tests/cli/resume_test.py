#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""resume_test.py PROGRAM: a study that is cut off goes on where it was, and ends with the bytes of one that never was:
sweeps in every detail, and each other study that simulates variants of an experiment.

The faults are real ones: signals to the running program, files cut short, folders without permission, a full disk.
"""
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from orrery_program import SOURCE, Checks, Program, files_of, scratch_folder, write_files

POINTS = 120
SWEEP = """\
title: many points
experiment:
  cluster: dgx-a100
  nodes: 4
  workload:
    model: llama2-13b
    parallel: {tensor: 8, data: rest, zero: 1}
    batch: {global: 64, micro: 1}
vary:
  - key: workload.batch.global
    values: [%s]
  - key: cluster.node.fabric.bandwidth
    values: [x0.5, x0.7, x0.9, x1.1, x1.3]
""" % ", ".join(str(32 * i) for i in range(1, POINTS // 5 + 1))

TRACE_SWEEP = """\
experiment: {cluster: dgx-a100, nodes: 2, workload: {chakra: {prefix: t/rank, groups: t/groups.json}}}
vary: [{key: network.model, values: [flow, alpha-beta]}]
show: [iteration_time]
"""


JOB = """\
cluster: dgx-a100
nodes: 4
workload:
  model: llama2-13b
  parallel: {tensor: 8, data: rest, zero: 1}
  batch: {global: 64, micro: 1}
"""
# Slow links make every rank one of its own, so that a point takes a while.
CALL = """\
cluster: dgx-a100
nodes: 8
workload: {collective: all_to_all, size: 64 MiB}
collectives: {library: fixed}
placement: random(7)
perturb: {links: {node1.nic0.up: {bandwidth: 70 %}, node2.nic3.up: {bandwidth: 80 %}}}
"""
CALLS = """\
title: two machines by size
experiment: call.yaml
vary:
  - key: workload.size
    values: [1 MiB, 2 MiB, 4 MiB, 8 MiB, 16 MiB, 32 MiB, 64 MiB, 128 MiB, 256 MiB, 512 MiB]
  - {key: cluster, values: [dgx-a100, hgx-a800]}
show: [iteration_time, busbw]
"""
FILES = {"job.yaml": JOB, "call.yaml": CALL, "calls.yaml": CALLS}
NOISE = ["--set", "perturb={jitter: {sigma: 1 %}}"]
PLANS = ["--fix", "tensor=8", "--fix", "micro=1", "--fix", "recompute=none", "--fix", "virtual_stages=1"]
TABLES = [word for name in ("internevo", "bert-2021", "bert-2020")
          for word in ("--training-table", str(SOURCE / "configs" / "validation" / "training" / f"{name}.yaml"))]
# The command, and how many points it has at least. The one point of `goodput` takes half a second.
STUDIES = {
    "explain": (["explain", "job.yaml"], 15),
    "explain a collective": (["explain", "call.yaml"], 15),
    "sweep collectives": (["sweep", "calls.yaml"], 20),
    "seeds": (["run", "job.yaml", *NOISE, "--seeds", "15"], 16),
    "search": (["search", "job.yaml", *PLANS, "--best", "12"], 15),
    "sizes": (["search", "job.yaml", *PLANS, "--vary", "nodes=2,4", "--best", "8"], 15),
    "goodput": (["goodput", "job.yaml", *NOISE, "--nodes", "128", "--set", "workload.batch.global=4096", "--mtbf", "50000 h",
                 "--restart", "10 min", "--checkpoint-time", "30 s"], 1),
    "validate": (["validate", *TABLES], 40),
}


def stored(folder):
    return sorted(Path(folder, "points").glob("*.json")) if Path(folder, "points").exists() else []


def start(program, folder, out, command=("sweep", "sweep.yaml")):
    return subprocess.Popen([program.path, *command, "--jobs", "1", "--out", out], cwd=folder,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def stop(program, folder, out, number, least, command=("sweep", "sweep.yaml")):
    """Sends the signal to a study that has added so many points to its folder, and to one of a single point in the midst
    of that; what it said."""
    before = len(stored(Path(folder, out)))
    Path(folder, out, "points", "lock").unlink(missing_ok=True)
    running = start(program, folder, out, command)
    end = time.monotonic() + 60
    while running.poll() is None and time.monotonic() < end:
        if len(stored(Path(folder, out))) >= before + least and Path(folder, out, "points", "lock").exists():
            break
        time.sleep(0.002)
    running.send_signal(number)
    printed, said = running.communicate(timeout=60)
    return running.returncode, said.decode(), printed.decode()


def check_killed(program, checks, folder, whole):
    for _ in range(2):
        code, said, _ = stop(program, folder, "killed", signal.SIGKILL, 10)
        checks.check(code == -signal.SIGKILL, "the sweep is killed before its end", f"{code}\n{said}")
    kept = len(stored(Path(folder, "killed")))
    checks.check(20 <= kept < POINTS, "its points are kept", kept)
    # Leftovers of a kill amid writing, wherever the signals above happened to come.
    write_files(Path(folder, "killed"), {name: "half" for name in (
        "points.csv.999999-1.partial", "result-7.json.999999-2.partial", "points/0.json.999999-3.partial")})
    again = program.run(["sweep", "sweep.yaml", "--out", "killed"], folder)
    checks.check(again.code == 0 and f"{kept} of {POINTS} points were there from before" in again.stderr, "it goes on",
                 again.stderr)
    checks.check(files_of(Path(folder, "killed")) == whole, "killed twice, it ends with the same bytes")
    checks.check("removed" not in again.stderr and not list(Path(folder, "killed").rglob("*.partial")),
                 "what was half written is gone, and is no result of others", again.stderr)
    checks.check(len(stored(Path(folder, "killed"))) == POINTS, "and nothing else stays")


def check_interrupted(program, checks, folder, whole):
    code, said, _ = stop(program, folder, "interrupted", signal.SIGINT, 10)
    kept = len(stored(Path(folder, "interrupted")))
    checks.check(code == 130 and "error: interrupted" in said
                 and f"{kept} of {POINTS} points are done and kept in interrupted/points; the same command goes on" in said,
                 "an interrupted sweep says what there is", f"{code}\n{said}")
    rows = (Path(folder) / "interrupted" / "points.csv").read_text().splitlines()
    checks.check(len(rows) == kept + 1, "the table has the points that are done", len(rows))
    program.run(["sweep", "sweep.yaml", "--out", "interrupted"], folder)
    checks.check(files_of(Path(folder, "interrupted")) == whole, "interrupted, it ends with the same bytes")


def with_part_of_no_kind(text):
    """A kept result as another program could have written it: what it says goes with its check, but one part of the
    time is of a kind that there is not."""
    head, mark, answer = text.partition('"answer":')
    answer = re.sub(r'("parts":\[\["[^"]*",[^],]*,)\d+,', r"\g<1>99,", answer.removesuffix("}\n"))
    digest = hashlib.sha256(answer.encode()).hexdigest()
    return re.sub(r'"check":"\w+"', f'"check":"{digest}"', head) + mark + answer + "}\n"


def check_damaged(program, checks, folder, whole):
    out = Path(folder, "whole")
    files = stored(out)
    os.truncate(files[0], 50)
    text = files[1].read_text()
    files[1].write_text(text.replace('"time_ps":', '"time_ps":1', 1))
    files[2].write_text(json.dumps({"schema": "orrery.point/1"}))
    files[3].write_text(with_part_of_no_kind(files[3].read_text()))
    again = program.run(["sweep", "sweep.yaml", "--out", "whole"], folder)
    checks.check(again.code == 0 and again.stderr.count("is damaged; its point was simulated again") == 4,
                 "damaged results are told", again.stderr)
    checks.check(files_of(out) == whole, "and replaced")


def check_changed(program, checks, folder, whole):
    """Other values: what is the same is not simulated again, what is no more is told and removed."""
    text = SWEEP.replace("values: [32, 64,", "values: [32,").replace("x0.5, ", "x0.6, x0.5, ")
    write_files(folder, {"sweep.yaml": text})
    again = program.run(["sweep", "sweep.yaml", "--out", "whole"], folder)
    same = POINTS - 5
    checks.check(f"{same} of {POINTS // 5 * 6 - 6} points were there from before" in again.stderr
                 and "removed 5 results of other experiments or versions from whole/points" in again.stderr,
                 "a sweep with other values takes what it can", again.stderr)
    write_files(folder, {"sweep.yaml": SWEEP})
    fresh = program.run(["sweep", "sweep.yaml", "--out", "whole", "--fresh"], folder)
    checks.check(fresh.code == 0 and "from before" not in fresh.stderr, "--fresh takes nothing", fresh.stderr)
    checks.check(files_of(Path(folder, "whole")) == whole, "and gives the same bytes")


def check_shards(program, checks, folder, whole):
    """Shards at the same time in one folder, as the tasks of a job array run them."""
    command = ["sweep", "sweep.yaml", "--out", "shards"]
    tasks = [subprocess.Popen([program.path, *command, "--shard", "slurm", "--jobs", "1"], cwd=folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env={**os.environ, "SLURM_ARRAY_TASK_ID": str(task),
                                                           "SLURM_ARRAY_TASK_MIN": "10", "SLURM_ARRAY_TASK_COUNT": "3"})
             for task in (10, 12)]
    for task in tasks:
        said, _ = task.communicate(timeout=60)
        checks.check(task.returncode == 0 and f"{POINTS // 3} of {POINTS} points".encode() in said, "a shard ends", said)
    early = program.run([*command, "--merge"], folder)
    checks.check(early.code == 2 and f"shards: error: {POINTS // 3} of {POINTS} points have no result yet; the first is point 2"
                 in early.stderr, "a shard that is missing is told", early.stderr)
    second = program.run([*command, "--shard", "2/3"], folder)
    checks.check(second.code == 0 and second.stdout.startswith("shard 2 of 3: "), "the last one", second.stderr)
    merged = program.run([*command, "--merge"], folder)
    checks.check(merged.code == 0 and files_of(Path(folder, "shards")) == whole, "together they have the same bytes",
                 merged.stderr)
    for text in ("0/3", "4/3", "x", "1", "/", "1/0", "slurm"):
        outcome = program.run([*command, "--shard", text], folder)
        checks.check(outcome.code == 2 and f"--shard: error: '{text}' " in outcome.stderr, f"--shard {text} is refused",
                     outcome.stderr)
    for wrong in (["--shard", "1/2", "--merge"], ["--merge", "--fresh"], ["--shard", "1/2", "--fresh"]):
        checks.check(program.run([*command, *wrong], folder).code == 2, f"{wrong} is refused")


def check_refused(program, checks, folder):
    """Points without a result are results, too: of two, one does not fit."""
    large = SWEEP[:SWEEP.index("vary:")].replace("llama2-13b", "llama2-70b").replace("tensor: 8, ", "")
    write_files(folder, {"large.yaml": large + "vary:\n  - {key: workload.model, values: [llama2-70b, bert-large]}\n"})
    command = ["sweep", "large.yaml", "--out", "large"]
    alone = program.run(["sweep", "large.yaml"], folder)
    for shard in ("1/2", "2/2"):
        program.run([*command, "--shard", shard], folder)
    merged = program.run([*command, "--merge"], folder)
    checks.check(alone.code == merged.code == 0 and "needs" in alone.stdout and merged.stdout == alone.stdout,
                 "a point that does not fit is merged as such", merged.stdout + merged.stderr)


def check_special(program, checks, folder, whole):
    """Where a kept result was, something that is no file of the program's: a device that never ends, a folder, a pipe."""
    out = Path(folder, "whole")
    files = stored(out)
    for file, put in ((files[0], lambda path: path.symlink_to("/dev/zero")), (files[1], Path.mkdir), (files[2], os.mkfifo)):
        file.unlink()
        put(file)
    again = program.run(["sweep", "sweep.yaml", "--out", "whole"], folder)
    checks.check(again.code == 0 and again.stderr.count("is damaged; its point was simulated again") == 3,
                 "special files are told", again.stderr)
    checks.check(files_of(out) == whole and all(file.is_file() and not file.is_symlink() for file in files[:3]),
                 "and replaced by results")


def check_contents(program, checks, folder):
    """Traces and groups, replaced by others of the same size and time as tar and rsync leave them: results are those of
    what is there. An all-reduce of 9,192,000 bytes takes longer than one of 8,192,000, and both numbers four bytes."""
    layers = (SOURCE / "docs" / "examples" / "layers.txt").read_text()
    write_files(folder, {"traces.yaml": TRACE_SWEEP, "old.txt": layers, "new.txt": layers.replace("8192000", "9192000")})
    for kind in ("old", "new"):
        made = program.run(["workload", "import", f"{kind}.txt", "--ranks", "16", "-o", kind], folder)
        checks.check(made.code == 0, f"{kind} traces", made.stderr)
    sizes = [{path.name: path.stat().st_size for path in Path(folder, kind).iterdir()} for kind in ("old", "new")]
    checks.check(sizes[0] == sizes[1], "the traces have the same sizes", sizes)

    def put(source):
        shutil.rmtree(Path(folder, "t"), ignore_errors=True)
        shutil.copytree(Path(folder, source), Path(folder, "t"))
        for path in Path(folder, "t").iterdir():
            os.utime(path, (0, 0))

    command = ["sweep", "traces.yaml", "--out", "contents"]
    put("old")
    first = program.run(command, folder)
    put("old")
    again = program.run(command, folder)
    checks.check(first.code == 0 and again.stdout == first.stdout and "2 of 2 points were there from before" in again.stderr,
                 "the same contents are known", first.stderr + again.stderr)
    put("new")
    kept = program.run(command, folder)
    fresh = program.run(["sweep", "traces.yaml", "--out", "fresh-contents"], folder)
    checks.check(kept.stdout == fresh.stdout != first.stdout and "from before" not in kept.stderr,
                 "others of the same size and time are simulated", kept.stdout + kept.stderr + fresh.stdout)
    groups = Path(folder, "t", "groups.json")
    groups.write_text(groups.read_text().replace(": [", " :[", 1))
    os.utime(groups, (0, 0))
    checks.check("from before" not in program.run(command, folder).stderr, "groups count, too")


def check_two(program, checks, folder):
    running = start(program, folder, "two")
    end = time.monotonic() + 60
    while not stored(Path(folder, "two")) and running.poll() is None and time.monotonic() < end:
        time.sleep(0.002)
    second = program.run(["sweep", "sweep.yaml", "--out", "two"], folder)
    checks.check(second.code == 2 and "two: error: another orrery writes to this folder" in second.stderr,
                 "a second sweep in the same folder is refused", second.stderr)
    running.communicate(timeout=60)
    checks.check(running.returncode == 0, "and does not disturb the first")


def check_unwritable(program, checks, folder):
    if os.geteuid() == 0:
        print("SKIPPED: folders without permission (root may write everywhere)")
        return
    closed = Path(folder, "closed")
    closed.mkdir()
    closed.chmod(0o500)
    outcome = program.run(["sweep", "sweep.yaml", "--out", "closed"], folder)
    closed.chmod(0o700)
    checks.check(outcome.code == 2 and "closed" in outcome.stderr, "a folder without permission is refused", outcome.stderr)


def check_full(program, checks, folder, whole):
    """A disk of 1 MiB has room for some of the results."""
    disk = Path(folder, "disk")
    disk.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True, check=False)
    if mount.returncode != 0:
        print(f"SKIPPED: a full disk ({mount.stderr.decode().strip()})")
        return
    try:
        outcome = program.run(["sweep", "sweep.yaml", "--out", "disk"], folder)
        kept = len(stored(disk))
        checks.check(outcome.code == 2 and "No space left on device" in outcome.stderr
                     and f"of {POINTS} points are done and kept" in outcome.stderr and 0 < kept < POINTS,
                     "a full disk is told, with what is kept", f"{kept}\n{outcome.stderr}")
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        again = program.run(["sweep", "sweep.yaml", "--out", "disk"], folder)
        checks.check(again.code == 0 and "points were there from before" in again.stderr, "with more room it goes on",
                     again.stderr)
        checks.check(files_of(disk) == whole, "and ends with the same bytes")
    finally:
        subprocess.run(["umount", disk], check=True)


def at_least(count, words, text):
    """True if the text says "N of M" and the words, and N is not less. Two rows of measurements may ask for one point: N
    counts both, and one file has it."""
    said = re.search(rf"(\d+) of \d+ {re.escape(words)}", text)
    return said and int(said.group(1)) >= count


def check_study(program, checks, folder, name):
    """A study that is killed, interrupted and then left alone, and one in parts, against one that nothing happened to."""
    command, points = STUDIES[name]
    alone = program.run([*command, "--out", f"{name}-whole"], folder)
    whole, kept = files_of(Path(folder, f"{name}-whole")), len(stored(Path(folder, f"{name}-whole")))
    results = kept + 5 if command[0] == "sweep" else 2
    checks.check(alone.code == 0 and kept >= points and len(whole) == results, f"{name}: it runs, and keeps its points",
                 f"{kept}\n{alone.stderr}")
    out = f"{name}-stopped"
    least = min(3, points - 1)
    code, said, _ = stop(program, folder, out, signal.SIGKILL, least, command)
    checks.check(code == -signal.SIGKILL and least <= len(stored(Path(folder, out))) < kept, f"{name}: it is killed before its end",
                 said)
    code, said, printed = stop(program, folder, out, signal.SIGINT, least, command)
    there = len(stored(Path(folder, out)))
    checks.check(code == 130 and 2 * least <= there < kept and "error: interrupted" in said
                 and at_least(there, f"points are done and kept in {out}/points; the same command goes on with the others", said),
                 f"{name}: it is interrupted before its end, and says what there is", f"{code} {there}\n{said}")
    checks.check(("stopped" in printed) == (command[0] == "search"), f"{name}: only a search says the best so far", printed)
    again = program.run([*command, "--out", out], folder)
    checks.check(at_least(there, "points were there from before", again.stderr) or there == 0,
                 f"{name}: what was kept is not simulated again", again.stderr)
    checks.check(again.code == 0 and again.stdout == alone.stdout and files_of(Path(folder, out)) == whole,
                 f"{name}: it ends with the same bytes", again.stdout + again.stderr)
    out = f"{name}-parts"
    shard = program.run([*command, "--out", out, "--shard", "2/2"], folder)
    checks.check(shard.code == 0 and shard.stdout.startswith("shard 2 of 2: "), f"{name}: a part ends", shard.stderr)
    early = program.run([*command, "--out", out, "--merge"], folder)
    checks.check(early.code == 2 and "points have no result yet; the first is point 1" in early.stderr,
                 f"{name}: a part that is missing is told", early.stdout + early.stderr)
    program.run([*command, "--out", out, "--shard", "1/2"], folder)
    merged = program.run([*command, "--out", out, "--merge"], folder)
    checks.check(merged.code == 0 and merged.stdout == alone.stdout and files_of(Path(folder, out)) == whole,
                 f"{name}: together the parts have the same bytes", merged.stdout + merged.stderr)


def main():
    program, checks = Program(sys.argv[1]), Checks()
    with scratch_folder() as folder:
        write_files(folder, {"sweep.yaml": SWEEP, **FILES})
        for name in STUDIES:
            check_study(program, checks, folder, name)
        first = program.run(["sweep", "sweep.yaml", "--out", "whole"], folder)
        checks.check(first.code == 0 and "from before" not in first.stderr, "the sweep runs", first.stderr)
        whole = files_of(Path(folder, "whole"))
        checks.check(len(whole) == POINTS + 5, "it has a result of each point", len(whole))
        check_killed(program, checks, folder, whole)
        check_interrupted(program, checks, folder, whole)
        check_damaged(program, checks, folder, whole)
        check_changed(program, checks, folder, whole)
        check_shards(program, checks, folder, whole)
        check_refused(program, checks, folder)
        check_two(program, checks, folder)
        check_special(program, checks, folder, whole)
        check_contents(program, checks, folder)
        check_unwritable(program, checks, folder)
        check_full(program, checks, folder, whole)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
