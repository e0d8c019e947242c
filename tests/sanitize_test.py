#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""sanitize_test.py BUILD: the parts of scripts/test --sanitize have every suite that ctest knows in this build folder, each case once,
and none takes longer than it may; how a program ended is told in words."""
import collections
import json
import subprocess
import sys

import sanitize


def main(build):
    shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], stdout=subprocess.PIPE, check=True).stdout
    suites = [test["name"] for test in json.loads(shown)["tests"]]
    parts, loads = sanitize.asan_parts(suites)
    dealt = collections.Counter(piece for part in parts for piece in part)
    wanted = [(name, shard, sanitize.SHARDS.get(name, 1)) for name in suites for shard in range(sanitize.SHARDS.get(name, 1))]
    problems = [f"{piece} is in {dealt[piece]} parts" for piece in wanted if dealt[piece] != 1]
    problems += [f"part {i} takes {load} s" for i, load in enumerate(loads, 1) if load > sanitize.MOST_SECONDS]
    problems += [f"'{name}' is no suite" for names in (sanitize.SECONDS, sanitize.SHARDS, sanitize.TSAN_CASES, sanitize.TSAN_SUITES,
                                                       sanitize.VALGRIND_SUITES) for name in names if name not in suites]
    problems += [f"{suite} has no {file}.cpp" for suite, files in sanitize.TSAN_CASES.items() for file in files
                 if not list((sanitize.SOURCE / "tests" / suite).rglob(f"{file}.cpp"))]
    if sum(dealt.values()) != len(wanted) or len(suites) < 50:
        problems.append(f"{sum(dealt.values())} pieces of {len(suites)} suites")
    problems += [f"{code} is told as '{told}'" for code, wanted in ((1, "exit code 1"), (99, "exit code 99"), (-11, "killed by SIGSEGV"),
                                                                    (134, "killed by SIGABRT"), (-9, "killed by SIGKILL, as for want of memory"))
                 if (told := sanitize.how_it_ended(code)) != wanted]
    print(*problems or [f"{len(suites)} suites in {len(parts)} parts"], sep="\n")
    return 1 if problems else 0


sys.exit(main(sys.argv[1]))
