#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""launched_test.py LAUNCHED_JOBS [--count N] [--seed S]: random small jobs whose hosts launch kernels, and whose
calls slow down what is computed beside them, take the times that the reference (launched.py) says, to the
picosecond."""
import copy
import random
import subprocess

from compare import finish, options_of
from jobs import orrery_program
from launched import MEMORY_RATE, PROCESSORS, WHOLE, Launched, LaunchedJob, LaunchedSimulation

MICROSECOND = 10**6  # ps


class Generator:
    """Draws jobs; the same seed gives the same job."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def job(self):
        draw = self.random
        ranks = draw.randint(2, 4)
        programs = [[] for _ in range(ranks)]
        groups = {str(number): draw.sample(range(ranks), draw.randint(2, ranks)) for number in (1, 2)}
        self.launch = draw.randint(1, 20 * MICROSECOND)
        self.is_ordered = draw.random() < 0.3
        self.host_synchronises = draw.choice((0.15, 0.5, 1))
        for _ in range(draw.randint(3, 15)):
            add = draw.choice((self.add_computations, self.add_computations, self.add_call, self.add_message))
            add(programs, groups)
        for program in programs:
            self.add_computation(program)
        return LaunchedJob(programs, groups, draw.randint(1, 60 * MICROSECOND), draw.randint(0, PROCESSORS),
                           draw.randint(0, MEMORY_RATE), draw.randint(0, 10 * MICROSECOND), draw.randint(0, 20))

    def after(self, program, synchronises=False):
        """What an operation depends on. In some jobs, as in generated programs, what the host waits for comes behind
        all that it has launched and waited for before; in the others it does so in any order."""
        draw = self.random
        after = set()
        if program and draw.random() < 0.7:
            after.update(draw.sample(range(len(program)), min(len(program), draw.randint(1, 2))))
        if synchronises and self.is_ordered:
            after.update(node for node, op in enumerate(program) if op.kind == "launched" or op.synchronises)
        return sorted(after)

    def add_computations(self, programs, _):
        for program in programs:
            if self.random.random() < 0.7:
                self.add_computation(program)

    def add_computation(self, program):
        draw = self.random
        if draw.random() < 0.2:
            synchronises = draw.random() < self.host_synchronises
            program.append(Launched("host", self.after(program, synchronises), draw.randint(1, 10 * MICROSECOND),
                                    synchronises=synchronises))
            return
        synchronises = draw.random() < 0.15
        after = self.after(program, synchronises)
        kernels = [draw.randint(1, 20 * MICROSECOND) for _ in range(draw.randint(1, 3))]
        bound = draw.choice((0, WHOLE, draw.randint(0, WHOLE)))
        span = max((k + 1) * self.launch + sum(kernels[k:]) for k in range(len(kernels)))
        program.append(Launched("launched", after, sum(kernels), launches=self.launch * len(kernels),
                                span=span, synchronises=synchronises, bound=bound))

    def add_call(self, programs, groups):
        group = self.random.choice(list(groups))
        synchronises = self.random.random() < 0.15
        for rank in groups[group]:
            programs[rank].append(Launched("call", self.after(programs[rank], synchronises), group=group,
                                           synchronises=synchronises))

    def add_message(self, programs, _):
        source, target = self.random.sample(range(len(programs)), 2)
        programs[source].append(Launched("send", self.after(programs[source]), peer=target))
        programs[target].append(Launched("receive", self.after(programs[target]), peer=source))


def times_of_program(path, jobs):
    """A list of {(rank, node): (start, end)}, one for each job; all in one run of the program."""
    text = "".join(job.text() for job in jobs)
    done = subprocess.run([path], input=text, capture_output=True, text=True, check=True)
    blocks = done.stdout.split("\n\n")[:-1]
    rows = [[[int(word) for word in line.split()] for line in block.splitlines()] for block in blocks]
    return [{(rank, node): (start, end) for rank, node, start, _, end in block} for block in rows]


def times_of_reference(job):
    return {(rank.number, node): (rank.start[node], rank.end[node])
            for rank in LaunchedSimulation(copy.deepcopy(job)).run().ranks for node in range(len(rank.program))}


def main():
    options = options_of("Compares random small jobs with launches and contention with an independent reference.", 500)
    checks = orrery_program.Checks()
    jobs = [Generator(seed).job() for seed in range(options.seed, options.seed + options.count)]
    answers = times_of_program(options.program, jobs)
    checks.check(len(answers) == len(jobs), "the program answers for every job", f"{len(answers)} of {len(jobs)}")
    for seed, (job, theirs) in enumerate(zip(jobs, answers), options.seed):
        ours = times_of_reference(job)
        differing = [f"{node} of rank {rank}, {job.programs[rank][node]}: reference {ours.get((rank, node))}, "
                     f"program {theirs.get((rank, node))}" for rank, node in sorted(ours)
                     if ours.get((rank, node)) != theirs.get((rank, node))]
        checks.check(not differing, f"job of seed {seed}", "\n".join(differing[:3]))
    finish(checks)


if __name__ == "__main__":
    main()
