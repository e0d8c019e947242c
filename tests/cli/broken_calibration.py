# SPDX-License-Identifier: MIT
"""Broken profiles and measured steps of a calibration."""
import json

from error_row import Row

TITLE = "Profiles and measured steps of a calibration"

JOB = """\
cluster: dgx-h100
nodes: 2
workload:
  model: llama3-8b
  precision: bf16
  batch: {global: 64, micro: 1}
  parallel: {tensor: 1, pipeline: 1, data: 16}
"""
TABLE = """\
table: two-jobs
title: Steps of two jobs
source: made for this test
measured: medians of logged steps
figure: time
scored: false
why_not: made up
EXPERIMENT
columns: [workload.batch.global, OTHER]
rows:
  - [one, 64, FIRST, 3.4]
  - [two, 128, SECOND, 6.8]
"""
EXPERIMENT = """\
experiment:
  cluster: dgx-h100
  nodes: 2
  workload:
    model: llama3-8b
    precision: bf16
    parallel: {tensor: 1, pipeline: 1, data: 16}
"""


def event(category, name, at, takes, **arguments):
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 7, "ts": at, "dur": takes, "args": arguments}


def events(takes=4):
    made = []
    for i in range(60):
        made.append(event("cuda_runtime", "cudaLaunchKernel", 30 * i, 5, correlation=i))
        made.append(event("kernel", "kernel", 30 * i + 6, takes, device=0, stream=7, correlation=i))
    return made


def profile(what, made, *message, device="NVIDIA H100 80GB HBM3", cut=None):
    text = json.dumps({"deviceProperties": [{"name": device}], "traceEvents": made}, indent=1)
    return Row(what, 2, list(message), ["calibrate", "profile.json", "--cluster", "dgx-h100"], {"profile.json": text[:cut] + "\n"})


def step(what, measured, *message):
    return Row(what, 2, list(message), ["calibrate", "--job", "job.yaml", "--measured", measured], {"job.yaml": JOB})


def steps(what, key, first, second, *message, experiment=EXPERIMENT):
    """A table of two steps that differ by one key, too."""
    table = TABLE
    for name, value in (("EXPERIMENT\n", experiment), ("OTHER", key), ("FIRST", first), ("SECOND", second)):
        table = table.replace(name, value)
    return Row(what, 2, list(message), ["calibrate", "steps.yaml"], {"steps.yaml": table})


LOG = """\
# nThread 1 nGpus 4 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
# Using devices
#  Rank  0 Group  0 Pid  1 on  node0 device  0 [0x1b] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid  1 on  node0 device  1 [0x1c] NVIDIA H100 80GB HBM3
#  Rank  2 Group  0 Pid  1 on  node0 device  2 [0x1d] NVIDIA H100 80GB HBM3
#  Rank  3 Group  0 Pid  1 on  node0 device  3 [0x1e] NVIDIA H100 80GB HBM3
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
           8             2     float     sum      -1    12.10    0.00    0.00      0    12.00    0.00    0.00      0
     1048576        262144     float     sum      -1    30.10   34.84   52.26      0    30.00   34.95   52.43      0
"""

ROWS = [
    Row("Devices that are not those of the log", 2, ["the log is of 4 ranks on 1 host, but --gpus names 3 devices of each"],
        ["calibrate", "all_reduce.log", "--cluster", "dgx-h100", "--op", "all_reduce", "--gpus", "0,1,2"], {"all_reduce.log": LOG}),
    profile("A profile that was cut off", events(), "was the profiler stopped while it wrote?", cut=-40),
    profile("A profile of the host alone", [one for one in events() if one["cat"] != "kernel"],
            "no operation of a device among the events"),
    profile("A kernel whose time is no number", events("nan"), "has no ts and dur in microseconds"),
    profile("A profile of another device", events(), "measured on NVIDIA A100-SXM4-80GB; the cluster has h100-sxm",
            device="NVIDIA A100-SXM4-80GB"),
    step("A measured step without a unit", "19.5", "invalid measurement of a step '19.5'"),
    step("A measured step in furlongs", "5 furlongs", "invalid measurement of a step '5 furlongs'"),
    step("An MFU above 1", "400 MFU", "an MFU of 400 is above 1"),
    step("A rate above the device's peak", "1100 TFLOP/s",
         "1100 TFLOP/s are above the peak of the device in the job's precision, 989"),
    step("A step of a nanosecond", "1 ns", "'1 ns' would be a step of 1e-09 s", "is the unit right?"),
    step("A step of another job", "405 s", "took 405.0 s, and ", "no constant is fitted to it"),
    steps("Steps of two softwares", "workload.software", "megatron-2025", "fsdp-2024", "ran with",
          "calibrate one software at a time"),
    steps("Steps of two devices", "cluster", "dgx-h100", "dgx-a100", "ran on a100", "calibrate one cluster at a time"),
    steps("Steps without their experiment", "nodes", "2", "2", "a table of measured steps needs the experiment of its rows",
          experiment=""),
]
