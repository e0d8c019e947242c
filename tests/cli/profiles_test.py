#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""profiles_test.py PROGRAM: profiles that say their rank, but not how many ranks there are, are the ranks of a world that
holds them all and every group that they note."""
import json
import sys

from orrery_program import run_parts

EXPERIMENT = "cluster: dgx-a100\nworkload: {{profile: [{}]{}}}\n"


def profile(rank, group=0, world=None):
    """20 us of computing, and an all-reduce of 4 kB in a group of `group` ranks."""
    events = [{"ph": "X", "cat": "kernel", "name": "gemm", "ts": 100, "dur": 20, "pid": 0, "tid": 7,
               "args": {"device": 0, "stream": 7, "correlation": 1}}]
    if group:
        events.append({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "ts": 130, "dur": 9, "pid": 0, "tid": 7,
                       "args": {"device": 0, "stream": 7, "correlation": 2, "Collective name": "allreduce", "dtype": "Float",
                                "In msg nelems": 1024, "Out msg nelems": 1024, "Group size": group,
                                "Process Group Name": "0", "Process Group Ranks": str(list(range(group)))}})
    info = {"rank": rank} if world is None else {"rank": rank, "world_size": world}
    return json.dumps({"distributedInfo": info, "traceEvents": events})


def run(program, folder, profiles, more=""):
    for rank, text in profiles.items():
        (folder / f"{rank}.json").write_text(text)
    (folder / "job.yaml").write_text(EXPERIMENT.format(", ".join(f"{rank}.json" for rank in profiles), more))
    return program.run(["run", "job.yaml", "--json", "-"], folder)


def check_worlds(program, checks, folder):
    said = "no profile says how many ranks there are: taken as {}"
    two = run(program, folder, {0: profile(0), 1: profile(1)})
    checks.check(two.code == 0 and said.format(2) in two.stderr, "two ranks", two.stderr)
    if two.code == 0:
        result = json.loads(two.stdout)
        checks.check((result["ranks"], result["iteration_time_s"]) == (2, 20e-6), "two ranks that compute", result["ranks"])
    known = run(program, folder, {0: profile(0, world=2), 1: profile(1)})
    checks.check(known.code == 0 and "no profile says" not in known.stderr, "one of them says it", known.stderr)
    lacking = run(program, folder, {0: profile(0, group=4), 1: profile(1, group=4)})
    checks.check(lacking.code == 2 and "the world is 4 ranks" in lacking.stderr, "a group of four is a world of four",
                 lacking.stderr)
    all_four = run(program, folder, {0: profile(0, group=4), 1: profile(1, group=4)}, ", symmetric: true")
    checks.check(all_four.code == 0 and json.loads(all_four.stdout)["ranks"] == 4, "two stand for four", all_four.stderr)


if __name__ == "__main__":
    sys.exit(run_parts(check_worlds))
