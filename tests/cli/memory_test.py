#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""memory_test.py PROGRAM: traces take no more memory than docs/import.md says.

Measures the peak of a run of small sets of traces and of larger ones: what a byte of a file, or a node, takes more is the difference of
the two, in which the program's own memory drops out. Ranks have traces that differ in the times of their nodes, so that none stands for
another."""
import gzip
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

from orrery_program import PATIENCE, Checks, load_make_traces, scratch_folder

make_traces = load_make_traces()

# Of docs/import.md: bytes of memory for a byte and for a node of a file that is being read, and for a node that has been.
READING_BYTE, READING_NODE = 2, 250
KEPT_NODE = 150
MOST_OF_EQUAL = 0.1  # of what another file with the same content takes, compared with its size
JOB = """\
cluster:
  device: a100-sxm-80gb
  dims:
    - {{topology: switch, size: {ranks}, bandwidth: 300 GB/s, latency: 700 ns}}
workload:
  chakra: {{prefix: rank}}
"""


def micros(rank, node):
    return 1 + (node * 7919 + rank * 104729) % 15000


def recorded(rank, nodes):
    """Nodes as recorders write them, at the least: a name, what they wait for, a time, an attribute."""
    trace = make_traces.Trace()
    for node in range(nodes):
        trace.node(make_traces.COMP, f"layer {node % 80} of the model", [node - 1] if node else [], micros=micros(rank, node), is_cpu_op=False)
    return trace.bytes()


def least(rank, nodes):
    """Nodes of the fewest bytes."""
    varint = make_traces.varint
    messages = [b"\x08" + varint(node) + b"\x18\x04\x38" + varint(1 + micros(rank, node) % 100) for node in range(nodes)]
    return b"".join(varint(len(message)) + message for message in [make_traces.bytes_field(1, b"0.0.4"), *messages])


def as_json(rank, nodes):
    objects = [{"id": node, "name": f"layer {node % 80} of the model", "type": "COMP_NODE", "dataDeps": [node - 1] if node else [],
                "durationMicros": micros(rank, node), "attr": [{"name": "is_cpu_op", "boolVal": False}]} for node in range(nodes)]
    return "\n".join(json.dumps(value) for value in [{"version": "0.0.4"}, *objects]).encode()


def apart(work):
    """Does it in a process of its own: this one stays small, as what it starts counts the memory that it had as theirs."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit("memory_test: the traces could not be written")


class Runs:
    def __init__(self, program, folder):
        self.program, self.folder = os.path.abspath(program), Path(folder)

    def peak(self, contents, extension):
        """(memory at most, bytes of a trace before it is compressed) of a run of the traces that contents() gives, one for each rank."""
        for old in self.folder.iterdir():
            old.unlink()

        def write():
            for rank, content in enumerate(contents()):
                (self.folder / "size").write_text(str(len(content)))
                packed = gzip.compress(content, 1) if extension == "et.gz" else content
                (self.folder / f"rank.{rank}.{extension}").write_bytes(packed)
            (self.folder / "job.yaml").write_text(JOB.format(ranks=rank + 1))

        apart(write)
        with subprocess.Popen([self.program, "run", "job.yaml"], cwd=self.folder, stdout=subprocess.DEVNULL) as running:
            _, status, used = os.wait4(running.pid, 0)
            running.returncode = os.waitstatus_to_exitcode(status)
        if running.returncode != 0:
            sys.exit(f"memory_test: exit code {running.returncode}")
        return used.ru_maxrss * 1024, int((self.folder / "size").read_text())

    def of_distinct(self, write, ranks, nodes, extension):
        """The same, of ranks that have so many nodes each."""
        return self.peak(lambda: (write(rank, nodes) for rank in range(ranks)), extension)


def check_reading(runs, checks):
    """Two ranks, read one after the other: a node more of each file is one that is being read and two that are kept."""
    for what, write, nodes, extension in [("recorded", recorded, 40_000, "et"), ("compressed", recorded, 40_000, "et.gz"),
                                          ("least", least, 80_000, "et"), ("JSON", as_json, 30_000, "json")]:
        (few, few_bytes), (many, many_bytes) = (runs.of_distinct(write, 2, count, extension) for count in (nodes, 3 * nodes))
        memory, size = (many - few) / (2 * nodes), (many_bytes - few_bytes) / (2 * nodes)
        most = READING_BYTE * size + READING_NODE + 2 * KEPT_NODE
        print(f"{what}: {memory:.0f} bytes of memory for a node of {size:.0f} bytes in both files, at most {most:.0f}")
        checks.check(memory <= most, f"a node of {what} traces takes at most {most:.0f} bytes of memory", memory)
        checks.check(memory > 20, f"a node of {what} traces takes memory, or nothing is measured", memory)


def check_kept(runs, checks):
    """Files more of the same size: each is read as the others were, and kept."""
    nodes = 20_000
    (few, _), (many, size) = (runs.of_distinct(recorded, ranks, nodes, "et") for ranks in (8, 24))
    memory = (many - few) / (16 * nodes)
    print(f"kept: {memory:.0f} bytes of memory for a node of {size / nodes:.0f} bytes, at most {KEPT_NODE}")
    checks.check(memory <= KEPT_NODE, f"a node that has been read takes at most {KEPT_NODE} bytes of memory", memory)


def check_equal(runs, checks):
    (few, _), (many, size) = (runs.peak(lambda count=ranks: itertools.repeat(recorded(0, 60_000), count), "et") for ranks in (4, 32))
    share = (many - few) / 28 / size
    print(f"a file that is equal to another one takes {share:.1%} of its size")
    checks.check(share <= MOST_OF_EQUAL, "a file that is equal to another one takes hardly any memory", share)


def main():
    if PATIENCE != 1:
        print("memory_test: skipped: sanitizers take memory of their own")
        return 0
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # the program reads as many files at a time as it has cores
    checks = Checks()
    with scratch_folder() as folder:
        runs = Runs(sys.argv[1], folder)
        check_reading(runs, checks)
        check_kept(runs, checks)
        check_equal(runs, checks)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
