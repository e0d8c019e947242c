#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""slurm_test.py PROGRAM: a sweep, and any other study, as a job array of Slurm ends with the bytes of one on this machine,
whatever happens to its tasks, its node, its controller and the program that submitted it.

With a real slurmctld, slurmd and munged, where they can be started. Otherwise that part is skipped, which is said.
"""
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from orrery_program import PATIENCE, SOURCE, Checks, Program, files_of, scratch_folder, write_files
from resume_test import FILES, STUDIES
from slurm_cluster import Cluster, Unavailable

POINTS = 40  # of some 60 ms each: long enough for what happens to them meanwhile
SWEEP = """\
title: many points
experiment:
  cluster: dgx-h100
  nodes: 8
  workload:
    model: gpt3-13b
    parallel: {tensor: 8, pipeline: 2, data: rest, sequence: true}
    recompute: selective
    batch: {global: 256, micro: 1}
vary:
  - key: workload.batch.global
    values: [%s]
  - key: cluster.node.fabric.bandwidth
    values: [x0.5, x0.7, x0.9, x1.1, x1.3]
""" % ", ".join(str(16 * i) for i in range(12, POINTS // 5 + 12))


class Launched:
    """A sweep that is submitted to the cluster, as a process of its own."""

    def __init__(self, program, cluster, folder, out, *options):
        self.out = Path(folder, out)
        self.errors = Path(folder, f"{out}.errors")
        self.process = subprocess.Popen(
            [program.path, "sweep", "sweep.yaml", "--launcher", "slurm", "--out", out, *options], cwd=folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=open(self.errors, "wb"),
            env={**os.environ, **cluster.environment}, text=True)

    def points(self):
        return len(list((self.out / "points").glob("*.json")))

    def said(self):
        return self.errors.read_text()

    def wait_for(self, holds, seconds=20):
        end = time.monotonic() + seconds * PATIENCE
        while not holds() and self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        return holds()

    def end(self, seconds=40):
        """(exit code, standard output, standard error)"""
        late = ""
        try:
            output, _ = self.process.communicate(timeout=seconds * PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            output, _ = self.process.communicate()
            late = "\nit did not end"
        return self.process.returncode, output, self.said() + late


def check_options(program, checks, folder):
    """What needs no Slurm."""
    command = ["sweep", "sweep.yaml", "--launcher", "slurm"]
    missing = program.run([*command, "--out", "none"], folder, environment={"PATH": "/nowhere"})
    checks.check(missing.code == 2 and "--launcher: error: slurm needs Slurm's programs; sbatch cannot be started" in missing.stderr
                 and "hint" in missing.stderr, "a machine without Slurm is told", missing.stderr)
    for line, words in (([], "--launcher: error: slurm keeps results in a folder"),
                        (["--out", "none", "--merge"], "--merge: error: is of points whose parts are started by hand"),
                        (["--out", "none", "--shard", "1/2"], "--shard: error: is of points whose parts")):
        outcome = program.run([*command, *line], folder)
        checks.check(outcome.code == 2 and words in outcome.stderr, f"{line} is refused", outcome.stderr)
    for option, value in (("--tasks", "2"), ("--partition", "night"), ("--time-limit", "10"), ("--array-limit", "2"),
                          ("--retries", "1"), ("--sbatch-args", "--mem=1G")):
        outcome = program.run(["sweep", "sweep.yaml", option, value], folder)
        checks.check(outcome.code == 2 and f"{option}: error: is of a job array of Slurm" in outcome.stderr,
                     f"{option} alone is refused", outcome.stderr)
    outcome = program.run(["sweep", "-", "--launcher", "slurm", "--out", "none"], folder)
    checks.check(outcome.code == 2 and "cannot read standard input" in outcome.stderr, "a sweep of a pipe is refused",
                 outcome.stderr)


def check_refused(program, checks, folder, cluster):
    code, output, errors = Launched(program, cluster, folder, "refused", "--partition", "day").end()
    checks.check(code == 2 and "sbatch: error: invalid partition specified: day" in errors and not output,
                 "a partition that is not there is told in Slurm's words", errors)
    code, _, errors = Launched(program, cluster, folder, "refused", "--tasks", "2", "--retries", "1",
                               "--sbatch-args", "--export=ORRERY_CONFIGS=/nowhere").end()
    checks.check(code == 2 and "/nowhere: error: is not a folder of configurations" in errors
                 and "refused/slurm/" in errors and "FAILED, exit code 2:0" in errors and "as 2 tasks in a row" in errors,
                 "a task that fails each time is told, with its log", errors)
    checks.check(not cluster.tasks(), "and nothing stays in the queue", cluster.tasks())


def check_whole(program, checks, folder, cluster, whole, printed):
    one = Launched(program, cluster, folder, "whole of slurm", "--tasks", "3", "--partition", "night", "--array-limit", "2",
                   "--time-limit", "10", "--jobs", "1", "--sbatch-args", "--nice=1 --comment=nightly")
    checks.check(one.wait_for(lambda: one.points() > 3), "points come")
    second = program.run(["sweep", "sweep.yaml", "--launcher", "slurm", "--out", "whole of slurm"], folder,
                         environment=cluster.environment)
    checks.check(second.code == 2 and "another orrery writes to this folder" in second.stderr, "a second one is refused",
                 second.stderr)
    code, output, errors = one.end()
    checks.check(code == 0 and "submitted 3 tasks to Slurm as job" in errors, "a sweep runs on Slurm", errors)
    checks.check(output == printed, "it prints what one on this machine does", output)
    checks.check(files_of(one.out) == whole, "and writes the same bytes")


def kill_new_tasks(cluster, killed):
    """Kills each running task once, `killed` being those of before. A task may end by itself before its signal comes: call
    this again until a kill was told."""
    for task, state in cluster.tasks():
        if state == "RUNNING" and task not in killed:
            cluster.call("scancel", "--signal=KILL", "--full", task)
            killed.add(task)


def check_trouble(program, checks, folder, cluster, whole):
    """A node that is drained, a controller that goes away, a task that is killed, one after the other."""
    one = Launched(program, cluster, folder, "trouble", "--tasks", "6")
    checks.check(one.wait_for(lambda: one.points() > 3), "points come", one.said())
    cluster.set_state("drain")
    drained = one.wait_for(lambda: cluster.states() == {"drained"} and all(state == "PENDING" for _, state in cluster.tasks()))
    checks.check(drained and one.points() < POINTS, "the rest waits for the node", one.points())
    checks.check(one.wait_for(lambda: "tasks wait: " in one.said()), "which is told", one.said())
    cluster.end("slurmctld")
    checks.check(one.wait_for(lambda: "Slurm does not answer, which is tried again: squeue" in one.said()),
                 "a controller that is away is told", one.said())
    cluster.start_controller()
    cluster.resume()
    killed = set()
    def a_kill_is_told():
        kill_new_tasks(cluster, killed)
        return "ended before" in one.said()
    checks.check(one.wait_for(a_kill_is_told), "a killed task is told", one.said())
    code, _, errors = one.end()
    checks.check(code == 0 and files_of(one.out) == whole, "it ends with the same bytes", errors)


def check_node_lost(program, checks, folder, cluster, whole):
    one = Launched(program, cluster, folder, "lost", "--tasks", "4")
    checks.check(one.wait_for(lambda: one.points() > 3), "points come")
    cluster.kill("slurmd")
    cluster.set_state("down")
    requeued = one.wait_for(lambda: any(state == "PENDING" for _, state in cluster.tasks()))
    checks.check(requeued, "Slurm queues the tasks of a lost node again", cluster.tasks())
    cluster.start_node()
    cluster.resume()
    for task, _ in cluster.tasks():
        cluster.call("scontrol", "update", f"jobid={task}", "starttime=now")
    code, _, errors = one.end()
    checks.check(code == 0 and files_of(one.out) == whole, "with the node lost it ends with the same bytes", errors)


def check_cut_off(program, checks, folder, cluster, whole):
    """Ctrl-C cancels; a kill does not, and the next start takes over."""
    one = Launched(program, cluster, folder, "cut", "--tasks", "4")
    one.wait_for(lambda: one.points() > 3)
    one.process.send_signal(signal.SIGINT)
    code, _, errors = one.end()
    checks.check(code == 130 and "error: interrupted" in errors and "the same command goes on with the others" in errors,
                 "Ctrl-C is told", errors)
    cluster.wait("the tasks end", lambda: not cluster.tasks(), 20)
    kept = one.points()
    two = Launched(program, cluster, folder, "cut", "--tasks", "4")
    two.wait_for(lambda: two.points() > kept + 3)
    two.process.kill()
    two.end()
    three = Launched(program, cluster, folder, "cut", "--tasks", "4")
    code, _, errors = three.end()
    checks.check(code == 0 and "wait or run already" in errors and "points were there from before" in errors,
                 "after a kill it takes over the tasks", errors)
    checks.check(files_of(one.out) == whole, "and ends with the same bytes")
    four = Launched(program, cluster, folder, "cut", "--tasks", "4")
    code, _, errors = four.end()
    checks.check(code == 0 and "submitted" not in errors and files_of(one.out) == whole, "what is all there is not submitted",
                 errors)


def check_other_studies(program, checks, folder, cluster):
    """All that simulate variants of an experiment, with the command's other options on its line."""
    write_files(folder, FILES)
    for name, (command, _) in STUDIES.items():
        alone = program.run(command, folder)
        launched = program.run([*command, "--out", f"{name} of slurm", "--launcher", "slurm", "--tasks", "2"], folder,
                               environment=cluster.environment, seconds=60)
        checks.check(launched.code == 0 and "to Slurm as job" in launched.stderr and launched.stdout == alone.stdout,
                     f"{name} on Slurm prints what it does on this machine", launched.stderr + launched.stdout)
    cluster.wait("the tasks end", lambda: not cluster.tasks(), 20)


def check_study(program, checks, folder, cluster):
    """The study of every night, as cron would start it."""
    if not all(shutil.which(tool) for tool in ("jq", "column")):
        print("SKIPPED: scripts/studies/nightly_slurm.sh: jq or column missing (scripts/setup jq bsdextrautils)")
        return
    done = subprocess.run([str(SOURCE / "scripts" / "studies" / "nightly_slurm.sh"), str(Path(folder, "night"))], cwd=folder,
                          capture_output=True, text=True, timeout=60 * PATIENCE,
                          env={**os.environ, **cluster.environment, "ORRERY": program.path, "SLURM": "--partition night --tasks 2",
                               "SWEEP": "configs/studies/smoke-sweep.yaml"})
    checks.check(done.returncode == 0 and "submitted 2 tasks to Slurm" in done.stderr and "A800/A100" in done.stdout
                 and len(done.stdout.splitlines()) == 13, "the nightly study runs on Slurm", done.stdout + done.stderr)


def main():
    program, checks = Program(sys.argv[1]), Checks()
    with scratch_folder() as folder:
        write_files(folder, {"sweep.yaml": SWEEP})
        check_options(program, checks, folder)
        cluster = Cluster(Path(folder, "slurm"))
        try:
            cluster.start_all()
        except Unavailable as reason:
            print(f"SKIPPED: sweeps on a real Slurm: {reason}")
            return checks.exit_code()
        with cluster:
            alone = program.run(["sweep", "sweep.yaml", "--out", "whole"], folder)
            whole = files_of(Path(folder, "whole"))
            checks.check(alone.code == 0 and len(whole) == POINTS + 5, "the sweep runs on this machine", alone.stderr)
            check_refused(program, checks, folder, cluster)
            check_whole(program, checks, folder, cluster, whole, alone.stdout)
            check_trouble(program, checks, folder, cluster, whole)
            check_node_lost(program, checks, folder, cluster, whole)
            check_cut_off(program, checks, folder, cluster, whole)
            check_other_studies(program, checks, folder, cluster)
            check_study(program, checks, folder, cluster)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
