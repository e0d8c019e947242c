# SPDX-License-Identifier: MIT
"""A row of the table of broken inputs."""
from dataclasses import dataclass, field

from orrery_program import load_make_traces

make_traces = load_make_traces()

JOB = """\
cluster:
  device: a100-sxm-80gb
  dims:
    - {topology: switch, size: 2, bandwidth: 300 GB/s, latency: 700 ns}
workload:
  chakra: {prefix: rank}
"""


def small_trace():
    """Five microseconds of computing, then an all-reduce of 1 MiB over all ranks."""
    trace = make_traces.Trace()
    work = trace.node(make_traces.COMP, "work", [], micros=5, is_cpu_op=False)
    trace.collective("sum", [work], make_traces.ALL_REDUCE, 1 << 20, "")
    return trace.bytes()


@dataclass
class Row:
    what: str  # what is wrong, as tests/cli/errors.md shows it
    code: int  # expected exit code
    message: list  # texts that must be in the message
    arguments: list = field(default_factory=lambda: ["run", "job.yaml"])
    files: dict = field(default_factory=dict)  # on top of a sound job of two ranks; "rank.1.et": ABSENT takes one away
    answers: bool = False  # the message is the answer (check, lint) and stands on standard output


ABSENT = object()


def files_of(row):
    files = {"job.yaml": JOB, "rank.0.et": small_trace(), "rank.1.et": small_trace(), **row.files}
    return {name: content for name, content in files.items() if content is not ABSENT}
