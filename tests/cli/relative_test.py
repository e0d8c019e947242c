#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""relative_test.py PROGRAM: KEY*=FACTOR, x2 and ranges give to the picosecond what the product written out gives, also
of keys in shipped files and of keys that are only defaults."""
import json
import re
import sys

from orrery_program import SOURCE, run_parts

JOB = SOURCE / "configs" / "studies" / "llama2-13b-four-nodes.yaml"  # on dgx-a100: 300 GB/s of NVLink
PAIRS = [
    ("cluster.node.fabric.bandwidth*=2", "cluster.node.fabric.bandwidth=600 GB/s"),
    ("cluster.node.fabric.bandwidth=x0.5", "cluster.node.fabric.bandwidth=150 GB/s"),
    ("cluster.node.nics.bandwidth*=1.1", "cluster.node.nics.bandwidth=220 Gb/s"),
    ("workload.batch.global*=2", "workload.batch.global=128"),
    # by default: of a link's kind, of the device, of the software that its generation has
    ("cluster.node.nics.host_bandwidth*=2", "cluster.node.nics.host_bandwidth=63 GB/s"),
    ("cluster.node.device.compute.launch*=10", "cluster.node.device.compute.launch=22 us"),
    ("workload.iterations*=2", "workload.iterations=2"),
]
SWEEP = """experiment: {job}
vary:
  - {{key: cluster.node.fabric.bandwidth, values: {values}}}
"""


def time_of(program, folder, *settings):
    arguments = [word for setting in settings for word in ("--set", setting)]
    outcome = program.run(["run", str(JOB), *arguments, "--json", "-"], folder)
    return json.loads(outcome.stdout).get("iteration_time_s")


def check_settings(program, checks, folder):
    before = time_of(program, folder)
    for relative, written in PAIRS:
        times = [time_of(program, folder, setting) for setting in (relative, written)]
        checks.check(times[0] is not None and times[0] == times[1], f"{relative} is {written}", times)
    checks.check(time_of(program, folder, PAIRS[0][0]) < before, "twice the bandwidth is faster")
    software = time_of(program, folder, "workload.software.rates.gemm*=0.5")
    shipped = float(re.search(r"\n  gemm: ([0-9.]+)", (SOURCE / "configs" / "software" / "megatron-2022.yaml").read_text())[1])
    named = time_of(program, folder, "workload.software=megatron-2022", f"workload.software.rates.gemm={shipped / 2:g}")
    checks.check(software == named, "of software taken by default nothing else changes", (software, named))


def check_idle(program, checks, folder):
    """Settings that another key overrules, or that the job has no use for, are named; those that count are not."""
    for software, setting, expected in (
            ("fsdp-2024", "workload.software.rates.gemm=0.5", "'workload.software.rates_of.hopper.gemm' holds on"),
            ("megatron-2024", "workload.software.host.router=9", "the model has no experts"),
            ("megatron-2022", "workload.software.rates.gemm=0.5", "")):
        outcome = program.run(["run", str(JOB), "--set", "cluster=dgx-h100", "--set", f"workload.software={software}",
                               "--set", setting], folder)
        key = setting.split("=")[0]
        found = f"--set {setting}: warning: '{key}' changes nothing: {expected}" in outcome.stderr if expected else (
            "changes nothing" not in outcome.stderr)
        checks.check(outcome.code == 0 and found, f"{software}: {setting}", outcome.stderr)


def sweep_times(program, folder, values):
    (folder / "sweep.yaml").write_text(SWEEP.format(job=JOB, values=values))
    outcome = program.run(["sweep", "sweep.yaml", "--json", "-"], folder)
    document = json.loads(outcome.stdout)
    return [(point["settings"]["bandwidth"], point.get("iteration_time_s")) for point in document.get("points", [])]


def check_sweeps(program, checks, folder):
    by_hand = [time for _, time in sweep_times(program, folder, "[150 GB/s, 300 GB/s, 600 GB/s]")]
    for values in ("[x0.5, x1, x2]", "{from: x0.5, to: x2, factor: 2}", "{from: 150 GB/s, to: 0.6 TB/s, factor: 2}"):
        points = sweep_times(program, folder, values)
        checks.check([time for _, time in points] == by_hand and len(set(by_hand)) == 3, f"values: {values}", points)
    labels = [label for label, _ in sweep_times(program, folder, "{from: x0.5, to: x2, factor: 2}")]
    checks.check(labels == ["x0.5", "x1", "x2"], "points are called by their factors", labels)


if __name__ == "__main__":
    sys.exit(run_parts(check_settings, check_idle, check_sweeps))
