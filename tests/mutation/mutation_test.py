#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mutation_test.py COMPILER [--update]: the mutants of example.cpp are those of example.txt, where the rewritten file, compiled once,
tells which are reached and noticed; samples, the choice of cases and scores are as scripts/mutate says; equivalent.txt speaks of lines
that are there.

Skipped (77) where python3-clang is not installed, but for what needs none."""
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

import equivalents
import finder
import rewriter
import suites

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
EXPECTED = HERE / "example.txt"


def load_script():
    """scripts/mutate as a module."""
    loader = importlib.machinery.SourceFileLoader("mutate", str(SOURCE / "scripts" / "mutate"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
    loader.exec_module(module)
    return module


def stale_equivalents():
    """What equivalent.txt says of lines that the tree does not have."""
    for block in equivalents.read():
        file = SOURCE / block["path"]
        lines = [line.strip() for line in file.read_text().splitlines()] if file.is_file() else []
        original = block["mutant"].split(" -> ")[0].removesuffix("...").split(" ")[0]
        if block["line"] not in lines or original not in block["line"]:
            yield f"equivalent.txt: {block['path']} has no line '{block['line']}' with '{original}'"


def wrong_choices(script):
    """What samples, cases and scores are not as they should be."""
    found = [finder.Mutant("core/a.cpp", line, line, line, line + 1, "1", f"1 + {line}", "constant", "instead", False) for line in range(90)]
    ten = script.sample(found, 10, 1)
    if len(ten) != 10 or script.sample(found[::-1], 90, 1) != found or script.sample(found, 10, 2) == ten:
        yield "a sample does not have so many mutants, or does not go by its seed"
    kept = [mutant for mutant in found if mutant in ten or mutant.line % 3]
    if script.sample(kept, 10, 1) != ten:
        yield "a sample is another one when mutants are gone that it did not have"
    reached = {"slow": {"cases": {"a": {"seconds": 9.0, "mutants": [1, 2]}}},
               "quick": {"cases": {"b": {"seconds": 2.0, "mutants": [1]}, "c": {"seconds": 1.0, "mutants": [1]},
                                   "d": {"seconds": 0.1, "mutants": [2]}}}}
    plans = [suites.chosen_cases(reached, mutant, patience, layer)
             for mutant, patience, layer in [(1, 20, "core"), (1, 2.5, "core"), (2, 20, "slow"), (3, 20, "core")]]
    if plans != [[("quick", ["c", "b"], 3.0), ("slow", ["a"], 9.0)], [("quick", ["c"], 1.0)], [("slow", ["a"], 9.0), ("quick", ["d"], 0.1)], []]:
        yield f"other cases are chosen: {plans}"
    rows = [{"room": "core", "outcome": outcome, "equivalent": why} for outcome, why in
            [("killed", ""), ("killed", ""), ("killed", ""), ("survived", ""), ("survived", "why"), ("not reached", ""), ("does not compile", "")]]
    last = list(script.table(rows, {"core": 90}))[-1]
    if last != "| all | 90 | 7 | 1 | 3 | 1 | 2 | 1 | 60 % |":
        yield f"another score: {last}"


def example_mutants():
    """{number: mutant} of example.cpp, main() aside."""
    found = finder.Finder(HERE, lambda path: path == "example.cpp")
    found.parse(HERE / "example.cpp", ["-std=c++20"])
    last = (HERE / "example.cpp").read_text().split("int main")[0].count("\n")
    return dict(enumerate((mutant for mutant in found.mutants() if mutant.line <= last), 1))


def outcomes(compiler, mutants):
    """{number: what becomes of the mutant}, by one program."""
    with tempfile.TemporaryDirectory() as folder:
        source, program, listed = [pathlib.Path(folder) / name for name in ("rewritten.cpp", "rewritten", "reached")]
        text = (HERE / "example.cpp").read_bytes()
        source.write_bytes(rewriter.rewritten(text, mutants))
        if source.read_bytes().count(b"\n") != text.count(b"\n"):
            sys.exit("the rewritten file has other lines")
        subprocess.run([compiler, "-std=c++20", "-w", "-O0", str(source), "-o", str(program)], check=True)
        unchanged = subprocess.run([program], env={"ORRERY_MUTANT": "-1", "ORRERY_MUTANTS_REACHED": str(listed)}, check=False).returncode
        reached = {int(number) for number in listed.read_text().split()}
        if unchanged != 0 or not reached <= mutants.keys():
            sys.exit(f"without a mutant it ends with {unchanged}, and reaches {sorted(reached)}")
        codes = {number: subprocess.run([program], env={"ORRERY_MUTANT": str(number)}, check=False).returncode for number in mutants}
    return {number: "not reached" if number not in reached else f"check {code}" if code else "survived" for number, code in codes.items()}


def main(compiler, *more):
    problems = [*stale_equivalents(), *wrong_choices(load_script())]
    if finder.load_clang() is None:
        print(*problems, "SKIPPED: python3-clang is not installed, so nothing is known of the mutants of example.cpp", sep="\n")
        return 1 if problems else 77
    mutants = example_mutants()
    found = outcomes(compiler, mutants)
    shown = "".join(f"{mutant.line:2} {mutant.operator:10} {found[number]:11} {mutant.short()}".rstrip() + "\n"
                    for number, mutant in mutants.items())
    if "--update" in more:
        EXPECTED.write_text(shown)
    elif shown != EXPECTED.read_text():
        problems.append(f"the mutants of example.cpp are\n{shown}and example.txt says\n{EXPECTED.read_text()}")
    print(*problems or [f"{len(mutants)} mutants are found, and what becomes of them"], sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
