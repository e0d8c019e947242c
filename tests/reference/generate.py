# SPDX-License-Identifier: MIT
"""Small random jobs: a machine, and a program for each of its ranks.

Operations are drawn in one order for the whole job, and each is given to the ranks that take part in it. So the ids
of a communicator's calls, and of a pair's messages, ascend alike on all ranks, and dependencies lead to smaller ids:
no rank can wait for ever."""
import random

from algorithms import ALGORITHMS
from jobs import WITH_ROOT, Collectives, Job, Operation
from machine import Cluster, Dimension, Machine

COLLECTIVES = ("all_reduce", "reduce", "all_gather", "gather", "scatter", "broadcast", "all_to_all", "reduce_scatter",
               "barrier")
MICROSECOND = 10**6  # ps
MOST_DEVICES = 12


class Generator:
    """Draws jobs; the same seed gives the same jobs."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def job(self):
        draw = self.random
        machine = self.machine()
        ranks = draw.randint(2, machine.devices)
        devices = draw.sample(range(machine.devices), ranks) if draw.random() < 0.5 else list(range(ranks))
        groups = self.groups(machine, devices)
        programs = [[] for _ in range(ranks)]
        for _ in range(draw.randint(2, 12)):
            draw.choice((self.add_computation, self.add_message, self.add_call, self.add_call))(programs, groups)
        for program in programs:
            if not program:  # a trace has at least one node
                self.add(program, "compute", duration=MICROSECOND)
        job = Job(machine, programs, groups, devices, draw.choice(("flow", "flow", "alpha-beta", "fifo")),
                  draw.choice(("step", "step", "phase")), collectives=self.collectives(machine))
        for rank in range(ranks):
            if draw.random() < 0.1:
                job.slower[rank] = draw.randint(50, 300)
            if draw.random() < 0.1:
                job.late[rank] = draw.randint(1, 5 * MICROSECOND)
        switches = [] if isinstance(machine, Cluster) else [
            index for index, dimension in enumerate(machine.dimensions) if dimension.topology == "switch"]
        if job.model == "flow" and switches and draw.random() < 0.3:
            times = sorted(draw.sample(range(1, 10 * MICROSECOND), draw.randint(1, 3)))
            changes = [(time, draw.randint(20, 100)) for time in times]
            job.changes[draw.choice(switches), draw.choice(("up", "down"))] = changes
        return job

    def collectives(self, machine):
        draw = self.random
        settings = Collectives()
        if draw.random() < 0.3:
            settings.chunks, settings.active_chunks = draw.randint(1, 5), draw.randint(1, 3)
            settings.queue = draw.choice(("fifo", "lifo"))
        if draw.random() < 0.5:
            for operation in draw.sample(COLLECTIVES, draw.randint(1, len(COLLECTIVES))):
                settings.algorithms[operation] = [self.algorithm(operation, dimension)
                                                  for dimension in machine.dimensions]
        return settings

    def machine(self):
        while True:
            machine = self.cluster() if self.random.random() < 0.25 else self.abstract_machine()
            if machine.devices <= MOST_DEVICES:
                return machine

    def dimension(self, most):
        draw = self.random
        return Dimension(draw.choice(("switch", "ring", "fully-connected")), draw.randint(2, most), self.bandwidth(400),
                         draw.randint(1, 3000) * 1000, draw.choice((100, 80, 77)))

    def bandwidth(self, most):
        """In bytes per second; mostly of real links, sometimes so little that each rounding of a share is seen."""
        if self.random.random() < 0.1:
            return self.random.randint(2000, 10000)
        return self.random.randint(1, most) * 10**9 + self.random.choice((0, self.random.randrange(10**9)))

    def abstract_machine(self):
        return Machine([self.dimension(self.random.choice((5, 9))) for _ in range(self.random.randint(1, 3))])

    def cluster(self):
        draw = self.random
        node = self.dimension(4)
        between = Dimension("switch", draw.randint(2, 4), self.bandwidth(50), draw.randint(1, 2000) * 1000)
        nics = draw.choice([count for count in range(1, node.size + 1) if node.size % count == 0])
        return Cluster([node, between], nics=nics, host_bandwidth=self.bandwidth(60),
                       host_latency=draw.randint(1, 1000) * 1000)

    def algorithm(self, operation, dimension):
        """An algorithm for any group of devices along a dimension."""
        sizes = range(2, dimension.size + 1) if dimension.topology == "ring" else [dimension.size]
        is_power = all(size & (size - 1) == 0 for size in sizes)
        return self.random.choice([name for name, (_, operations, needs_power) in ALGORITHMS.items()
                                   if operation in operations and (is_power or not needs_power)])

    def groups(self, machine, devices):
        """Communicators: lines and planes of the machine where ranks are on all of their devices, and any ranks."""
        draw = self.random
        rank_on = {device: rank for rank, device in enumerate(devices)}
        groups = {}
        for number in range(1, draw.randint(1, 3) + 1):
            fixed = draw.choice(devices)
            free = [draw.random() < 0.6 for _ in machine.dimensions]
            place = machine.coordinates(fixed)
            part = [device for device in range(machine.devices)
                    if all(is_free or a == b for is_free, a, b in zip(free, machine.coordinates(device), place))]
            if len(part) > 1 and all(device in rank_on for device in part):
                ranks = [rank_on[device] for device in part]
            else:
                ranks = draw.sample(range(len(devices)), draw.randint(2, len(devices)))
            if draw.random() < 0.5:
                draw.shuffle(ranks)
            groups[str(number)] = ranks
        return groups

    def size(self):
        return self.random.choice((1, self.random.randint(1, 1000), self.random.randint(1, 10**6)))

    def after(self, program):
        """Ids that an operation depends on: none, the last one, or some of all."""
        draw = self.random
        if not program or draw.random() < 0.2:
            return []
        if draw.random() < 0.6:
            return [len(program) - 1]
        return sorted(draw.sample(range(len(program)), min(len(program), draw.randint(1, 3))))

    def add(self, program, kind, **facts):
        program.append(Operation(kind, self.after(program), **facts))

    def add_computation(self, programs, _):
        draw = self.random
        for program in programs:
            if draw.random() < 0.7:
                kind = draw.choice(("compute", "compute", "host"))
                self.add(program, kind, duration=draw.randint(1, 5 * MICROSECOND),
                         stream=draw.choice((0, 0, 7)))

    def add_message(self, programs, _):
        draw = self.random
        source, target = draw.sample(range(len(programs)), 2)
        size, tag = self.size(), draw.randint(0, 2)
        self.add(programs[source], "send", size=size, peer=target, tag=tag)
        self.add(programs[target], "receive", size=size, peer=source, tag=tag)

    def add_call(self, programs, groups):
        draw = self.random
        group = draw.choice(list(groups))
        kind = draw.choice(COLLECTIVES)
        size = 0 if kind == "barrier" else self.size()
        root = draw.choice(groups[group]) if kind in WITH_ROOT else 0
        for rank in groups[group]:
            self.add(programs[rank], kind, size=size, group=group, root=root)
