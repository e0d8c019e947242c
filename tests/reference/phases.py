# SPDX-License-Identifier: MIT
"""The way of a collective through the dimensions of a machine (docs/rules.md, All-reduce by dimensions, Default
algorithms, Rings).

A group that has, of each dimension, all places or one goes along these dimensions, phase by phase; any other group is
one logical ring of its members in their order. A phase is run by lines of devices, each a schedule of its own."""
from dataclasses import dataclass

from algorithms import ALGORITHMS, TO_ROOT_AND_BACK, halving_doubling, part, ring

WITH_ROOT = ("reduce", "gather", "scatter", "broadcast")


@dataclass
class Phase:
    """Lines of members that run a schedule, all the same. `queue`: (dimension, number of the part of the data), what
    a rank does one chunk at a time on; `after`: numbers of phases that a member must be through with before it begins
    this one. A member in no line has nothing to do in the phase."""
    queue: tuple
    lines: list
    schedule: object
    after: list


def extent(dimension, places):
    """Position of the places that a group has along a dimension: `one`; `all` of them, or equally spaced all the way
    round a ring; equally spaced on a part of a ring, `open` at the ends; None if they are no part of the
    dimension."""
    if len(places) == 1:
        return "one"
    if len(places) == dimension.size:
        return "all"
    if dimension.topology != "ring":
        return None
    gaps = {b - a for a, b in zip(places, places[1:])}
    if len(gaps) > 1:
        return None
    return "all" if len(places) * gaps.pop() == dimension.size else "open"


def dimensions_of(machine, group):
    """The dimensions along which a group goes: {index: extent}, or None if it is one logical ring."""
    along = {}
    expected = 1
    for index, dimension in enumerate(machine.dimensions):
        places = sorted({machine.coordinates(device)[index] for device in group})
        kind = extent(dimension, places)
        if kind is None:
            return None
        expected *= len(places)
        if kind != "one":
            along[index] = kind
    return along if expected == len(group) else None


def lines_along(machine, group, index):
    """The lines of members of a group along one dimension, by place."""
    lines = {}
    for device in group:
        places = list(machine.coordinates(device))
        place, places[index] = places[index], 0
        lines.setdefault(tuple(places), {})[place] = device
    return [[line[place] for place in sorted(line)] for line in lines.values()]


def schedules_of(algorithm, topology, operation, n, size, root):
    """The schedules that run beside one another, each with its part of the data: two of a ring both ways, else
    one."""
    if algorithm == "halving-doubling":
        return [halving_doubling(operation, n, size, root, topology == "ring")]
    if algorithm != "bidirectional-ring":
        return [ALGORITHMS[algorithm][0](operation, n, size, root)]
    if n == 2 or operation == "barrier":
        return [ring(operation, n, size, root)]
    half = part(size, 2)
    return [ring(operation, n, half, root, 1), ring(operation, n, half, root, -1)]


class Plan:
    """The phases of one call. `choose(operation, dimension, topology, size)` names the algorithm of a line of so
    many."""

    def __init__(self, machine, group, operation, size, root, choose):
        self.machine, self.group, self.operation = machine, group, operation
        self.phases = []
        self.along = dimensions_of(machine, group)
        # The root of an all_reduce is the first member: along dimensions by place, of a logical ring by the group's
        # order.
        first = group[0] if self.along is None else min(group)
        self.root = first if root is None else root
        if self.along is None:
            algorithm = choose(operation, None, "ring", len(group))
            schedules = schedules_of(algorithm, "none", operation, len(group), size, group.index(self.root))
            self.phases = [Phase((-1, 0), [group], schedule, []) for schedule in schedules]
            return
        self.count = {index: len(lines_along(machine, group, index)[0]) for index in self.along}
        self.algorithm = {index: choose(operation, index, machine.dimensions[index].topology, self.count[index])
                          for index in self.along}
        before, dimension = [], None
        for index, step, amount in self.steps(size):
            before = self.add_phases(index, step, amount, before, dimension == index)
            dimension = index

    def steps(self, size):
        """(dimension, operation, bytes) of one phase after the other."""
        operation, along = self.operation, list(self.along)
        if operation == "all_reduce" and len(along) > 1:
            return self.steps_of_all_reduce(size)
        steps = []
        down = operation in ("all_gather", "scatter", "broadcast")
        for index in reversed(along) if down else along:
            steps.append((index, operation, size))
            if operation in ("reduce_scatter", "scatter"):
                size = part(size, self.count[index])
            elif operation in ("all_gather", "gather"):
                size *= self.count[index]
        return steps

    def steps_of_all_reduce(self, size):
        """Up the dimensions and down again: with shares, by way of the first member of each line, or as a whole."""
        up, down = [], []
        for index in self.along:
            algorithm = self.algorithm[index]
            if "reduce_scatter" in ALGORITHMS[algorithm][1]:
                up.append((index, "reduce_scatter", size))
                size = part(size, self.count[index])
                down.insert(0, (index, "all_gather", size))
            elif algorithm in TO_ROOT_AND_BACK and index != list(self.along)[-1]:
                up.append((index, "reduce", size))
                down.insert(0, (index, "broadcast", size))
            else:
                up.append((index, "all_reduce", size))
        return up + down

    def add_phases(self, index, operation, size, before, is_same_dimension):
        """Adds the phases of one step, and returns their numbers. Parts of the data come together between
        dimensions."""
        lines = self.lines_with_data(index)
        algorithm = self.algorithm[index]
        if algorithm == "bidirectional-ring" and self.along[index] == "open":
            algorithm = "ring"  # of two, both would fill the same links
        parts = schedules_of(algorithm, self.machine.dimensions[index].topology, operation, len(lines[0]), size,
                             self.place_of_root(index, lines))
        numbers = []
        for number, schedule in enumerate(parts):
            after = [before[number]] if is_same_dimension and len(before) == len(parts) else list(before)
            numbers.append(len(self.phases))
            self.phases.append(Phase((index, number), lines, schedule, after))
        return numbers

    def place_of_root(self, index, lines):
        """The root's place in its line; in other lines that of the member which has the root's coordinate."""
        at = self.machine.coordinates(self.root)[index]
        return [self.machine.coordinates(device)[index] for device in lines[0]].index(at)

    def lines_with_data(self, index):
        """The lines that take part. Where data go to a root, or come from it, they are at its place in the dimensions
        below."""
        below = [other for other in self.along if other < index and self.has_root(other)]
        root = self.machine.coordinates(self.root)
        return [line for line in lines_along(self.machine, self.group, index)
                if all(self.machine.coordinates(line[0])[other] == root[other] for other in below)]

    def has_root(self, index):
        is_by_root = self.operation == "all_reduce" and self.algorithm[index] in TO_ROOT_AND_BACK
        return self.operation in WITH_ROOT or is_by_root
