#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""moved_paths_test.py PROGRAM: an experiment that is written to another folder than its input's names the same files, and takes the same
time as the input, from whichever folder it is run."""
import json
import shutil
import sys
from pathlib import Path

from orrery_program import SOURCE, Checks, Program, scratch_folder, write_files

TUNER = "allreduce,0,1073741824,ring,simple,-1,-1,-1,-1,-1\n"
CLUSTER = """\
like: dgx-h100
node:
  like: dgx-h100
  device: {like: h100-sxm, compute: {measured: [../tables/gemm.csv]}}
"""
JOB = """\
cluster: ../machines/own.yaml
nodes: 1
workload:
  model: llama3-debug
  parallel: {data: 8}
  batch: {global: 64, micro: 2}
collectives: {library: nccl, tuner: ../tables/tuner.csv}
"""
SCRIPT = """\
[model]
name = "llama3"
flavor = "debugmodel"
[training]
local_batch_size = 2
global_batch_size = 64
seq_len = 2048
"""


def write_inputs(folder):
    (folder / "machines").mkdir()
    (folder / "tables").mkdir()
    (folder / "in").mkdir()
    (folder / "elsewhere" / "deep").mkdir(parents=True)
    (folder / "link").symlink_to(folder / "elsewhere" / "deep")
    shutil.copy(SOURCE / "configs" / "validation" / "compute" / "gemm-h100.csv", folder / "tables" / "gemm.csv")
    write_files(folder, {"machines/own.yaml": CLUSTER, "tables/tuner.csv": TUNER, "in/job.yaml": JOB, "in/script.toml": SCRIPT})


def time_of(program, file, folder):
    outcome = program.run(["run", file, "--json", "-"], folder)
    return json.loads(outcome.stdout)["iteration_time_s"] if outcome.code == 0 else outcome.stderr


def check_written(program, checks, folder, command, option):
    """`command` with its output in several folders, seen from several."""
    times = set()
    for where in ("in/best.yaml", "elsewhere/deep/best.yaml", "link/linked.yaml", str(folder / "elsewhere" / "whole.yaml")):
        written = program.run([*command, option, where], folder)
        if not checks.check(written.code == 0, f"{' '.join(command)} {option} {where}", written.stderr):
            continue
        text = (folder / where).read_text()
        checks.check(str(folder) not in text, "paths start from the file's folder", text)
        times |= {time_of(program, where, folder), time_of(program, str(folder / where), folder.parent)}
    checks.check(len(times) == 1 and isinstance(next(iter(times)), float), "all of them run, and take the same time", times)


def check_search(program, checks, folder):
    fixed = [word for degree in ("tensor=1", "pipeline=1", "context=1", "zero=1", "micro=2") for word in ("--fix", degree)]
    check_written(program, checks, folder, ["search", "in/job.yaml", *fixed], "--write")


def check_import(program, checks, folder):
    check_written(program, checks, folder,
                  ["workload", "import", "in/script.toml", "--cluster", "machines/own.yaml", "--nodes", "1", "--set",
                   "collectives={library: nccl, tuner: tables/tuner.csv}"], "--out")


def main():
    program, checks = Program(sys.argv[1]), Checks()
    for check in (check_search, check_import):
        with scratch_folder() as folder:
            write_inputs(Path(folder))
            check(program, checks, Path(folder))
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
