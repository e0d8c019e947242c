# SPDX-License-Identifier: MIT
"""Runs jobs with the program and with the reference, and says where they differ; and what tests share that go through
many jobs."""
import argparse
import concurrent.futures
import csv
import sys
from pathlib import Path

from jobs import orrery_program
from simulation import Simulation


def times_of_program(program, folder):
    """{(rank, node): (start, end)} that the program says of the job in a folder, or as text why it says nothing."""
    done = program.run(["run", "experiment.yaml", "--out", "out", "--ranks", "all", "--quiet"], folder)
    if done.code != 0 or done.broken:
        return "\n".join([done.stderr, *done.broken])
    with open(Path(folder) / "out" / "operations.csv", newline="") as file:
        return {(int(row["rank"]), int(row["node"])): (int(row["start_ps"]), int(row["end_ps"]))
                for row in csv.DictReader(file)}


def times_of_reference(job):
    """{(rank, node): (start, end)} that the reference says of a job. An operation that does not end has no end."""
    return {(rank.number, node): (start, end) for rank in Simulation(job).run().ranks
            for node, (start, end) in enumerate(zip(rank.start, rank.end))}


def run(program, job):
    """times_of_program() of a job, in a folder of its own."""
    with orrery_program.scratch_folder() as folder:
        job.write(folder)
        return times_of_program(program, folder)


def difference(job, ours, theirs):
    """The first operation that differs, as text; nothing if none does."""
    if isinstance(theirs, str):
        return theirs
    differing = [key for key in sorted(set(ours) | set(theirs)) if ours.get(key) != theirs.get(key)]
    if not differing:
        return ""

    def first_time(key):
        return min(time for times in (ours.get(key), theirs.get(key)) if times for time in times if time is not None)

    rank, node = min(differing, key=first_time)
    return (f"{len(differing)} of {len(ours)} operations differ, the first is {node} of rank {rank}, "
            f"{job.programs[rank][node]}: reference {ours.get((rank, node))}, program {theirs.get((rank, node))}")


def options_of(description, count):
    """The command line of a test that goes through jobs of many seeds."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=count, help="number of jobs")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first; the next has the next")
    parser.add_argument("--jobs", type=int, default=1, help="jobs that are simulated at a time")
    return parser.parse_args()


def for_each_seed(options, check):
    """check(program, seed) of all seeds, in their order; `check` is a function of a module."""
    seeds = range(options.seed, options.seed + options.count)
    program = orrery_program.Program(options.program)
    if options.jobs == 1:
        return [check(program, seed) for seed in seeds]
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        return list(pool.map(check, [program] * len(seeds), seeds, chunksize=16))


def finish(checks):
    sys.exit(checks.exit_code())
