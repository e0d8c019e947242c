#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""laws_test.py PROGRAM [--count N] [--seed S] [--jobs N]: random small jobs keep the laws of physics, and change as
they must when the question changes.

Always: nothing arrives before it can, no rank computes faster than its device, and ranks that are numbered otherwise
take the same times. Where no rank has a choice and nothing is shared, more bandwidth, less latency and shorter
computations never make a job longer, and a machine that is twice as fast in everything takes half the time. Elsewhere
a better machine may make it longer (docs/anomalies.md): such jobs are counted, and must stay rare.
"""
import copy
import dataclasses

from compare import finish, for_each_seed, options_of, run
from generate import Generator
from jobs import WITH_ROOT, orrery_program
from machine import Cluster
from network import PICOSECONDS, rounded_up

ROUNDING = 2000  # ps, of all that is rounded on the longest way through a job
RARE = 0.05  # of jobs that have a choice or share links
FROM_ALL = ("all_reduce", "all_gather", "all_to_all", "reduce_scatter", "barrier")


# --- Bounds that hold for every job ---------------------------------------------------------------------------------

def pairs_of_messages(job):
    """((rank, node) of the send, the same of its receive) of all messages: the k-th of a pair with a tag meets the
    k-th."""
    sends, receives = {}, {}
    for rank, program in enumerate(job.programs):
        for node, operation in enumerate(program):
            if operation.kind == "send":
                sends.setdefault((rank, operation.peer, operation.tag), []).append((rank, node))
            elif operation.kind == "receive":
                receives.setdefault((operation.peer, rank, operation.tag), []).append((rank, node))
    return [pair for key in sends for pair in zip(sends[key], receives[key])]


def calls(job):
    """Lists of (rank, node), one for each call of a communicator."""
    found = {}
    for rank, program in enumerate(job.programs):
        counts = {}
        for node, operation in enumerate(program):
            if operation.group:
                counts[operation.group] = counts.get(operation.group, -1) + 1
                found.setdefault((operation.group, counts[operation.group]), []).append((rank, node))
    return list(found.values())


def relayed_latencies(ranks, latency):
    """{(source, target): least latency, by way of other ranks where that is less}."""
    least = {(source, target): latency(source, target) if source != target else 0 for source in ranks for target in ranks}
    for between in ranks:
        for source in ranks:
            for target in ranks:
                least[source, target] = min(least[source, target], least[source, between] + least[between, target])
    return least


def broken_bounds(job, times):
    """The laws of physics that do not hold, as text."""
    machine, broken = job.machine, []

    def latency(source, target):
        return sum(machine.links[link].latency for link in machine.route(job.devices[source], job.devices[target]))

    for rank, program in enumerate(job.programs):
        for node, operation in enumerate(program):
            start, end = times[rank, node]
            if operation.kind in ("compute", "host") and end - start != job.duration(rank, operation):
                broken.append(f"{node} of rank {rank} takes {end - start} and not {job.duration(rank, operation)}")
            broken += [f"{node} of rank {rank} starts before {before} is done" for before in operation.after
                       if times[rank, before][1] > start]
    for (source, send), (target, receive) in pairs_of_messages(job):
        rate = min(machine.links[link].rate for link in machine.route(job.devices[source], job.devices[target]))
        least = rounded_up(job.programs[source][send].size * PICOSECONDS, rate) + latency(source, target)
        if times[target, receive][1] < times[source, send][0] + least:
            broken.append(f"{receive} of rank {target} ends before its message can be there")
    for members in calls(job):
        first = job.programs[members[0][0]][members[0][1]]
        relayed = relayed_latencies([rank for rank, _ in members], latency)
        for rank, node in members:
            sources = members if first.kind in FROM_ALL else []
            if first.kind in ("broadcast", "scatter"):
                sources = [member for member in members if member[0] == first.root]
            elif first.kind in WITH_ROOT and rank == first.root:
                sources = members
            for source, before in sources:
                if times[rank, node][1] < times[source, before][0] + relayed[source, rank]:
                    broken.append(f"{node} of rank {rank} ends before anything of rank {source} can be there")
    return broken


# --- The same job, asked otherwise ----------------------------------------------------------------------------------

def renumbered(job, order):
    """The job with rank r as rank order[r], on the same device."""
    new = copy.deepcopy(job)
    for rank, program in enumerate(job.programs):
        new.programs[order[rank]] = copy.deepcopy(program)
        new.devices[order[rank]] = job.devices[rank]
        for operation in new.programs[order[rank]]:
            operation.peer, operation.root = order[operation.peer], order[operation.root]
    new.slower = {order[rank]: share for rank, share in job.slower.items()}
    new.late = {order[rank]: start for rank, start in job.late.items()}
    new.groups = {name: [order[rank] for rank in ranks] for name, ranks in job.groups.items()}
    return new


def with_machine(job, change):
    """The job on dimensions that `change` has changed."""
    dimensions = copy.deepcopy(job.machine.dimensions)
    for dimension in dimensions:
        change(dimension)
    new = copy.deepcopy(job)
    new.machine = dataclasses.replace(job.machine, dimensions=dimensions, links=[], between={})
    return new


def better_jobs(job):
    """{what is better: the job with it}."""

    def twice_as_wide(dimension):
        dimension.bandwidth *= 2

    def half_as_far(dimension):
        dimension.latency //= 2

    quicker = copy.deepcopy(job)
    for program in quicker.programs:
        for operation in program:
            operation.duration = rounded_up(operation.duration, 2)
    return {"bandwidth": with_machine(job, twice_as_wide), "latency": with_machine(job, half_as_far),
            "devices": quicker}


def in_turn(job):
    """The job with each operation after the one before it, so that no rank has a choice."""
    new = copy.deepcopy(job)
    for program in new.programs:
        for node, operation in enumerate(program):
            operation.after = [node - 1] if node else []
    return new


def twice_as_fast(job):
    """The job on links of twice the rate and half the latency, with computations and delays of half the time."""

    def change(dimension):
        dimension.bandwidth *= 2
        dimension.latency //= 2

    new = with_machine(better_jobs(job)["devices"], change)
    if isinstance(new.machine, Cluster):
        new.machine = dataclasses.replace(new.machine, host_bandwidth=2 * new.machine.host_bandwidth,
                                          host_latency=new.machine.host_latency // 2, links=[], between={})
    new.late = {rank: rounded_up(start, 2) for rank, start in job.late.items()}
    return new


def with_whole_rates(job):
    """The job on links that give messages all of their bandwidth, so that twice the bandwidth is twice the rate."""

    def change(dimension):
        dimension.efficiency = 100

    return with_machine(job, change)


def end_of(times):
    """Time at which a job is done."""
    if isinstance(times, str):
        raise RuntimeError(times)
    return max(end for _, end in times.values())


def findings(program, seed):
    """(what is broken, {what was better: whether the job took longer with it})."""
    generator = Generator(seed)
    job = generator.job()
    times = run(program, job)
    if isinstance(times, str):
        return [times], {}
    broken = broken_bounds(job, times)
    order = generator.random.sample(range(len(job.programs)), len(job.programs))
    again = run(program, renumbered(job, order))
    if isinstance(again, str) or any(again[order[rank], node] != time for (rank, node), time in times.items()):
        broken.append(f"renumbered as {order} it takes other times {again if isinstance(again, str) else ''}")
    longer = {name: end_of(run(program, better)) > end_of(times) for name, better in better_jobs(job).items()}
    job.model, job.changes = "alpha-beta", {}
    job.collectives.chunks = 1  # which go by queues, where they have a choice
    forced = in_turn(with_whole_rates(job))
    end = end_of(run(program, forced))
    broken += [f"in turn and with nothing shared, better {name} makes it longer"
               for name, better in better_jobs(forced).items() if end_of(run(program, better)) > end]
    twice = 2 * end_of(run(program, twice_as_fast(forced)))
    if abs(twice - end) > ROUNDING:
        broken.append(f"twice as fast in all it takes {twice / 2} in place of {end / 2} ps")
    return broken, longer


def main():
    options = options_of("Checks bounds, and how random small jobs change with what is asked.", 40)
    checks = orrery_program.Checks()
    anomalies = {}
    for number, (broken, longer) in enumerate(for_each_seed(options, findings)):
        checks.check(not broken, f"job of seed {options.seed + number}", "\n".join(broken))
        for name, is_longer in longer.items():
            anomalies.setdefault(name, []).append(is_longer)
    for name, found in anomalies.items():
        print(f"{sum(found)} of {len(found)} jobs take longer with better {name}")
        checks.check(sum(found) <= max(3, RARE * len(found)), f"jobs that take longer with better {name} are rare")
    finish(checks)


if __name__ == "__main__":
    main()
