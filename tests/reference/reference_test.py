#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""reference_test.py PROGRAM [--count N] [--seed S] [--jobs N]: operation by operation, random small jobs take the
times that an independent reference says, to the picosecond.

The reference is simulation.py and what it imports. It is written from the documents, in whole numbers, message by
message and rank by rank: it folds nothing and runs nothing ahead of the clock."""
from compare import difference, finish, for_each_seed, options_of, run, times_of_reference
from generate import Generator
from jobs import orrery_program


def difference_of(program, seed):
    job = Generator(seed).job()
    return difference(job, times_of_reference(job), run(program, job))


# Jobs that differed once: an aggregate that comes to a link together with a send, groups whose first member has not the lowest coordinates,
# changes of links behind the last event, bytes that connections share, messages without bytes in a queue, chunks that hold one another up, calls that end together with a message.
FOUND = (1151, 1202, 1745, 4063, 4948, 5532, 9582, 10350, 10961, 18023, 19582, 19824)


def main():
    options = options_of("Compares random small jobs with an independent reference.", 500)
    checks = orrery_program.Checks()
    program = orrery_program.Program(options.program)
    for seed in FOUND:
        different = difference_of(program, seed)
        checks.check(not different, f"job of seed {seed}", different)
    for number, different in enumerate(for_each_seed(options, difference_of)):
        checks.check(not different, f"job of seed {options.seed + number}", different)
    finish(checks)


if __name__ == "__main__":
    main()
