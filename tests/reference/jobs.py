# SPDX-License-Identifier: MIT
"""A job: what every rank does, and the files that the program reads it from."""
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import orrery_program  # noqa: E402

make_traces = orrery_program.load_make_traces()
OPERATIONS = {"all_reduce": 0, "reduce": 1, "all_gather": 2, "gather": 3, "scatter": 4, "broadcast": 5, "all_to_all": 6,
              "reduce_scatter": 7, "barrier": 9}
WITH_ROOT = ("reduce", "gather", "scatter", "broadcast")


@dataclass
class Operation:
    """A node of a rank's graph; its id is its place in the rank's program.

    kind: `compute` or `host` (takes `duration` ps), `send` or `receive` (`size` bytes to or from rank `peer` with
    `tag`), or the name of a collective (`size` bytes on communicator `group`). `after`: ids that must be done
    before."""
    kind: str
    after: list = field(default_factory=list)
    duration: int = 0
    size: int = 0
    peer: int = 0
    tag: int = 0
    group: str = ""
    root: int = 0
    stream: int = 0


@dataclass
class Collectives:
    """Settings of the fixed library. `algorithms`: {operation: names, one for each dimension}."""
    algorithms: dict = field(default_factory=dict)
    chunks: int = 1
    active_chunks: int = 1
    queue: str = "fifo"

    def algorithm(self, operation, dimension, topology, size):
        """The algorithm on a dimension of some topology for so many members; dimension None: of a logical ring."""
        if dimension is not None and operation in self.algorithms:
            return self.algorithms[operation][dimension]
        if operation == "all_to_all" or topology == "fully-connected":
            return "direct"
        if topology == "switch":
            return "halving-doubling" if size & (size - 1) == 0 else "ring"
        return "ring" if dimension is None else "bidirectional-ring"

    def yaml(self):
        return json.dumps({"library": "fixed", **vars(self)})


@dataclass
class Job:
    """`programs[r]` is what rank r does, on device `devices[r]`; `groups` are the communicators, lists of ranks."""
    machine: object
    programs: list
    groups: dict
    devices: list
    model: str = "flow"
    granularity: str = "step"
    slower: dict = field(default_factory=dict)  # rank: how many percent of its time each computation takes
    late: dict = field(default_factory=dict)  # rank: time before which it starts nothing
    # {(number of a dimension with a switch, "up" or "down"): [(time, percent of the rate from then on)]}; flow alone
    changes: dict = field(default_factory=dict)
    collectives: Collectives = field(default_factory=Collectives)

    def write(self, folder):
        """Writes experiment.yaml, the traces and groups.json."""
        traces = [trace_of(program) for program in self.programs]
        make_traces.write_job(Path(folder), traces, self.groups)
        (Path(folder) / "experiment.yaml").write_text(
            f"cluster: {self.machine.yaml()}\n"
            f"network: {{model: {self.model}, granularity: {self.granularity}}}\n"
            f"perturb: {json.dumps({'ranks': self.perturbed(), 'links': self.changing_links()})}\n"
            f"placement: {json.dumps(self.devices)}\n"
            f"collectives: {self.collectives.yaml()}\n"
            "workload: {chakra: {prefix: rank, groups: groups.json}}\n")

    def perturbed(self):
        """The value of `perturb.ranks`."""
        return {rank: {"compute": self.slower.get(rank, 100) / 100, "start": f"{self.late.get(rank, 0)} ps"}
                for rank in sorted({*self.slower, *self.late})}

    def changing_links(self):
        """The value of `perturb.links`."""
        return {f"dim{dimension}.{way}": {"at": [{"time": f"{time} ps", "bandwidth": f"{percent} %"}
                                                 for time, percent in changes]}
                for (dimension, way), changes in self.changes.items()}

    def duration(self, rank, operation):
        """Time of a computation on a rank: rounded half up to a picosecond, and at least one."""
        return max(1, (operation.duration * self.slower.get(rank, 100) + 50) // 100)


def trace_of(program):
    trace = make_traces.Trace()
    for number, operation in enumerate(program):
        name = f"{operation.kind}{number}"
        stream = {"stream": operation.stream} if operation.stream else {}
        if operation.kind in ("compute", "host"):
            trace.node(make_traces.COMP, name, operation.after, micros=max(1, round(operation.duration / 10**6)),
                       duration_picos=operation.duration, is_cpu_op=operation.kind == "host", **stream)
        elif operation.kind == "send":
            trace.send(name, operation.after, operation.size, operation.peer, operation.tag)
        elif operation.kind == "receive":
            trace.receive(name, operation.after, operation.size, operation.peer, operation.tag)
        else:
            root = operation.root if operation.kind in WITH_ROOT else None
            trace.collective(name, operation.after, OPERATIONS[operation.kind], operation.size, operation.group, root)
    return trace
