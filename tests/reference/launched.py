# SPDX-License-Identifier: MIT
"""Hosts that launch kernels ahead of their devices, and computations that calls slow down (docs/rules.md, The host
and Contention): the part of the model that no trace has.

A call takes a fixed time from when its last member has come, a send from its start. Everything else, which operation
starts when, is as in simulation.py."""
from dataclasses import dataclass

from jobs import Operation
from machine import Machine
from network import rounded_up
from simulation import Simulation

WHOLE = 1 << 16  # parts that shares and speeds are counted in
PROCESSORS = 100  # of a device
MEMORY_RATE = 10**12  # bytes per second of a device


@dataclass
class Launched(Operation):
    """`kind` launched: a computation of several kernels that takes `duration` alone. The host is busy with it for
    `launches`; it ends no earlier than `span` after the host turned to it. `bound`: which share of its time, of
    WHOLE, needs multiprocessors; the rest needs memory bandwidth. `synchronises`: the host goes on when it is done;
    so of a `host` operation, and of a call."""
    launches: int = 0
    span: int = 0
    synchronises: bool = False
    bound: int = 0


@dataclass
class LaunchedJob:
    """Calls and sends take `call_time` and `send_time`, and hold processors; a call moves `call_rate` bytes a second
    in the memory of each member while its data move."""
    programs: list
    groups: dict
    call_time: int
    call_processors: int
    call_rate: int
    send_time: int
    send_processors: int
    machine, model, late, changes = Machine([]), "flow", {}, {}  # no links, whose messages are timed here

    @property
    def devices(self):
        return list(range(len(self.programs)))

    def duration(self, rank, operation):
        return operation.duration

    def text(self):
        """The job as launched_jobs reads it."""
        numbers = {name: number for number, name in enumerate(self.groups, 1)}
        lines = [f"job {len(self.programs)}", f"calls {self.call_time} {self.call_processors} {self.call_rate}",
                 f"sends {self.send_time} {self.send_processors}"]
        lines += [f"group {' '.join(map(str, ranks))}" for ranks in self.groups.values()]
        for rank, program in enumerate(self.programs):
            for op in program:
                facts = {"launched": [op.duration, op.launches, op.span, int(op.synchronises), op.bound],
                         "host": [op.duration, int(op.synchronises)],
                         "call": [numbers.get(op.group), int(op.synchronises)]}
                lines.append(" ".join(map(str, [op.kind, rank, *facts.get(op.kind, [op.peer]), *op.after])))
        return "\n".join(lines + ["end", ""])


def speed_beside(bound, processors, memory_rate):
    """Speed of a computation, of WHOLE, beside calls that hold so much of the device; they take half of it at most.
    How much longer either part of its time takes, the whole of it, and the speed are each rounded down to parts of
    WHOLE."""
    processors, memory_rate = min(processors, PROCESSORS // 2), min(memory_rate, MEMORY_RATE // 2)
    on_processors = WHOLE * PROCESSORS // (PROCESSORS - processors)
    in_memory = WHOLE * MEMORY_RATE // (MEMORY_RATE - memory_rate)
    return WHOLE * WHOLE // ((bound * on_processors + (WHOLE - bound) * in_memory) // WHOLE)


class Device:
    """The device of a rank: the computation that is under way, and who holds parts of the device."""

    def __init__(self, clock):
        self.clock = clock
        self.holders = {}  # who: (processors, memory rate)
        self.running = None

    def hold(self, who, processors, memory_rate):
        self.holders[who] = (processors, memory_rate)
        self.change()

    def release(self, who):
        del self.holders[who]
        self.change()

    def compute(self, operation, earliest_end, on_end):
        self.running = {"left": operation.duration * WHOLE, "speed": 0, "since": self.clock.now,
                        "bound": operation.bound, "earliest": earliest_end, "on_end": on_end,
                        "event": None}
        self.change()

    def change(self):
        """Brings what is left of the computation up to date, and moves its end."""
        running = self.running
        if running is None:
            return
        now = self.clock.now
        running["left"] = max(0, running["left"] - (now - running["since"]) * running["speed"])
        running["since"] = now
        running["speed"] = speed_beside(running["bound"], sum(held for held, _ in self.holders.values()),
                                        sum(rate for _, rate in self.holders.values()))
        end = max(now + rounded_up(running["left"], running["speed"]), running["earliest"])
        scheduled = running["event"]
        if scheduled is not None and scheduled[0] == end:
            return
        if scheduled is not None:
            self.clock.cancel(scheduled)
        running["event"] = self.clock.after(end - now, self.end)

    def end(self, now):
        running, self.running = self.running, None
        running["on_end"](now)


class SteadyCall:
    """A call that ends for all a fixed time after the last member has come."""

    def __init__(self, simulation, key, ranks):
        self.simulation, self.key, self.ranks = simulation, key, ranks
        self.entered, self.on_end = set(), []

    def waits_for_members(self):
        return len(self.entered) < len(self.ranks)

    def relieve(self, _):
        return False  # it has no chunks

    def enter(self, rank, on_end):
        job = self.simulation.job
        self.entered.add(rank)
        self.on_end.append(on_end)
        self.simulation.devices[rank].hold(self.key, job.call_processors, 0)
        if not self.waits_for_members():
            for member in self.ranks:
                self.simulation.devices[member].hold(self.key, job.call_processors, job.call_rate)
            self.simulation.clock.after(job.call_time, self.end)

    def end(self, now):
        for rank in self.ranks:
            self.simulation.devices[rank].release(self.key)
        for on_end in self.on_end:
            on_end()


class LaunchedSimulation(Simulation):
    """A job whose hosts launch kernels, and whose calls slow down what is computed beside them."""

    def __init__(self, job):
        for program in job.programs:
            wait_for_synchronisations(program)
        super().__init__(job)
        self.devices = [Device(self.clock) for _ in job.programs]

    def turned_to(self, rank, node):
        """Time at which the host turns to a node: it is through with the launches of all before it, and those that
        it waits for are done, one after the other."""
        first = next(i for i, op in enumerate(rank.program) if op.kind == "launched")
        # At the start, or behind barriers only: just so far ahead that the first computation does not wait.
        ahead = rank.program[first].span - rank.program[first].duration
        turns = -ahead
        for i, operation in enumerate(rank.program[:node]):
            turns += operation.launches
            if operation.synchronises:
                turns = max(turns, rank.end[i] - (ahead if i < first else 0))
        return turns

    def start(self, rank, node):
        operation = rank.program[node]
        if operation.kind == "launched":
            earliest = self.turned_to(rank, node) + operation.span
            self.devices[rank.number].compute(operation, earliest, lambda now: rank.ended(node, now))
        else:
            super().start(rank, node)

    def call_ended(self, rank, node):
        """A library's call ends for all members at once, who know it then."""
        rank.ended(node, self.clock.now)

    def start_send(self, rank, node, operation):
        self.devices[rank.number].hold(("send", node), self.job.send_processors, 0)
        super().start_send(rank, node, operation)

    def transfer(self, source, target, size, place, on_sent, on_arrived):
        def sent(now):
            self.devices[source].release(("send", place[-1]))
            on_sent(now)

        took = self.job.send_time + 1  # and a byte
        self.clock.after(took, sent)
        self.clock.after(took, on_arrived)

    def call(self, operation, number):
        key = (operation.group, number)
        if key not in self.calls:
            self.calls[key] = SteadyCall(self, key, self.job.groups[operation.group])
        return self.calls[key]


def wait_for_synchronisations(program):
    """A computation behind operations that the host waits for does not start before all of them are done."""
    waited_for = set()
    for node, operation in enumerate(program):
        if operation.kind == "launched":
            operation.after = sorted({*operation.after, *waited_for})
        if operation.synchronises:
            waited_for.add(node)
