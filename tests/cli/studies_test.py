#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""studies_test.py PROGRAM: scripts/studies run as they are written, and their tables say what the studies are about."""
import csv
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from orrery_program import PATIENCE, SOURCE, Checks, Program, scratch_folder

STUDIES = SOURCE / "scripts" / "studies"
TOOLS = ("jq", "column")


def run(name, program, folder):
    return subprocess.run([str(STUDIES / f"{name}.sh"), str(folder / name)], capture_output=True, text=True,
                          timeout=300 * PATIENCE, cwd=folder, env={**os.environ, "ORRERY": program})


def table_of(name, program, folder, checks):
    """The table's columns by heading; its picture is there if gnuplot is."""
    done = run(name, program.path, folder)
    if not checks.check(done.returncode == 0, f"{name} ends with 0", done.stdout + done.stderr):
        return {}
    picture = folder / name / "picture.svg"
    if shutil.which("gnuplot"):
        checks.check(picture.is_file() and "</svg>" in picture.read_text(), f"{name} draws its picture", done.stderr)
    else:
        checks.check("gnuplot is not installed" in done.stderr, f"{name} says why there is no picture", done.stderr)
    with open(folder / name / "table.tsv", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t"))
    checks.check(all(cell in done.stdout for row in rows for cell in row), f"{name} prints its table", done.stdout)
    return {heading: [float(row[i]) for row in rows[1:]] for i, heading in enumerate(rows[0])}


def check_a100_a800(program, checks, folder):
    table = table_of("a100_a800", program, folder, checks)
    ratios = table.get("A800/A100", [])
    checks.check(len(ratios) == 3 and ratios == sorted(ratios) and ratios[0] >= 1,
                 "the more goes over NVLink, the more an A800 costs", table)
    checks.check(bool(ratios) and 1.02 < ratios[-1] < 1.5, "NVLink is a part of the step, not all of it", table)


def check_nic_count(program, checks, folder):
    table = table_of("nic_count", program, folder, checks)
    times, rates = table.get("iteration (ms)", []), table.get("all-reduce of 1 GiB (GB/s)", [])
    checks.check(table.get("NICs") == [1, 2, 4, 8] and times == sorted(times, reverse=True), "more NICs, shorter steps", table)
    checks.check(bool(rates) and all(1.5 < b / a < 2.05 for a, b in zip(rates, rates[1:])),
                 "twice the NICs carry about twice as much", table)


def check_bucket_size(program, checks, folder):
    table = table_of("bucket_size", program, folder, checks)
    slow, fast = table.get("25 GB/s (ms)", []), table.get("100 GB/s (ms)", [])
    checks.check(bool(slow) and min(slow) < slow[0] and min(slow) < slow[-1], "the best bucket is neither least nor largest", table)
    checks.check(bool(fast) and all(a <= b for a, b in zip(fast, slow)), "a faster network is no slower", table)


def check_nightly_jitter(program, checks, folder):
    """Cut off by SIGKILL, it goes on with the figures that are missing."""
    running = subprocess.Popen([str(STUDIES / "nightly_jitter.sh"), str(folder / "nightly_jitter")], cwd=folder,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                               env={**os.environ, "ORRERY": program.path})
    figures = folder / "nightly_jitter" / "figures"
    done = lambda: sorted(path for path in figures.glob("tensor-*") if path.suffix != ".part")
    end = time.monotonic() + 60 * PATIENCE
    while len(done()) < 5 and running.poll() is None and time.monotonic() < end:
        time.sleep(0.002)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    kept = {path.name: path.stat().st_mtime_ns for path in done()}
    checks.check(5 <= len(kept) < 27, "nightly_jitter is killed in the middle", kept)
    again = run("nightly_jitter", program.path, folder)
    checks.check(again.returncode == 0 and again.stderr.count(" s\n") == 27 - len(kept), "it goes on", again.stderr)
    checks.check(kept == {path.name: path.stat().st_mtime_ns for path in done() if path.name in kept}, "and keeps what there is")
    with open(folder / "nightly_jitter" / "table.tsv", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    ratios = [float(row["mean/quiet"]) for row in rows]
    checks.check([row["tensor"] for row in rows] == ["2", "4", "8"] and all(1.02 < ratio < 1.2 for ratio in ratios),
                 "noise makes steps longer", rows)
    checks.check(ratios == sorted(ratios, reverse=True), "the more, the more of a step is computing", rows)


def check_nightly_slurm(program, checks, folder):
    """On this machine: cli_slurm has the launcher. A night whose jobs are others is told."""
    environment = {**os.environ, "ORRERY": program.path, "LAUNCHER": "local", "SWEEP": "configs/studies/smoke-sweep.yaml"}
    def night(name, *before, options=""):
        return subprocess.run([str(STUDIES / "nightly_slurm.sh"), str(folder / name), *(str(folder / one) for one in before)],
                              capture_output=True, text=True, timeout=300 * PATIENCE, cwd=folder,
                              env={**environment, "SLURM": options})
    one, two = night("one"), night("two", "one")
    with open(folder / "one" / "table.tsv", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    ratios = [float(row["A800/A100"]) for row in rows]
    checks.check(one.returncode == 0 and len(ratios) == 12 and all(1 <= ratio < 1.2 for ratio in ratios)
                 and sum(ratio > 1 for ratio in ratios) >= 10,
                 "nightly_slurm has a ratio for each plan", one.stdout + one.stderr)
    checks.check(two.returncode == 0 and "all times are those of" in two.stdout, "two nights are alike", two.stdout + two.stderr)
    three = night("three", "one", options="--set workload.recompute=full")
    checks.check(three.returncode == 1 and "times differ from those in" in three.stderr, "a night that is not is told",
                 three.stdout + three.stderr)


def check_missing_program(checks, folder):
    done = run("bucket_size", "/nowhere/orrery", folder)
    checks.check(done.returncode == 2 and "'/nowhere/orrery' is missing" in done.stderr and "hint" in done.stderr,
                 "a program that is not there is named", done.stderr)


def main():
    program, checks = Program(sys.argv[1]), Checks()
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        print(f"SKIPPED: {', '.join(missing)} missing (scripts/setup jq bsdextrautils)")
        return 0
    with scratch_folder() as scratch:
        folder = Path(scratch)
        check_missing_program(checks, folder)
        check_a100_a800(program, checks, folder)
        check_nic_count(program, checks, folder)
        check_bucket_size(program, checks, folder)
        check_nightly_jitter(program, checks, folder)
        check_nightly_slurm(program, checks, folder)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
