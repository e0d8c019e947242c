#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""time_laws_test.py ORRERY: every time law that `orrery list algorithms` prints is what a simulation gives, for 2 to 33
ranks. The printed text itself is evaluated: exact laws hold to the rounding of the table, others from above."""
import csv
import json
import re
import sys
from pathlib import Path

from orrery_program import Checks, Program, scratch_folder

LATENCY = 700  # us
BANDWIDTH = 1000  # bytes per us
CLUSTER = """\
dims:
  - {{topology: fully-connected, size: {ranks}, bandwidth: 1 GB/s, latency: 700 us}}
device: a100-sxm-80gb
"""
ROUNDING = 0.02  # us: the table has two decimals, and shares are rounded up to whole bytes
WHOLE_SHARES = ("all_gather", "gather")  # S is a rank's own part, the table's size that of all


def as_python(law):
    """Of the words of a law: log2 and ceil as functions, products written out."""
    law = re.sub(r"floor\(log2\((\w)\)\)", r"FLOOR_LOG(\1)", law)
    law = re.sub(r"ceil\(log2\((\w)\)\)", r"CEIL_LOG(\1)", law)
    law = re.sub(r"log2\((\w)\)", r"CEIL_LOG(\1)", law)  # of powers of two
    law = re.sub(r"ceil\((.*?)/(\w+)\)", r"CEIL(\1, \2)", law)
    law = law.replace("max(", "MAX(")
    law = re.sub(r"(\d)\s*(?=[a-zA-Z(])", r"\1*", law)
    law = re.sub(r"\)\s*(?=[a-zA-Z(0-9])", r")*", law)
    return re.sub(r"\b([anSBpcm])(?=[a-zA-Z(])", r"\1*", law).replace("/b", "/BANDWIDTH")


def law_of(text, ranks):
    """What the text says for so many ranks: an expression, whether it is exact, and what S and c are."""
    halved = ", with ceil(S/2) for S where n > 2" in text
    text = text.replace(", with ceil(S/2) for S where n > 2", "")
    text = re.sub(r"[;,] p = ceil\(S/16\)|, W = 8|, where B counts the bits of 1 \.\. n-1", "", text)
    is_power = ranks & (ranks - 1) == 0
    whole_cases = re.fullmatch(r"(.*) for n = 2\^k > 2, at most with ceil\(log2\(n\)\) for log2\(n\) else", text)
    if whole_cases:
        return whole_cases[1], is_power and ranks > 2, halved, False
    cases = re.fullmatch(r"(.*?) for n = 2\^k[;,] (.*)", text)
    if not cases:
        return text, True, halved, False
    if is_power:
        return cases[1], True, halved, False
    other = cases[2].replace("else, ", "").replace("else ", "").replace(" else", "")
    of_corners = other.startswith("with m = 2^k < n and c = ceil(S/m), ")
    other = other.replace("with m = 2^k < n and c = ceil(S/m), ", "")
    return other.replace("at most ", ""), not other.startswith("at most "), halved, of_corners


def time_by_law(text, ranks, size):
    """Microseconds, and whether they are exact."""
    law, exact, halved, of_corners = law_of(text, ranks)
    if halved and ranks > 2:
        size = -(-size // 2)
    corners = 1 << (ranks.bit_length() - 1)
    names = {"n": ranks, "a": LATENCY, "S": size, "c": -(-size // (corners if of_corners else ranks)), "m": corners,
             "p": -(-size // 16), "W": 8, "B": sum(offset.bit_count() for offset in range(1, ranks)),
             "BANDWIDTH": BANDWIDTH, "MAX": max, "CEIL": lambda a, b: -(-a // b),
             "FLOOR_LOG": lambda n: n.bit_length() - 1, "CEIL_LOG": lambda n: (n - 1).bit_length()}
    return eval(as_python(law), {"__builtins__": {}}, names), exact


def simulated(program, checks, folder, op, ranks):
    """Times by algorithm: [(size, {name: us})]."""
    (Path(folder) / "cluster.yaml").write_text(CLUSTER.format(ranks=ranks))
    sizes = [] if op == "barrier" else ["-b", str(320 * ranks), "-e", str(320_000 * ranks), "-f", "1000"]
    done = program.run(["collective", "--cluster", "cluster.yaml", "--op", op, "--algo", "each", "--format", "csv", *sizes], folder)
    if not checks.check(done.code == 0 and not done.broken, f"{op} of {ranks} ranks", done.stderr):
        return []
    rows = list(csv.reader(line for line in done.stdout.splitlines() if line and not line.startswith("#")))
    names = rows[0][1:rows[0].index("fastest")]
    return [(int(row[0]), dict(zip(names, map(float, row[1:])))) for row in rows[1:]]


def main():
    program, checks = Program(sys.argv[1]), Checks()
    with scratch_folder() as folder:
        listed = json.loads(program.run(["list", "algorithms", "--json", "-"], folder).stdout)["items"]
        laws = {item["name"]: item["time"] for item in listed if "time" in item and item["name"] != "in-network"}
        checked = set()
        for op in sorted({op for of_algorithm in laws.values() for op in of_algorithm}):
            for ranks in range(2, 34):
                for size, times in simulated(program, checks, folder, op, ranks):
                    share = size // ranks if op in WHOLE_SHARES else size
                    for name, text in ((name, law[op]) for name, law in laws.items() if op in law and name in times):
                        law, exact = time_by_law(text, ranks, share)
                        holds = times[name] <= law + ROUNDING and (not exact or times[name] >= law - ROUNDING)
                        checks.check(holds, f"{name} {op} of {ranks} ranks and {size} bytes",
                                     f"{times[name]} us; the law {text} gives {'' if exact else 'at most '}{law:.2f}")
                        checked.add((name, op))
        missing = {(name, op) for name, law in laws.items() for op in law} - checked
        checks.check(not missing, "every law was checked", str(sorted(missing)))
    sys.exit(checks.exit_code())


if __name__ == "__main__":
    main()
